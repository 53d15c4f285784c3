package session

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// No verdict depends on the speed of the machine: what ends after some seconds takes longer
// here than any test. A test for which such a time has passed says so; see passRest.
func init() {
	workTime, requestTime, saveTime = 4*patience, 2*patience, patience
	renewBase, clockPause = patience, patience
	saveBase = time.Millisecond
}

// PauseRenewals sets the pause after a renewal that has failed, for the processes of a storm.
func PauseRenewals(d time.Duration) { renewBase = d }

const callbackURL = "http://127.0.0.1:1/callback"

var alice, bob = Key{User: "alice", Server: "s"}, Key{User: "bob", Server: "s"}

// An env is an authorization server, a resource behind it, and a store.
type env struct {
	t      *testing.T
	ctx    context.Context
	as     *authtest.Server
	rs     *authtest.Resource
	store  *seal.Store
	config *auth.Config
	shown  *shownText
}

func newEnv(t *testing.T, as *authtest.Options, rs *authtest.ResourceOptions) *env {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	env := &env{t: t, ctx: ctx, as: authtest.NewServer(t, as), store: Memory(), shown: &shownText{}}
	t.Cleanup(func() { env.shown.check(t, env.as.Secrets()) })
	env.serve(rs)
	return env
}

// loggedIn returns an env and its manager, where alice has logged in.
func loggedIn(t *testing.T, as *authtest.Options, rs *authtest.ResourceOptions) (*env, *Manager) {
	t.Helper()
	env, m := withManager(t, as, rs)
	env.mustLogIn(m, alice)
	return env, m
}

// withManager returns an env and a manager of it.
func withManager(t *testing.T, as *authtest.Options, rs *authtest.ResourceOptions) (*env, *Manager) {
	t.Helper()
	env := newEnv(t, as, rs)
	return env, env.manager(nil)
}

// serve starts the resource, at another address than before.
func (env *env) serve(o *authtest.ResourceOptions) {
	env.rs = env.as.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), o)
	env.config = &auth.Config{Server: "s", URL: env.rs.URL}
}

// manager returns a manager of the store.
func (env *env) manager(o *Options) *Manager {
	env.t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Config == nil {
		opts.Config = func(Key) (*auth.Config, error) { return env.config, nil }
	}
	if opts.Prompt == nil && opts.RedirectURL == "" {
		opts.RedirectURL = callbackURL
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewJSONHandler(env.shown, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	m := assert.Value(NewManager(env.store, &opts))(env.t)
	m.grace = patience
	env.t.Cleanup(func() {
		_ = m.Close()
		env.shown.add(m)
	})
	return m
}

// restart closes a manager and returns another one of the same store.
func (env *env) restart(m *Manager) *Manager {
	env.t.Helper()
	assert.OK(env.t, m.Close())
	return env.manager(nil)
}

// call does what a transport does with one request.
func (env *env) call(ctx context.Context, m *Manager, key Key) error {
	return env.callTool(ctx, m, key, "")
}

func (env *env) callTool(ctx context.Context, m *Manager, key Key, tool string) (err error) {
	defer func() { env.shown.add(err) }()
	h := m.Handler(key)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
	for range 4 {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, env.rs.URL, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		if err := h.Authenticate(ctx, req.Header, req.Method, env.rs.URL, []byte(body)); err != nil {
			return err
		}
		resp, err := env.as.Client().Do(req)
		if err != nil {
			return err
		}
		h.Observe(resp)
		switch resp.StatusCode {
		case http.StatusOK:
			return resp.Body.Close()
		case http.StatusUnauthorized, http.StatusForbidden:
			err = h.Authorize(ctx, req, resp)
		default:
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if err != nil {
			return err
		}
	}
	return errRefused
}

// errRefused is the error of a call that was refused with every token.
var errRefused = errors.New("refused with every token")

func (env *env) mustCall(m *Manager, key Key) {
	env.t.Helper()
	assert.OK(env.t, env.call(env.ctx, m, key), "call of %v", key)
}

// mustNeedLogin makes a call that only a login could bring through.
func (env *env) mustNeedLogin(m *Manager, key Key) *auth.LoginRequiredError {
	env.t.Helper()
	return assert.As[*auth.LoginRequiredError](env.t, env.call(env.ctx, m, key), "call of %v", key)
}

// mustFailToRefresh makes a call that has to be made again later.
func (env *env) mustFailToRefresh(m *Manager) *RefreshError {
	env.t.Helper()
	return assert.As[*RefreshError](env.t, env.call(env.ctx, m, alice))
}

// together runs n calls at once and returns their errors.
func (env *env) together(m *Manager, key Key, n int) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = env.call(env.ctx, m, key) })
	}
	wg.Wait()
	return errs
}

func (env *env) mustCallTogether(m *Manager, key Key, n int) {
	env.t.Helper()
	assert.OK(env.t, errors.Join(env.together(m, key, n)...))
}

// refusal sends one request and returns it and its answer.
func (env *env) refusal(m *Manager, key Key) (*http.Response, *http.Request) {
	env.t.Helper()
	req := assert.Value(http.NewRequestWithContext(env.ctx, http.MethodPost, env.rs.URL, http.NoBody))(env.t)
	assert.OK(env.t, m.Handler(key).Authenticate(env.ctx, req.Header, req.Method, env.rs.URL, nil))
	resp := assert.Value(env.as.Client().Do(req))(env.t)
	_ = resp.Body.Close()
	return resp, req
}

// wantNothingSent makes a request that no token may go with.
func (env *env) wantNothingSent(m *Manager, key Key) {
	env.t.Helper()
	_, req := env.refusal(m, key)
	assert.Equal(env.t, req.Header.Get("Authorization"), "", "Authorization")
}

// begin begins a login and approves it: the callback is where the browser is sent.
func (env *env) begin(m *Manager, key Key) (l *Login, callback string) {
	env.t.Helper()
	l = assert.Value(m.Login(env.ctx, key))(env.t)
	return l, assert.Value(env.as.Approve(env.ctx, l.URL))(env.t)
}

// complete completes a login that was begun.
func (env *env) complete(m *Manager, callback string) error {
	return errOf(m.Complete(env.ctx, callback, nil))
}

// approve does what a user does who is sent to the address of a login.
func (env *env) approve(m *Manager, url string) {
	env.t.Helper()
	assert.OK(env.t, env.complete(m, assert.Value(env.as.Approve(env.ctx, url))(env.t)))
}

func (env *env) mustLogIn(m *Manager, key Key) {
	env.t.Helper()
	l, callback := env.begin(m, key)
	assert.Equal(env.t, assert.Value(m.Complete(env.ctx, callback, nil))(env.t), key, "completed")
	assert.OK(env.t, l.Wait(env.ctx))
}

// await waits until a channel is closed.
func (env *env) await(done <-chan struct{}, what string) {
	env.t.Helper()
	select {
	case <-done:
	case <-env.ctx.Done():
		env.t.Fatalf("got nothing, want %s", what)
	}
}

// A heldCall is a call whose token request has reached the authorization server, which
// answers after release.
type heldCall struct {
	release func()
	giveUp  func()
	err     <-chan error
}

// holdRefresh has alice's token expire and makes a call that renews it.
func (env *env) holdRefresh(m *Manager, fault authtest.Fault) *heldCall {
	env.t.Helper()
	env.as.ExpireAll()
	ctx, giveUp := context.WithCancel(env.ctx)
	env.t.Cleanup(giveUp)
	release, err := make(chan struct{}), make(chan error, 1)
	fault.Wait = release
	env.as.Fail(authtest.TokenEndpoint, 1, fault)
	before := env.as.Count(authtest.TokenEndpoint)
	go func() { err <- env.call(ctx, m, alice) }()
	assert.OK(env.t, env.as.Await(env.ctx, authtest.TokenEndpoint, before+1))
	return &heldCall{sync.OnceFunc(func() { close(release) }), giveUp, err}
}

// grantOf returns the grant that is stored; nil if there is none.
func (env *env) grantOf(m *Manager, key Key) *auth.TokenSet {
	env.t.Helper()
	r, _, err := m.load(env.ctx, key, recordName(key))
	assert.OK(env.t, err)
	return r.Grant
}

// tokenOf returns the access token that is stored.
func (env *env) tokenOf(m *Manager, key Key) auth.Secret {
	env.t.Helper()
	return env.grantOf(m, key).Token.Access
}

// alter changes the record of a session, as another process does.
func (env *env) alter(key Key, f func(r *record)) {
	env.t.Helper()
	alter(env.t, env.store, key, f)
}

func alter(t *testing.T, s *seal.Store, key Key, f func(r *record)) {
	t.Helper()
	assert.Value(newEntry(&Manager{store: s}, key).change(t.Context(), func(r *record) *record {
		return r.with(func(r *record) {
			if r.Grant != nil {
				r.Grant = new(*r.Grant)
			}
			if r.Login != nil {
				r.Login = new(*r.Login)
			}
			f(r)
		})
	}))(t)
}

// setTimes sets when the token of a session was obtained and expires, from now.
func (env *env) setTimes(key Key, obtained, expires time.Duration) {
	env.t.Helper()
	env.alter(key, func(r *record) {
		r.Grant.Token.Obtained, r.Grant.Token.Expires = time.Now().Add(obtained), time.Now().Add(expires)
	})
}

// passRest has it be time for the next attempt to renew.
func passRest(m *Manager, key Key) {
	e := m.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retryAt = time.Time{}
}

// passLook has it be time to look at the sessions that other processes may have changed.
func passLook(m *Manager) {
	for _, e := range m.cached() {
		e.mu.Lock()
		e.due = time.Now()
		e.mu.Unlock()
	}
	m.keeper.plan(time.Now())
}

// passReading has it be time to read a session again before it is used.
func passReading(m *Manager, key Key) {
	e := m.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read = time.Now().Add(-2 * lookCeiling)
}

func (env *env) wantStatus(m *Manager, key Key, phase Phase) Status {
	env.t.Helper()
	status := assert.Value(m.Status(env.ctx, key))(env.t)
	assert.Equal(env.t, status.Phase, phase, "phase of %v", key)
	return status
}

func (env *env) wantRegistrations(n int, when string) {
	env.t.Helper()
	assert.Equal(env.t, env.as.Count(authtest.RegistrationEndpoint), n, "registrations %s", when)
}

// wantRefreshes checks that refresh tokens were used so often, and each once.
func (env *env) wantRefreshes(n int, when string) {
	env.t.Helper()
	assert.Equal(env.t, env.as.Granted("refresh_token"), n, "refreshes %s", when)
	assert.Equal(env.t, env.as.Revoked(), 0, "logins revoked, as a refresh token was used twice, %s", when)
}

// wantAllEnded checks that all tokens were revoked that no session keeps.
func (env *env) wantAllEnded() {
	env.t.Helper()
	for i, f := range env.as.Families() {
		assert.True(env.t, f.Ended, "login %d ended", i+1)
	}
}

// A testStore is a driver that fails when it is told to, and counts what is read of it.
type testStore struct {
	storage.Store
	skip, fail atomic.Int32 // saves that succeed, and those that fail then; negative: all
	loads      atomic.Int32
	load       func(ctx context.Context) error // before each load; may be nil
}

var errDisk = errors.New("no space left")

func (d *testStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if d.skip.Load() > 0 {
		d.skip.Add(-1)
		return d.Store.Save(ctx, name, data, old)
	}
	if n := d.fail.Load(); n != 0 {
		if n > 0 {
			d.fail.Add(-1)
		}
		return "", errDisk
	}
	return d.Store.Save(ctx, name, data, old)
}

func (d *testStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	d.loads.Add(1)
	if d.load != nil {
		if err := d.load(ctx); err != nil {
			return storage.Record{}, err
		}
	}
	return d.Store.Load(ctx, name, known)
}

func (d *testStore) Lock(ctx context.Context, name string) (func(), error) {
	return d.Store.(storage.Locker).Lock(ctx, name)
}

// A leasing driver hides that it can lock.
type leasing struct {
	storage.Store
	storage.Leaser
}

// sealed returns a store with a driver.
func sealed(t *testing.T, d storage.Store) *seal.Store {
	t.Helper()
	return assert.Value(seal.NewStore(t.Context(), d, seal.StaticKey(auth.Secret(bytes.Repeat([]byte{1}, seal.KeySize)))))(t)
}

// keepIn makes a testStore the driver of the store.
func (env *env) keepIn() *testStore {
	env.t.Helper()
	d := &testStore{Store: storage.NewMemory()}
	env.store = sealed(env.t, d)
	return d
}

// loggedInAt is loggedIn with a testStore.
func loggedInAt(t *testing.T) (*env, *testStore, *Manager) {
	t.Helper()
	env := newEnv(t, nil, nil)
	d := env.keepIn()
	m := env.manager(nil)
	env.mustLogIn(m, alice)
	return env, d, m
}

// Places in a sealed record, and the record of the keys; see package seal.
const (
	atVersion  = 4
	atKey      = 5
	atSealed   = 46
	keysRecord = "store.keys"
)

// spoil alters a record in the driver.
func (env *env) spoil(d *testStore, name string, at int) {
	env.t.Helper()
	r := assert.Value(d.Load(env.ctx, name, ""))(env.t)
	data := bytes.Clone(r.Data)
	data[at] ^= 1
	assert.Value(d.Save(env.ctx, name, data, r.Revision))(env.t)
}

// newOffline returns a manager for a bubble of synctest: its server does not exist.
func newOffline(t *testing.T, s *seal.Store) (*Manager, *auth.Config) {
	t.Helper()
	config := &auth.Config{Server: "s", URL: "https://mcp.example.com/mcp"}
	return assert.Value(NewManager(s, &Options{Config: func(Key) (*auth.Config, error) { return config, nil }}))(t), config
}

// A testPrompt answers the logins that are shown to its user: it approves them if answer is nil.
type testPrompt struct {
	server *authtest.Server
	answer func(ctx context.Context, url string) (string, error)
	shown  atomic.Int32
}

func (u *testPrompt) Start(context.Context, []string) (auth.PromptSession, error) { return u, nil }
func (u *testPrompt) RedirectURI() string                                         { return callbackURL }
func (u *testPrompt) Close() error                                                { return nil }

func (u *testPrompt) Show(ctx context.Context, p *auth.Pending) (string, error) {
	u.shown.Add(1)
	if u.answer != nil {
		return u.answer(ctx, p.URL)
	}
	return u.server.Approve(ctx, p.URL)
}

// newHeldPrompt returns a testPrompt that approves when release is called.
func (env *env) newHeldPrompt() (u *testPrompt, release func()) {
	asked := make(chan struct{})
	return &testPrompt{answer: func(ctx context.Context, url string) (string, error) {
		<-asked
		return env.as.Approve(ctx, url)
	}}, func() { close(asked) }
}

// A shownText is everything that a test has made us show: logs at debug level,
// and errors and values in every form. Each env checks at its end that no secret is in it.
type shownText struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *shownText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shownText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// add shows a value.
func (s *shownText) add(value any) {
	if value == nil {
		return
	}
	_, _ = fmt.Fprintf(s, "%v %+v %s %q %#v\n", value, value, value, value, value)
	if encoded, err := json.Marshal(value); err == nil {
		_, _ = s.Write(encoded)
	}
}

// loginState finds the states of logins in their URLs, which users have to see.
var loginState = regexp.MustCompile(`state=([\w-]+)`)

func (s *shownText) check(t testing.TB, secrets []string) {
	t.Helper()
	text := s.String()
	var visible []string
	for _, m := range loginState.FindAllStringSubmatch(text, -1) {
		visible = append(visible, m[1])
	}
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			if i := strings.Index(text, form); i >= 0 && len(form) > 8 && !slices.Contains(visible, secret) {
				t.Errorf("a secret was shown, as %q: %s", form, text[max(0, i-200):min(len(text), i+len(form)+100)])
			}
		}
	}
}

// forms are those in which a secret can be shown.
func forms(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		fmt.Sprintf("%x", secret), fmt.Sprint([]byte(secret)),
	}
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
