// Tests of authenticate.go with an OAuthHandler that is no Authenticator, and of Bearer.

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
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
	fails     error                       // of Token
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
	if l.token == "" || l.fails != nil {
		return nil, l.fails
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

var errDeclined = errors.New("the user declined")

// declines returns a login whose user declines.
func declines() *login {
	return &login{authorize: func(int) (string, error) { return "", errDeclined }}
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

// guardedBy refuses requests that do not carry one token.
func guardedBy(token string) http.Handler {
	return guarded(&script{}, func() string { return token })
}

// refusing refuses every request with a status and a challenge.
func refusing(status int, challenge string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(status)
	})
}

// Eight requests that are refused at once make one login.
func TestHTTPAuthorizesOnce(t *testing.T) {
	const n = 8
	var accepted atomic.Value
	accepted.Store("token 1")
	l := &login{authorize: func(n int) (string, error) { return fmt.Sprintf("token %d", n), nil }}
	var arrived sync.WaitGroup
	guard := guarded(&script{}, func() string { return accepted.Load().(string) })
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted.Load() == "token 2" && r.Header.Get("Authorization") == "Bearer token 1" && r.Method == http.MethodPost {
			arrived.Done()
			arrived.Wait()
		}
		guard.ServeHTTP(w, r)
	}))
	c := shake(t, &transport.HTTP{URL: url, OAuth: l})
	assert.Equal(t, l.asked, 1, "logins of the handshake")
	arrived.Add(n)
	accepted.Store("token 2") // the first one is revoked
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { wantResult(t, c, okResult) })
	}
	calls.Wait()
	assert.Equal(t, l.asked, 2, "logins for 2 tokens")
}

// A failed login ends the handshake's connection: asking again on it would only
// bother the user twice.
func TestHTTPFailedLogin(t *testing.T) {
	l := declines()
	c := dial(t, &transport.HTTP{URL: listen(t, guardedBy("t")), OAuth: l})
	assert.Is(t, handshake(t, c), errDeclined, "handshake")
	assert.Is(t, wantFailure(t, c, mcp.NotSent), errDeclined, "call")
	assert.Equal(t, l.asked, 1, "logins")
}

// A user who declines to log in is asked once in an attempt to connect.
func TestHTTPAsksOnceToLogIn(t *testing.T) {
	user := declines()
	assert.Is(t, newClient(t, &transport.HTTP{URL: listen(t, guardedBy("t")), OAuth: user}, mcp.ClientOptions{}).Ready(bounded(t)), errDeclined)
	assert.Equal(t, user.asked, 1, "logins")

	user = declines()
	tr := bareHTTP(t, listen(t, guardedBy("t")))
	tr.OAuthHandler = user
	_, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(bounded(t), tr, nil)
	if err == nil || user.asked == 1 {
		mended(t, "transport/httpcontrol.go")
	}
}

// A login that succeeds with a token that is refused is not repeated.
func TestHTTPUselessLogin(t *testing.T) {
	l := &login{authorize: func(int) (string, error) { return "useless", nil }}
	c := dial(t, &transport.HTTP{URL: listen(t, guardedBy("t")), OAuth: l})
	assert.Equal(t, assert.As[*transport.StatusError](t, handshake(t, c)).Code, 401, "status")
	assert.Equal(t, l.asked, 1, "logins")
}

func TestHTTPWithoutLogin(t *testing.T) {
	for _, code := range []int{401, 403} {
		err := wantFailure(t, dial(t, &transport.HTTP{URL: listen(t, refusing(code, `Bearer realm="s3cret"`))}), mcp.NotSent)
		status := assert.As[*transport.StatusError](t, err)
		assert.Equal(t, status.Code, code, "status")
		assert.Contains(t, status.Challenge, "realm", "challenge")
		assert.Lacks(t, err.Error(), "s3cret", "text of the error")
	}
}

// The older transport logs in as the newer one does.
func TestSSELogsIn(t *testing.T) {
	user := &login{authorize: func(int) (string, error) { return "t", nil }}
	url := listen(t, guarded(newOldServer(accept), func() string { return "t" }))
	wantResult(t, dial(t, &transport.HTTP{Variant: transport.SSE, URL: url, OAuth: user}), okResult)
	assert.Equal(t, user.asked, 1, "logins")
}

// Calls keep their deadlines although the token source blocks, Close returns,
// and one goroutine at most waits for the source.
func TestHTTPTokenSourceBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &login{block: make(chan struct{})}
		c := dial(t, &transport.HTTP{URL: "http://server", OAuth: l})
		for range 3 {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			_, err := c.Call(ctx, "tools/list", nil, nil)
			stop()
			assert.Is(t, err, context.DeadlineExceeded)
			wantOutcome(t, err, mcp.NotSent)
		}
		closeWithin(t, c)
		assert.Equal(t, l.waiting.Load(), 1, "goroutines that wait for the token source")
		close(l.block)
	})
}

func TestHTTPTokenErrors(t *testing.T) {
	for err, logins := range map[error]int{errors.New("no key store"): 0, &oauth2.RetrieveError{ErrorCode: "invalid_grant"}: 1} {
		l := declines()
		l.fails = err
		wantFailure(t, dial(t, &transport.HTTP{URL: listen(t, guardedBy("t")), OAuth: l}), mcp.NotSent)
		assert.Equal(t, l.asked, logins, "%v: logins", err)
	}
}

// The token of the user is in the header of every request, of both revisions and
// of all kinds, and in no URL.
func TestHTTPBearer(t *testing.T) {
	l := &login{token: "s3cret"}
	s := &script{get: keepOpen}
	c := shake(t, &transport.HTTP{URL: listen(t, s), OAuth: l})
	wantResult(t, c, okResult)
	assert.Value(c.Call(bounded(t), "tools/call", []byte(modernMeta), nil))(t)
	closeWithin(t, c)
	for _, r := range s.requests("") {
		assert.Equal(t, strings.Join(r.Header.Values("Authorization"), ", "), "Bearer s3cret", "%s: Authorization", r.Method)
		assert.Lacks(t, r.URL.String(), "s3cret", r.Method)
	}
	s.wantRequests(t, 4, 1, 1)

	// Where a redirect leads to another origin, or the older transport's server
	// names an address there, it does not go.
	var leaked atomic.Int32
	other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	wantFailure(t, dial(t, &transport.HTTP{OAuth: l, URL: listen(t, http.RedirectHandler(other, http.StatusTemporaryRedirect))}), mcp.NotSent)
	old := newOldServer(accept)
	old.address = other + "/messages"
	assert.Fails(t, assert.Err((&transport.HTTP{Variant: transport.SSE, URL: listen(t, old), OAuth: l}).Connect(bounded(t))), "an address on another origin")
	assert.Equal(t, leaked.Load(), 0, "requests to the other origin")
}

// A tokenFunc is a token source.
type tokenFunc func() (*oauth2.Token, error)

func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }

func TestBearer(t *testing.T) {
	var newest atomic.Int32
	token := func() string { return []string{"one", "two"}[newest.Load()] }
	url := listen(t, guarded(&script{}, token))
	source := tokenFunc(func() (*oauth2.Token, error) { return &oauth2.Token{AccessToken: token()}, nil })
	c := shake(t, &transport.HTTP{URL: url, OAuth: transport.Bearer(source)})
	for range 2 {
		wantResult(t, c, okResult)
		newest.Store(1) // the source has another token, which the server wants
	}
}

// A token that was renewed while a request was under way is tried before the error.
func TestBearerRenewedMeanwhile(t *testing.T) {
	var asked atomic.Int32
	source := tokenFunc(func() (*oauth2.Token, error) {
		if asked.Add(1) == 1 {
			return &oauth2.Token{AccessToken: "one"}, nil
		}
		return &oauth2.Token{AccessToken: "two"}, nil
	})
	shake(t, &transport.HTTP{URL: listen(t, guardedBy("two")), OAuth: transport.Bearer(source)})
}

// ready returns the error with which a client does not become ready.
func ready(t *testing.T, tr mcp.Transport) error {
	t.Helper()
	client := newClient(t, tr, mcp.ClientOptions{})
	defer func() { assert.OK(t, client.Close(), "Close") }()
	return client.Ready(bounded(t))
}

func TestBearerRefused(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "s3cret"})
		err := ready(t, &transport.HTTP{URL: listen(t, refusing(status, "Bearer")), OAuth: transport.Bearer(source)})
		assert.Equal(t, assert.As[*transport.StatusError](t, err).Code, status, "status")
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome")
	}
}

// An error of the source is the error of the request.
func TestBearerSourceFails(t *testing.T) {
	url := listen(t, http.NotFoundHandler())
	fails := tokenFunc(func() (*oauth2.Token, error) { return nil, &oauth2.RetrieveError{ErrorCode: "invalid_grant"} })
	assert.As[*oauth2.RetrieveError](t, ready(t, &transport.HTTP{URL: url, OAuth: transport.Bearer(fails)}))
	assert.Fails(t, ready(t, &transport.HTTP{URL: url, OAuth: transport.Bearer(nil)}), "no source")
}
