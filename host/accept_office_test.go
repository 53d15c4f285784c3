package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// An acceptOffice is an HTTP server that knows its users by a header, and notes every
// request that is not as it should be.
type acceptOffice struct {
	*httptest.Server
	header string
	// tools are further tools that a user has, by name and description. May be nil.
	tools func(user string) map[string]string

	mu       sync.Mutex
	sessions map[string]string // who began a session
	users    map[string]int    // requests of each user
	calls    map[string]int    // calls of each user
	faults   []string
}

// acceptNewOffice starts an office. A user is who stands in the header after "Bearer ".
func acceptNewOffice(t *testing.T, header string, tools func(user string) map[string]string) *acceptOffice {
	t.Helper()
	o := &acceptOffice{header: header, tools: tools, sessions: map[string]string{}, users: map[string]int{}, calls: map[string]int{}}
	mcpHandler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return o.serverFor(o.userOf(r)) }, nil)
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.note(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mcpHandler.ServeHTTP(&acceptSessionNoter{w, o, o.userOf(r)}, r)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *acceptOffice) userOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get(o.header), "Bearer ")
}

func (o *acceptOffice) note(r *http.Request) bool {
	user, id := o.userOf(r), r.Header.Get("Mcp-Session-Id")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users[user]++
	if user == "" || len(r.Header.Values(o.header)) != 1 {
		o.faults = append(o.faults, fmt.Sprintf("a request with headers %v", r.Header.Values(o.header)))
		return false
	}
	if owner := o.sessions[id]; id != "" && owner != user {
		o.faults = append(o.faults, fmt.Sprintf("a request of %q in the session of %q", user, owner))
		return false
	}
	return true
}

// An acceptSessionNoter notes whose session an answer begins.
type acceptSessionNoter struct {
	http.ResponseWriter
	office *acceptOffice
	user   string
}

func (w *acceptSessionNoter) WriteHeader(code int) {
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		w.office.mu.Lock()
		w.office.sessions[id] = w.user
		w.office.mu.Unlock()
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *acceptSessionNoter) Write(p []byte) (int, error) {
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		w.office.mu.Lock()
		w.office.sessions[id] = w.user
		w.office.mu.Unlock()
	}
	return w.ResponseWriter.Write(p)
}

func (w *acceptSessionNoter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func (o *acceptOffice) serverFor(user string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "office"}, sameSchemas)
	type input struct {
		Text string `json:"text,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "whoami"}, func(_ context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		now := strings.TrimPrefix(r.Extra.Header.Get(o.header), "Bearer ")
		o.mu.Lock()
		defer o.mu.Unlock()
		o.calls[now]++
		if now != user {
			o.faults = append(o.faults, fmt.Sprintf("a call of %q at the server of %q", now, user))
		}
		return acceptText(now + in.Text), nil, nil
	})
	if o.tools != nil {
		for name, description := range o.tools(user) {
			s.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					o.mu.Lock()
					defer o.mu.Unlock()
					o.calls[name+" of "+user]++
					return acceptText(name + " of " + user), nil
				})
		}
	}
	return s
}

func (o *acceptOffice) check(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, fault := range o.faults {
		if t.Errorf("at the server: %s", fault); i == 5 {
			break
		}
	}
}

// called returns how often a user's tools, or one of his tools, ran.
func (o *acceptOffice) called(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[what]
}

// acceptBearer makes the header of a user.
func acceptBearer(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
	return http.Header{"Authorization": {"Bearer " + key.User}}, nil
}

// whoami calls the tool on behalf of a user.
func acceptWhoami(ctx context.Context, h *host.Host, user, text string) (string, error) {
	args, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return "", err
	}
	return acceptAnswer(h.Registry().Call(session.WithUser(ctx, user), "office__whoami", args))
}

// acceptFor makes all servers of a config such that users have connections of their own.
func acceptFor(identity string, c *config.Config) *config.Config {
	for _, s := range c.Servers {
		s.Identity = identity
	}
	return c
}

// acceptOfficeHost is a host with the office as a server of many users, whose catalogue
// the first user has discovered.
func acceptOfficeHost(t *testing.T, o *acceptOffice, first string, change func(*host.Options)) *host.Host {
	t.Helper()
	opts := &host.Options{StateDir: host.NoState, UserHeaders: acceptBearer}
	if change != nil {
		change(opts)
	}
	h := acceptNew(t, opts, acceptFor(config.IdentityHeader, acceptParse(t, "office", fmt.Sprintf(`{"url": %q}`, o.URL))))
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: first, Server: "office"}))
	return h
}
