package transport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// What panics in the functions and handlers of a recipe fails the connection, and not
// the program.
func TestCallbackPanics(t *testing.T) {
	site := httptest.NewServer(&script{})
	t.Cleanup(site.Close)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	for want, tr := range map[string]mcp.Transport{
		"Serve panicked: out of order":        &transport.Pipe{Serve: func(context.Context, mcp.Transport) error { panic("out of order") }},
		"RoundTripper panicked: out of order": &transport.HTTP{URL: site.URL, RoundTripper: panicking("")},
		"OAuth.TokenSource panicked":          &transport.HTTP{URL: site.URL, OAuth: panicking("TokenSource")},
		"OAuth.Authorize panicked":            &transport.HTTP{URL: refusing.URL, OAuth: panicking("Authorize")},
		"OAuth.Authenticate panicked":         &transport.HTTP{URL: site.URL, OAuth: panickingAuthenticator{panicking("Authenticate")}},
	} {
		c := mcp.NewClient("s", tr, nil)
		if err := c.Ready(bounded(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: got %v of Close, want none", want, err)
		}
	}
}

// A process does not end because what listens to it panics.
func TestCommandListenersPanic(t *testing.T) {
	tr := transporttest.Child("stderr:x", "say:no message", "serve")
	line := func(string) { panic("out of order") }
	tr.Stderr, tr.Noise, tr.Ended = line, line, func() { panic("out of order") }
	c := mcp.NewClient("s", tr, nil)
	if err := c.Ready(bounded(t)); err != nil {
		t.Errorf("got %v, want none", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("got %v of Close, want none", err)
	}
}

// panicking panics in the method of that name, and in RoundTrip.
type panicking string

func (p panicking) at(method string) {
	if string(p) == method {
		panic("out of order")
	}
}

func (p panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("out of order") }

func (p panicking) TokenSource(context.Context) (oauth2.TokenSource, error) {
	p.at("TokenSource")
	return nil, nil
}

func (p panicking) Authorize(context.Context, *http.Request, *http.Response) error {
	p.at("Authorize")
	return nil
}

type panickingAuthenticator struct{ panicking }

func (p panickingAuthenticator) Authenticate(context.Context, http.Header, string, string, []byte) error {
	p.at("Authenticate")
	return nil
}

func (panickingAuthenticator) Observe(*http.Response) { panic("out of order") }
