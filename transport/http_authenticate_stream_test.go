package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// The listening stream is opened with a login, the first time and when it has
// broken.
func TestAuthenticatorListening(t *testing.T) {
	var opened atomic.Int32
	again := make(chan struct{})
	s := &script{get: func(w http.ResponseWriter, r *http.Request) {
		switch opened.Add(1) {
		case 1, 3:
			w.WriteHeader(http.StatusUnauthorized)
		case 2:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n") // and it breaks
		default:
			openStream(w)
			close(again)
			<-r.Context().Done()
		}
	}}
	p := &porter{t: t, authorize: func(_ context.Context, req *http.Request, _ *http.Response) error {
		if req.Method != http.MethodGet || req.Body != nil || req.Header.Get("Mcp-Session-Id") != sessionID {
			t.Errorf("%s of session %q", req.Method, req.Header.Get("Mcp-Session-Id"))
		}
		return nil
	}}
	url := listen(t, s)
	c := shake(t, &transport.HTTP{URL: url, OAuth: p})
	select {
	case <-again:
	case <-bounded(t).Done():
		t.Fatal("the stream was not opened again")
	}
	closeWithin(t, c)
	assert.Equal(t, p.asked.Load(), 2, "logins")
	wantPasses(t, url, s.requests(""))
	assert.Equal(t, s.requests(http.MethodGet)[3].Header.Get("Last-Event-ID"), "1", "the stream goes on after")
}

// inMemory answers requests without a network, for tests with a clock of their
// own.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// streams are what listens to a server, of both kinds.
func streams() map[string]func(*testing.T, *transport.HTTP) mcp.Caller {
	return map[string]func(*testing.T, *transport.HTTP) mcp.Caller{
		"GET": shake,
		"subscriptions": func(t *testing.T, recipe *transport.HTTP) mcp.Caller {
			l := dial(t, recipe)
			control(t, l, "subscriptions/listen", modernMeta)
			return l
		},
	}
}

// A stream that the user may not have is not asked for again. One that needs a
// login is, when somebody has logged in, or every now and then if nobody would
// tell. The connection lives on in all cases.
func TestAuthenticatorListeningRefused(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		rights     bool
		told       bool
		most, then int // requests for the stream in an hour, and until soon after the login
	}{
		"login":                {http.StatusUnauthorized, false, false, 500, 0},
		"login that is told":   {http.StatusUnauthorized, false, true, 1, 2},
		"rights":               {http.StatusForbidden, true, false, 1, 1},
		"rights that are told": {http.StatusForbidden, true, true, 1, 1},
	} {
		for kind, open := range streams() {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var asked atomic.Int32
					refuse := func(w http.ResponseWriter, _ *http.Request) {
						asked.Add(1)
						w.Header().Set("WWW-Authenticate", `Bearer error="some"`)
						w.WriteHeader(c.status)
					}
					s := &script{get: refuse, call: func(p *post) {
						if p.Method == "subscriptions/listen" {
							refuse(p, nil)
							return
						}
						p.json(200, answer)
					}}
					needed := needsLogin{rights: c.rights}
					if c.told {
						needed.done = make(chan struct{})
					}
					p := &porter{t: t, authorize: func(context.Context, *http.Request, *http.Response) error { return needed }}
					l := open(t, &transport.HTTP{URL: "http://server/", OAuth: p, RoundTripper: inMemory{s}})
					time.Sleep(time.Hour)
					if n := int(asked.Load()); n == 0 || n > c.most || c.most > 1 && n < c.most/10 {
						t.Errorf("the stream was asked for %d times in an hour", n)
					}
					if c.told {
						close(needed.done)
						time.Sleep(time.Minute)
						if n := int(asked.Load()); n < c.then || c.then == 1 && n > 1 || n > 30 {
							t.Errorf("the stream was asked for %d times until a minute after the login", n)
						}
					}
					if kind == "subscriptions" && c.rights {
						m, err := l.Read(t.Context())
						if resp, ok := m.(*jsonrpc.Response); err != nil || !ok || !errors.As(resp.Error, new(needsLogin)) {
							t.Errorf("the listener got %v, %v", m, err)
						}
					}
					if _, err := ask(t, l); err != nil {
						t.Error(err)
					}
					closeWithin(t, l)
				})
			})
		}
	}
}
