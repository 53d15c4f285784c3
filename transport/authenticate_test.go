package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An authenticator is a transport.Authenticator that counts. Each request gets a pass of
// its own, which says what it is for.
type authenticator struct {
	t         *testing.T
	authorize func(ctx context.Context, req *http.Request, resp *http.Response) error // may be nil
	pass      func(ctx context.Context, header http.Header) error                     // may be nil

	passes   atomic.Int32
	asked    atomic.Int32 // calls of Authorize
	mu       sync.Mutex
	observed []int // the statuses of responses
}

func (a *authenticator) TokenSource(context.Context) (oauth2.TokenSource, error) {
	a.t.Error("got a call of TokenSource of an Authenticator, want none")
	return nil, nil
}

func (a *authenticator) Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error {
	if a.pass != nil {
		if err := a.pass(ctx, header); err != nil {
			return err
		}
	}
	header.Add("Pass", fmt.Sprintf("%d %s %s %t", a.passes.Add(1), method, target, len(body) > 0))
	return nil
}

func (a *authenticator) Observe(resp *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.observed = append(a.observed, resp.StatusCode)
}

func (a *authenticator) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	a.asked.Add(1)
	_ = resp.Body.Close()
	if a.authorize == nil {
		return nil
	}
	return a.authorize(ctx, req, resp)
}

func (a *authenticator) statuses() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprint(a.observed)
}

// wantPasses checks that each request carries one pass, no two the same, and
// that it was made for it.
func wantPasses(t *testing.T, base string, requests []*http.Request) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range requests {
		passes := r.Header.Values("Pass")
		made := fmt.Sprintf(" %s %s%s %t", r.Method, base, r.RequestURI, r.Method == http.MethodPost)
		if len(passes) != 1 || seen[passes[0]] || !strings.HasSuffix(passes[0], made) {
			t.Errorf("%s %s: got the passes %q, want one of its own", r.Method, r.RequestURI, passes)
			continue
		}
		seen[passes[0]] = true
	}
}

// loginNeeded is an error that only a human can help with.
type loginNeeded struct {
	rights bool
	done   chan struct{}
}

func (loginNeeded) Error() string    { return "login needed" }
func (loginNeeded) LoginURL() string { return "https://as.example/login" }
func (n loginNeeded) StepUp() bool   { return n.rights }

func (n loginNeeded) LoggedIn() <-chan struct{} { return n.done }

// Every request gets fields of its own, of both revisions and of all kinds, and
// every response is seen.
func TestAuthenticatorEveryRequest(t *testing.T) {
	a, s := &authenticator{t: t}, &script{get: keepOpen}
	url := listen(t, s)
	c := shake(t, &transport.HTTP{URL: url + "/mcp?tenant=7#part", OAuth: a})
	wantResult(t, c, okResult)
	assert.Value(c.Call(bounded(t), "tools/call", []byte(modernMeta), nil))(t)
	closeWithin(t, c)
	s.wantRequests(t, 4, 1, 1)
	wantPasses(t, url, s.requests(""))
	assert.Equal(t, len(a.observed), 6, "responses that were observed")
}

func TestAuthenticatorSSE(t *testing.T) {
	a, s := &authenticator{t: t}, newRecorder(newOldServer(accept), true)
	url := listen(t, s)
	c := dial(t, &transport.HTTP{Variant: transport.SSE, URL: url, OAuth: a})
	wantResult(t, c, okResult)
	closeWithin(t, c)
	wantPasses(t, url, s.seen)
	assert.Equal(t, a.statuses(), "[401 200 401 202]", "responses")
	assert.Equal(t, a.asked.Load(), 2, "logins")
}

// A server that wants a login is asked again before it counts as an old one, and
// its event stream and messages are asked for with fields of their own.
func TestAuthenticatorAuto(t *testing.T) {
	a, s := &authenticator{t: t}, newRecorder(shakingOld(http.StatusMethodNotAllowed, ""), true)
	url := listen(t, s)
	c := dial(t, &transport.HTTP{Variant: transport.Auto, URL: url, OAuth: a})
	assert.OK(t, handshake(t, c))
	wantResult(t, c, okResult)
	closeWithin(t, c)
	wantPasses(t, url, s.seen)
	assert.Equal(t, a.asked.Load(), 3, "logins, for POST /, GET / and POST /messages")
}

// Where a request is redirected to within the origin it goes with fields for
// there; to another origin it does not go at all.
func TestAuthenticatorRedirects(t *testing.T) {
	s := &script{}
	var seen []*http.Request
	mux := http.NewServeMux()
	mux.Handle("/new", s)
	hop := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r)
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}
	mux.HandleFunc("/first", hop("/second?q=1"))
	mux.HandleFunc("/second", hop("/new"))
	url := listen(t, mux)
	a := &authenticator{t: t}
	wantResult(t, dial(t, &transport.HTTP{URL: url + "/first", OAuth: a, Header: http.Header{"Pass-Free": {"a", "b", "c"}}}), okResult)
	wantPasses(t, url, append(seen, s.requests("")...))
	assert.Equal(t, a.statuses(), "[307 307 200]", "responses")

	var leaked atomic.Int32
	canary := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	mux.HandleFunc("/away", hop(canary+"/mcp"))
	a = &authenticator{t: t}
	wantFailure(t, dial(t, &transport.HTTP{URL: url + "/away", OAuth: a}), mcp.NotSent)
	assert.Equal(t, leaked.Load(), 0, "requests to the other origin")
	assert.Equal(t, a.passes.Load(), 1, "passes")
}

// A request may be refused for one reason after the other. It is sent again each
// time that Authorize has returned nil, three times at most.
func TestAuthenticatorRepeats(t *testing.T) {
	refusals := []http.Handler{
		refusing(401, ""), refusing(401, `DPoP error="use_dpop_nonce"`), refusing(403, `Bearer error="insufficient_scope"`), refusing(401, ""),
	}
	const params = `{"name":"deploy"}`
	for n := range len(refusals) + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := &script{}
			s.call = func(p *post) {
				assert.Equal(t, string(p.Params), params, "params")
				if sent := len(s.requests("")); sent <= n {
					refusals[sent-1].ServeHTTP(p, p.r)
					return
				}
				p.json(200, answer)
			}
			url := listen(t, s)
			a := &authenticator{t: t, authorize: func(_ context.Context, req *http.Request, resp *http.Response) error {
				body := string(assert.Value(io.ReadAll(req.Body))(t))
				assert.Contains(t, body, params, "body")
				assert.Equal(t, req.Method+" "+req.URL.String(), "POST "+url)
				assert.Equal(t, string(assert.Value(io.ReadAll(assert.Value(req.GetBody())(t)))(t)), body, "body the second time")
				assert.Equal(t, req.Header.Get("Key"), "k", "field of the request")
				assert.True(t, req.Header.Get("Pass") != "", "has a pass")
				if resp.StatusCode == 403 {
					assert.Contains(t, resp.Header.Get("WWW-Authenticate"), "scope", "challenge")
				}
				clear(req.Header) // it is a copy
				req.URL.Path = "/elsewhere"
				return nil
			}}
			c := dial(t, &transport.HTTP{URL: url, OAuth: a, Header: http.Header{"Key": {"k"}}})
			_, err := c.Call(bounded(t), "tools/call", []byte(params), nil)
			assert.Equal(t, int(a.asked.Load()), min(n, 3), "logins")
			assert.Equal(t, len(s.requests("")), min(n+1, 4), "requests")
			if n == len(refusals) {
				assert.Equal(t, assert.As[*transport.StatusError](t, err).Code, 401, "status")
				return
			}
			assert.OK(t, err)
			wantPasses(t, url, s.requests(""))
		})
	}
}

// Requests that are refused at once do not wait for each other's logins.
func TestAuthenticatorTogether(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	var in atomic.Bool
	a := &authenticator{t: t, authorize: func(context.Context, *http.Request, *http.Response) error {
		all.Done()
		all.Wait()
		in.Store(true)
		return nil
	}}
	s := &script{call: func(p *post) {
		if !in.Load() {
			p.WriteHeader(401)
			return
		}
		p.json(200, answer)
	}}
	// The fields of the recipe have room for another value, which must not be used.
	header := http.Header{"Pass-Free": append(make([]string, 0, 8), "a")}
	a.pass = func(_ context.Context, header http.Header) error { header.Add("Pass-Free", "b"); return nil }
	c := dial(t, &transport.HTTP{URL: listen(t, s), OAuth: a, Header: header})
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { wantResult(t, c, okResult) })
	}
	calls.Wait()
	for _, r := range s.requests("") {
		assert.Equal(t, strings.Join(r.Header.Values("Pass-Free"), " "), "a b", "fields")
	}
}

func TestAuthenticatorErrors(t *testing.T) {
	s := &script{call: func(p *post) { p.WriteHeader(401) }}
	url := listen(t, s)
	broken := errors.New("no key")
	a := &authenticator{t: t, pass: func(context.Context, http.Header) error { return broken }}
	assert.Is(t, wantFailure(t, dial(t, &transport.HTTP{URL: url, OAuth: a}), mcp.NotSent), broken)
	assert.Equal(t, len(s.requests("")), 0, "requests without a pass")

	a = &authenticator{t: t, authorize: func(context.Context, *http.Request, *http.Response) error { return loginNeeded{} }}
	assert.As[loginNeeded](t, wantFailure(t, dial(t, &transport.HTTP{URL: url, OAuth: a}), mcp.NotSent))
	assert.Equal(t, len(s.requests("")), 1, "requests")
}

// A call ends with its context although its authenticator waits, and Close ends
// those that belong to no call.
func TestAuthenticatorWaits(t *testing.T) {
	for _, where := range []string{"Authenticate", "Authorize"} {
		t.Run(where, func(t *testing.T) {
			waiting := make(chan struct{}, 2)
			wait := func(ctx context.Context) error {
				waiting <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}
			a := &authenticator{t: t, authorize: func(ctx context.Context, _ *http.Request, _ *http.Response) error { return wait(ctx) }}
			if where == "Authenticate" {
				a.pass = func(ctx context.Context, _ http.Header) error { return wait(ctx) }
			}
			c := dial(t, &transport.HTTP{URL: listen(t, refusing(401, "")), OAuth: a})
			ctx, cancel := context.WithCancel(t.Context())
			failed := start(ctx, c, "tools/list")
			receive(t, waiting, "a call that waits")
			cancel()
			err := <-failed
			assert.Is(t, err, context.Canceled)
			wantOutcome(t, err, mcp.NotSent)
			control(t, c, "initialize", `{}`)
			receive(t, waiting, "a request that waits")
			closeWithin(t, c)
		})
	}
}

// The end of a session asks for no login.
func TestAuthenticatorDelete(t *testing.T) {
	s := &script{remove: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }}
	a := &authenticator{t: t}
	url := listen(t, s)
	closeWithin(t, shake(t, &transport.HTTP{URL: url, OAuth: a}))
	s.wantRequests(t, 2, 1, 1)
	assert.Equal(t, a.asked.Load(), 0, "logins")
	wantPasses(t, url, s.requests(""))
}

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
			(&post{ResponseWriter: w}).stream("id: 1\nretry: 1\ndata:\n\n") // and it breaks
		default:
			close(again)
			keepOpen(w, r)
		}
	}}
	a := &authenticator{t: t, authorize: func(_ context.Context, req *http.Request, _ *http.Response) error {
		assert.Equal(t, req.Method+" of "+req.Header.Get("Mcp-Session-Id"), "GET of "+sessionID)
		assert.Equal(t, req.Body, nil, "body")
		return nil
	}}
	url := listen(t, s)
	c := shake(t, &transport.HTTP{URL: url, OAuth: a})
	receive(t, again, "a stream that is opened again")
	closeWithin(t, c)
	assert.Equal(t, a.asked.Load(), 2, "logins")
	wantPasses(t, url, s.requests(""))
	assert.Equal(t, s.requests(http.MethodGet)[3].Header.Get("Last-Event-ID"), "1", "the stream goes on after")
}

// A stream that the user may not have is not asked for again. One that needs a
// login is, after the login if the error tells of it, or else every now and then.
// The connection lives on in all cases.
func TestAuthenticatorListeningRefused(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		rights      bool
		told        bool
		least, most int // requests for the stream in an hour
		then, later int // and until a minute after the login
	}{
		"login":                {http.StatusUnauthorized, false, false, 10, 500, 0, 0},
		"login that is told":   {http.StatusUnauthorized, false, true, 1, 1, 2, 30},
		"rights":               {http.StatusForbidden, true, false, 1, 1, 1, 1},
		"rights that are told": {http.StatusForbidden, true, true, 1, 1, 1, 1},
	} {
		for _, kind := range []string{"GET", "subscriptions"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var asked atomic.Int32
					refuse := func(w http.ResponseWriter, r *http.Request) {
						asked.Add(1)
						refusing(c.status, `Bearer error="some"`).ServeHTTP(w, r)
					}
					s := &script{get: refuse, call: func(p *post) {
						if p.Method == "subscriptions/listen" {
							refuse(p, p.r)
							return
						}
						p.json(200, answer)
					}}
					needed := loginNeeded{rights: c.rights}
					if c.told {
						needed.done = make(chan struct{})
					}
					a := &authenticator{t: t, authorize: func(context.Context, *http.Request, *http.Response) error { return needed }}
					recipe := &transport.HTTP{URL: "http://server/", OAuth: a, RoundTripper: inMemory(t, s)}
					var l mcp.Caller
					if kind == "GET" {
						l = shake(t, recipe)
					} else {
						l = dial(t, recipe)
						control(t, l, "subscriptions/listen", modernMeta)
					}
					within := func(when string, least, most int) {
						n := int(asked.Load())
						assert.True(t, least <= n && n <= most, "%s: %d requests for the stream, from %d to %d", when, n, least, most)
					}
					time.Sleep(time.Hour)
					within("in an hour", c.least, c.most)
					if c.told {
						close(needed.done)
						time.Sleep(time.Minute)
						within("until a minute after the login", c.then, c.later)
					}
					if kind == "subscriptions" && c.rights {
						resp, ok := assert.Value(l.Read(t.Context()))(t).(*jsonrpc.Response)
						assert.True(t, ok, "the listener got a response")
						assert.As[loginNeeded](t, resp.Error)
					}
					wantResult(t, l, okResult)
					closeWithin(t, l)
				})
			})
		}
	}
}
