package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A login is an OAuthHandler whose token is made by Authorize.
type login struct {
	mu        sync.Mutex
	token     string
	asked     int
	authorize func(n int) (string, error) // returns the new token
	block     chan struct{}               // if set, Token waits for it
	waiting   atomic.Int32                // calls of Token
}

func (l *login) TokenSource(context.Context) (oauth2.TokenSource, error) { return l, nil }

func (l *login) Token() (*oauth2.Token, error) {
	l.waiting.Add(1)
	if l.block != nil {
		<-l.block
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" {
		return nil, nil
	}
	return &oauth2.Token{AccessToken: l.token}, nil
}

func (l *login) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	token, err := l.authorize(l.asked)
	l.token = token
	return err
}

// guarded refuses requests that do not carry the token.
func guarded(next http.Handler, token func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token() {
			w.Header().Set("WWW-Authenticate", `Bearer realm="s3cret"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Eight requests that are refused at once make one login.
func TestHTTPAuthorizesOnce(t *testing.T) {
	const n = 8
	var accepted atomic.Value
	accepted.Store("token 1")
	l := &login{authorize: func(n int) (string, error) { return fmt.Sprintf("token %d", n), nil }}
	var arrived sync.WaitGroup
	s := &script{call: func(p *post) { p.json(200, answer) }}
	guard := guarded(s, func() string { return accepted.Load().(string) })
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted.Load() == "token 2" && r.Header.Get("Authorization") == "Bearer token 1" && r.Method == http.MethodPost {
			arrived.Done()
			arrived.Wait()
		}
		guard.ServeHTTP(w, r)
	}))
	c := shake(t, &transport.HTTP{URL: url, OAuth: l})
	if l.asked != 1 {
		t.Fatalf("the handshake asked %d times", l.asked)
	}
	arrived.Add(n)
	accepted.Store("token 2") // the first one is revoked
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if got, err := ask(t, c); err != nil || got != `{"ok":true}` {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	calls.Wait()
	assert.Equal(t, l.asked, 2, "asked times for 2 tokens")
}

// A failed login ends the handshake's connection: asking again on it would only
// bother the user twice.
func TestHTTPFailedLogin(t *testing.T) {
	declined := errors.New("the user declined")
	l := &login{authorize: func(int) (string, error) { return "", declined }}
	c := dial(t, &transport.HTTP{URL: listen(t, guarded(&script{}, func() string { return "t" })), OAuth: l})
	if err := handshake(t, c); !errors.Is(err, declined) {
		t.Errorf("got %v", err)
	}
	_, err := ask(t, c)
	if !errors.Is(err, declined) || l.asked != 1 {
		t.Errorf("asked %d times; a call: %v", l.asked, err)
	}
	wantOutcome(t, err, mcp.NotSent)
}

// A login that succeeds with a token that is refused is not repeated.
func TestHTTPUselessLogin(t *testing.T) {
	l := &login{authorize: func(int) (string, error) { return "useless", nil }}
	c := dial(t, &transport.HTTP{URL: listen(t, guarded(&script{}, func() string { return "t" })), OAuth: l})
	var status *transport.StatusError
	if err := handshake(t, c); !errors.As(err, &status) || status.Code != 401 || l.asked != 1 {
		t.Errorf("got %v after %d logins", err, l.asked)
	}
}

func TestHTTPWithoutLogin(t *testing.T) {
	for _, code := range []int{401, 403} {
		c := dial(t, &transport.HTTP{URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="s3cret"`)
			w.WriteHeader(code)
		}))})
		_, err := ask(t, c)
		var status *transport.StatusError
		if !errors.As(err, &status) || status.Code != code || !strings.Contains(status.Challenge, "realm") {
			t.Errorf("%d: got %v", code, err)
		}
		wantOutcome(t, err, mcp.NotSent)
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: the error shows the challenge: %v", code, err)
		}
	}
}

// Calls keep their deadlines although the token source blocks, Close returns,
// and one goroutine at most waits for the source.
func TestHTTPTokenSourceBlocks(t *testing.T) {
	l := &login{block: make(chan struct{})}
	c := dial(t, &transport.HTTP{URL: listen(t, &script{}), OAuth: l})
	for range 3 {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := c.Call(ctx, "tools/list", nil, nil)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wantOutcome(t, err, mcp.NotSent)
	}
	closeWithin(t, c)
	assert.Equal(t, l.waiting.Load(), 1, "goroutines wait for the token source")
	close(l.block)
}

func TestHTTPTokenErrors(t *testing.T) {
	broken := errors.New("no key store")
	var asked atomic.Int32
	for name, c := range map[string]struct {
		err     error
		authors int32
	}{
		"broken":        {broken, 0},
		"invalid grant": {&oauth2.RetrieveError{ErrorCode: "invalid_grant"}, 1},
	} {
		asked.Store(0)
		h := failing{c.err, &asked}
		l := dial(t, &transport.HTTP{URL: listen(t, guarded(&script{}, func() string { return "t" })), OAuth: h})
		_, err := ask(t, l)
		wantOutcome(t, err, mcp.NotSent)
		assert.Equal(t, asked.Load(), c.authors, "%s: logins: %v", name, err)
	}
}

type failing struct {
	err   error
	asked *atomic.Int32
}

func (f failing) TokenSource(context.Context) (oauth2.TokenSource, error) { return f, nil }
func (f failing) Token() (*oauth2.Token, error)                           { return nil, f.err }
func (f failing) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	f.asked.Add(1)
	_ = resp.Body.Close()
	return errors.New("declined")
}
