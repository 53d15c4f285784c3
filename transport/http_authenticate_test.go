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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A porter is a transport.Authenticator that counts. Each request gets a pass of
// its own, which says what it is for.
type porter struct {
	t         *testing.T
	authorize func(ctx context.Context, req *http.Request, resp *http.Response) error
	pass      func(ctx context.Context, header http.Header) error // may be nil

	passes   atomic.Int32
	asked    atomic.Int32 // calls of Authorize
	mu       sync.Mutex
	observed []int // the statuses of responses
}

func (p *porter) TokenSource(context.Context) (oauth2.TokenSource, error) {
	p.t.Error("the token source of an Authenticator was asked for")
	return nil, nil
}

func (p *porter) Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error {
	if p.pass != nil {
		if err := p.pass(ctx, header); err != nil {
			return err
		}
	}
	header.Add("Pass", fmt.Sprintf("%d %s %s %t", p.passes.Add(1), method, target, len(body) > 0))
	return nil
}

func (p *porter) Observe(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observed = append(p.observed, resp.StatusCode)
}

func (p *porter) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	p.asked.Add(1)
	_ = resp.Body.Close()
	return p.authorize(ctx, req, resp)
}

func (p *porter) statuses() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.observed)
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
			t.Errorf("%s %s has the passes %q", r.Method, r.RequestURI, passes)
			continue
		}
		seen[passes[0]] = true
	}
}

// needsLogin is an error that only a human can help with.
type needsLogin struct {
	rights bool
	done   chan struct{}
}

func (needsLogin) Error() string    { return "login needed" }
func (needsLogin) LoginURL() string { return "https://as.example/login" }
func (n needsLogin) StepUp() bool   { return n.rights }

func (n needsLogin) LoggedIn() <-chan struct{} { return n.done }

// control sends a request of the control plane.
func control(t *testing.T, l mcp.Caller, method, params string) {
	t.Helper()
	id := assert.Value(jsonrpc.MakeID("control"))(t)
	assert.OK(t, l.Write(bounded(t), &jsonrpc.Request{ID: id, Method: method, Params: []byte(params)}))
}

// Every request gets fields of its own, of both revisions and of all kinds, and
// every response is seen.
func TestAuthenticatorEveryRequest(t *testing.T) {
	p := &porter{t: t}
	s := &script{
		call: func(p *post) { p.json(200, answer) },
		get:  func(w http.ResponseWriter, r *http.Request) { openStream(w); <-r.Context().Done() },
	}
	url := listen(t, s)
	c := shake(t, &transport.HTTP{URL: url + "/mcp?tenant=7#part", OAuth: p})
	if _, err := ask(t, c); err != nil {
		t.Error(err)
	}
	if _, err := c.Call(bounded(t), "tools/call", []byte(modernMeta), nil); err != nil {
		t.Error(err)
	}
	closeWithin(t, c)
	kinds := map[string]int{}
	for _, r := range s.requests("") {
		kinds[r.Method]++
	}
	if kinds["POST"] != 4 || kinds["GET"] != 1 || kinds["DELETE"] != 1 {
		t.Errorf("requests: %v", kinds)
	}
	wantPasses(t, url, s.requests(""))
	assert.Equal(t, len(strings.Fields(p.statuses())), 6, "of 6 responses were seen")
}

func TestAuthenticatorSSE(t *testing.T) {
	p := &porter{t: t, authorize: func(context.Context, *http.Request, *http.Response) error { return nil }}
	old := newOldServer(accept)
	var mu sync.Mutex
	var seen []*http.Request
	refusals := map[string]int{http.MethodGet: 1, http.MethodPost: 1}
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r)
		refusals[r.Method]--
		refuses := refusals[r.Method] >= 0
		mu.Unlock()
		if refuses {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		old.ServeHTTP(w, r)
	}))
	c := dial(t, &transport.SSE{URL: url, OAuth: p})
	if _, err := ask(t, c); err != nil {
		t.Error(err)
	}
	closeWithin(t, c)
	mu.Lock()
	defer mu.Unlock()
	wantPasses(t, url, seen)
	if len(seen) != 4 || p.asked.Load() != 2 || p.statuses() != "[401 200 401 202]" {
		t.Errorf("%d requests, %d logins, responses %s", len(seen), p.asked.Load(), p.statuses())
	}
}

// A server that wants a login is asked again before it counts as an old one, and
// its event stream and messages are asked for with fields of their own.
func TestAuthenticatorAuto(t *testing.T) {
	p := &porter{t: t, authorize: func(context.Context, *http.Request, *http.Response) error { return nil }}
	old := shakingOld(http.StatusMethodNotAllowed, "")
	var mu sync.Mutex
	var seen []*http.Request
	known := map[string]bool{}
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r)
		kind := r.Method + r.URL.Path
		let := known[kind]
		known[kind] = true
		mu.Unlock()
		if !let {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		old.ServeHTTP(w, r)
	}))
	c := dial(t, &transport.Auto{URL: url, OAuth: p})
	assert.OK(t, handshake(t, c))
	if _, err := ask(t, c); err != nil {
		t.Error(err)
	}
	closeWithin(t, c)
	mu.Lock()
	defer mu.Unlock()
	wantPasses(t, url, seen)
	if p.asked.Load() != 3 { // POST /, GET / and POST /messages
		t.Errorf("%d logins for %d requests", p.asked.Load(), len(seen))
	}
}

// Where a request is redirected to within the origin it goes with fields for
// there; to another origin it does not go at all.
func TestAuthenticatorRedirects(t *testing.T) {
	s := &script{call: func(p *post) { p.json(200, answer) }}
	var mu sync.Mutex
	var seen []*http.Request
	mux := http.NewServeMux()
	mux.Handle("/new", s)
	hop := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen = append(seen, r)
			mu.Unlock()
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}
	mux.HandleFunc("/first", hop("/second?q=1"))
	mux.HandleFunc("/second", hop("/new"))
	url := listen(t, mux)
	p := &porter{t: t}
	header := http.Header{"Pass-Free": {"a", "b", "c"}}
	if got, err := ask(t, dial(t, &transport.HTTP{URL: url + "/first", OAuth: p, Header: header})); err != nil || got != `{"ok":true}` {
		t.Errorf("got %s, %v", got, err)
	}
	wantPasses(t, url, append(seen, s.requests("")...))
	assert.Equal(t, p.statuses(), "[307 307 200]", "responses")

	var leaked atomic.Int32
	canary := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	mux.HandleFunc("/away", hop(canary+"/mcp"))
	p = &porter{t: t}
	_, err := ask(t, dial(t, &transport.HTTP{URL: url + "/away", OAuth: p}))
	wantOutcome(t, err, mcp.NotSent)
	if leaked.Load() != 0 || p.passes.Load() != 1 {
		t.Errorf("%d requests reached the other origin, %d passes were made", leaked.Load(), p.passes.Load())
	}
}

// A request may be refused for one reason after the other. It is sent again each
// time that Authorize has returned nil, three times at most.
func TestAuthenticatorRepeats(t *testing.T) {
	refusals := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(401) },
		func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
			w.Header().Set("DPoP-Nonce", "n")
			w.WriteHeader(401)
		},
		func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(403)
		},
		func(w http.ResponseWriter) { w.WriteHeader(401) },
	}
	const params = `{"name":"deploy"}`
	for n := range len(refusals) + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sent := 0
			s := &script{call: func(p *post) {
				sent++
				if string(p.Params) != params {
					t.Errorf("the server got %s", p.Params)
				}
				if sent <= n {
					refusals[sent-1](p)
					return
				}
				p.json(200, answer)
			}}
			url := listen(t, s)
			p := &porter{t: t, authorize: func(_ context.Context, req *http.Request, resp *http.Response) error {
				body, err := io.ReadAll(req.Body)
				if err != nil || !strings.Contains(string(body), params) || req.Method != http.MethodPost || req.URL.String() != url {
					t.Errorf("%s %s %s, %v", req.Method, req.URL, body, err)
				}
				again := assert.Value(req.GetBody())(t)
				if second, _ := io.ReadAll(again); string(second) != string(body) {
					t.Errorf("the body the second time: %s", second)
				}
				if req.Header.Get("Pass") == "" || req.Header.Get("Key") != "k" {
					t.Errorf("the header is not the one that was sent: %v", req.Header)
				}
				if resp.StatusCode == 403 && resp.Header.Get("WWW-Authenticate") == "" {
					t.Error("no challenge")
				}
				clear(req.Header) // it is a copy
				req.URL.Path = "/elsewhere"
				return nil
			}}
			c := dial(t, &transport.HTTP{URL: url, OAuth: p, Header: http.Header{"Key": {"k"}}})
			_, err := c.Call(bounded(t), "tools/call", []byte(params), nil)
			if n < len(refusals) {
				if err != nil || sent != n+1 || int(p.asked.Load()) != n {
					t.Errorf("%d requests, %d logins, %v", sent, p.asked.Load(), err)
				}
				wantPasses(t, url, s.requests(""))
				return
			}
			var status *transport.StatusError
			if !errors.As(err, &status) || status.Code != 401 || sent != 4 || p.asked.Load() != 3 {
				t.Errorf("%d requests, %d logins, %v", sent, p.asked.Load(), err)
			}
		})
	}
}

// Requests that are refused at once do not wait for each other's logins.
func TestAuthenticatorTogether(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	var in atomic.Bool
	p := &porter{t: t, authorize: func(context.Context, *http.Request, *http.Response) error {
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
	// The fields of the recipe have room for another value that nobody must use.
	header := http.Header{"Pass-Free": append(make([]string, 0, 8), "a")}
	p.pass = func(_ context.Context, header http.Header) error { header.Add("Pass-Free", "b"); return nil }
	c := dial(t, &transport.HTTP{URL: listen(t, s), OAuth: p, Header: header})
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if _, err := ask(t, c); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	for _, r := range s.requests("") {
		if got := r.Header.Values("Pass-Free"); len(got) != 2 {
			t.Errorf("fields %q", got)
		}
	}
}

func TestAuthenticatorErrors(t *testing.T) {
	s := &script{call: func(p *post) { p.WriteHeader(401) }}
	url := listen(t, s)
	broken := errors.New("no key")
	p := &porter{t: t, pass: func(context.Context, http.Header) error { return broken }}
	_, err := ask(t, dial(t, &transport.HTTP{URL: url, OAuth: p}))
	wantOutcome(t, err, mcp.NotSent)
	if !errors.Is(err, broken) || len(s.requests("")) != 0 {
		t.Errorf("got %v, and %d requests", err, len(s.requests("")))
	}

	p = &porter{t: t, authorize: func(context.Context, *http.Request, *http.Response) error { return needsLogin{} }}
	_, err = ask(t, dial(t, &transport.HTTP{URL: url, OAuth: p}))
	wantOutcome(t, err, mcp.NotSent)
	if !errors.As(err, new(needsLogin)) || len(s.requests("")) != 1 {
		t.Errorf("got %v, and %d requests", err, len(s.requests("")))
	}
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
			p := &porter{t: t, authorize: func(ctx context.Context, _ *http.Request, _ *http.Response) error { return wait(ctx) }}
			if where == "Authenticate" {
				p.pass = func(ctx context.Context, _ http.Header) error { return wait(ctx) }
			}
			c := dial(t, &transport.HTTP{URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(401)
			})), OAuth: p})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go func() { <-waiting; stop() }()
			_, err := c.Call(ctx, "tools/list", nil, nil)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			wantOutcome(t, err, mcp.NotSent)
			control(t, c, "initialize", `{}`)
			<-waiting
			closeWithin(t, c)
		})
	}
}

// The end of a session asks nobody to log in.
func TestAuthenticatorDelete(t *testing.T) {
	s := &script{remove: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }}
	p := &porter{t: t}
	url := listen(t, s)
	closeWithin(t, shake(t, &transport.HTTP{URL: url, OAuth: p}))
	if n := len(s.requests(http.MethodDelete)); n != 1 || p.asked.Load() != 0 {
		t.Errorf("%d requests, %d logins", n, p.asked.Load())
	}
	wantPasses(t, url, s.requests(""))
}
