package session

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// patience bounds what a test waits for.
const patience = time.Minute

const callbackURL = "http://127.0.0.1:1/callback"

// A world is an authorization server, a resource behind it, and a store.
type world struct {
	t      *testing.T
	ctx    context.Context
	as     *authtest.Server
	rs     *authtest.Resource
	store  *seal.Store
	config *auth.Config
	shown  *shownText
}

func newWorld(t *testing.T, as *authtest.Options, rs *authtest.ResourceOptions) *world {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	w := &world{t: t, ctx: ctx, as: authtest.NewServer(t, as), store: Memory(), shown: &shownText{}}
	t.Cleanup(func() { w.shown.check(t, w.as.Secrets()) })
	w.rs = w.as.Protect(w.in(), rs)
	w.config = &auth.Config{Server: "s", URL: w.rs.URL}
	return w
}

// in is what the resource answers with.
func (w *world) in() http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "in") })
}

// manager returns a manager of the world's store.
func (w *world) manager(o *Options) *Manager {
	w.t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Config == nil {
		opts.Config = func(Key) (*auth.Config, error) { return w.config, nil }
	}
	if opts.Prompt == nil && opts.RedirectURL == "" {
		opts.RedirectURL = callbackURL
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewJSONHandler(w.shown, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	m := assert.Value(NewManager(w.store, &opts))(w.t)
	w.t.Cleanup(func() {
		_ = m.Close()
		w.shown.add(m)
	})
	return m
}

// call does what a transport does with one request, and returns its status.
func (w *world) call(ctx context.Context, m *Manager, key Key) (status int, err error) {
	return w.callTool(ctx, m, key, "")
}

func (w *world) callTool(ctx context.Context, m *Manager, key Key, tool string) (status int, err error) {
	defer func() { w.shown.add(err) }()
	h := m.Handler(key)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
	for range 4 {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.rs.URL, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		if err := h.Authenticate(ctx, req.Header, req.Method, w.rs.URL, []byte(body)); err != nil {
			return 0, err
		}
		resp, err := w.as.Client().Do(req)
		if err != nil {
			return 0, err
		}
		h.Observe(resp)
		status = resp.StatusCode
		if status != http.StatusUnauthorized && status != http.StatusForbidden {
			return status, resp.Body.Close()
		}
		if err := h.Authorize(ctx, req, resp); err != nil {
			return status, err
		}
	}
	return status, nil
}

func (w *world) mustCall(m *Manager, key Key) {
	w.t.Helper()
	status, err := w.call(w.ctx, m, key)
	assert.OK(w.t, err, "call of %v: status", key)
	assert.Equal(w.t, status, http.StatusOK, "call of %v: status", key)
}

// mustLogIn does what a user does who is sent to log in.
func (w *world) mustLogIn(m *Manager, key Key) {
	w.t.Helper()
	l := assert.Value(m.Login(w.ctx, key))(w.t)
	assert.Equal(w.t, assert.Value(m.Complete(w.ctx, assert.Value(w.as.Approve(w.ctx, l.URL))(w.t), nil))(w.t), key, "completed")
	assert.OK(w.t, l.Wait(w.ctx))
}

// mustNeedLogin makes a call that only a login could bring through.
func (w *world) mustNeedLogin(m *Manager, key Key) *auth.LoginRequiredError {
	w.t.Helper()
	_, err := w.call(w.ctx, m, key)
	return assert.As[*auth.LoginRequiredError](w.t, err, "call of %v", key)
}

// together runs n calls at once and returns their errors.
func (w *world) together(m *Manager, key Key, n int) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			status, err := w.call(w.ctx, m, key)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errs
}

var alice = Key{User: "alice", Server: "s"}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
