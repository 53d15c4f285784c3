package transport_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A tokenFunc is a token source.
type tokenFunc func() (*oauth2.Token, error)

func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }

func TestBearer(t *testing.T) {
	newest := atomic.Int32{}
	token := func() string { return []string{"one", "two"}[newest.Load()] }
	url := listen(t, guarded(&script{call: func(p *post) { p.json(200, answer) }}, token))
	source := tokenFunc(func() (*oauth2.Token, error) { return &oauth2.Token{AccessToken: token()}, nil })
	c := shake(t, &transport.HTTP{URL: url, OAuth: transport.Bearer(source)})
	for range 2 {
		if got, err := ask(t, c); err != nil || got != `{"ok":true}` {
			t.Errorf("with token %q: got %s, %v", token(), got, err)
		}
		newest.Store(1) // the source has another token, which the server wants
	}
}

// A token that was renewed while a request was under way is tried before the error.
func TestBearerRenewedMeanwhile(t *testing.T) {
	var asked atomic.Int32
	url := listen(t, guarded(&script{}, func() string { return "two" }))
	source := tokenFunc(func() (*oauth2.Token, error) {
		if asked.Add(1) == 1 {
			return &oauth2.Token{AccessToken: "one"}, nil
		}
		return &oauth2.Token{AccessToken: "two"}, nil
	})
	shake(t, &transport.HTTP{URL: url, OAuth: transport.Bearer(source)})
}

func TestBearerRefused(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(status)
		}))
		source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "s3cret"})
		client := mcp.NewClient("s", &transport.HTTP{URL: url, OAuth: transport.Bearer(source)}, nil)
		defer client.Close()
		err := client.Ready(t.Context())
		var refused *transport.TokenRefusedError
		if !errors.As(err, &refused) {
			t.Errorf("status %d: got %v, want a %T", status, err, refused)
			continue
		}
		assert.Equal(t, refused.Status, status, "status of the error")
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome")
	}
}

// An error of the source is the error of the request.
func TestBearerSourceFails(t *testing.T) {
	url := listen(t, http.NotFoundHandler())
	fails := &oauth2.RetrieveError{ErrorCode: "invalid_grant"}
	for name, source := range map[string]oauth2.TokenSource{
		"no token": tokenFunc(func() (*oauth2.Token, error) { return nil, fails }),
		"nil":      nil,
	} {
		client := mcp.NewClient("s", &transport.HTTP{URL: url, OAuth: transport.Bearer(source)}, nil)
		defer client.Close()
		err := client.Ready(t.Context())
		assert.Fails(t, err, "%s: got no error", name)
		var refused *oauth2.RetrieveError
		if source != nil && !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a %T", name, err, refused)
		}
	}
}

func TestErrorClasses(t *testing.T) {
	for _, test := range []struct {
		err  error
		want failure.Class
	}{
		{&transport.StatusError{Code: 401}, failure.Denied},
		{&transport.StatusError{Code: 403}, failure.Denied},
		{&transport.StatusError{Code: 500}, failure.ServerError},
		{&transport.TokenRefusedError{Status: 401}, failure.Denied},
	} {
		assert.Equal(t, failure.Of(test.err), test.want, "%v", test.err)
	}
}
