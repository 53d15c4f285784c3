package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// testSecret is the secret of all tests, which no error and no answer may show.
const testSecret = "s3cr3t/v=lue+x"

// showsSecret reports whether a text has the secret in any form, or its end.
func showsSecret(text string) bool {
	for _, form := range []string{testSecret, escape(testSecret), "v=lue", "czNjcjN0L3Y9bHVlK3"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// noSecretIn fails the test if an error, or what it wraps, shows the secret.
func noSecretIn(t testing.TB, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		assert.Equal(t, showsSecret(e.Error()), false, "showsSecret(e.Error())")
	}
}

// A seen request is what a server got.
type seenRequest struct {
	method, uri string
	header      http.Header
	body        string
}

// A webAPI is a server that keeps what it got.
type webAPI struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seenRequest
}

func (w *webAPI) requests() []seenRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]seenRequest(nil), w.seen...)
}

// newWebAPI starts a server with TLS. The handler gets the body.
func newWebAPI(t testing.TB, h func(http.ResponseWriter, *http.Request, string)) *webAPI {
	w := &webAPI{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.seen = append(w.seen, seenRequest{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
		w.mu.Unlock()
		if h != nil {
			h(rw, r, string(body))
		}
	}))
	w.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that turned out not to be needed
	w.StartTLS()
	t.Cleanup(w.Close)
	return w
}

// network returns one that knows the certificates of servers.
func network(servers ...*webAPI) Network {
	roots := x509.NewCertPool()
	for _, s := range servers {
		roots.AddCert(s.Certificate())
	}
	return Network{TLS: &tls.Config{RootCAs: roots}}
}

// testSecrets gives testSecret for KEY and its like, and nothing else but a few.
func testSecrets(_ context.Context, name string) (string, error) {
	switch name {
	case "KEY", "TOKEN", "PASSWORD", "SECRET":
		return testSecret, nil
	case "USER":
		return "alice12", nil
	case "TENANT":
		return "acme & co", nil
	case "EMPTY":
		return "", nil
	case "BROKEN":
		return "", errors.New("the vault is sealed")
	case "LINES":
		return testSecret + "\n", nil
	case "DOTS":
		return "..", nil
	}
	return "", ErrNotSet
}

// newTestService makes a Service with the secrets of all tests.
func newTestService(t testing.TB, api *API, n Network) *Service {
	t.Helper()
	if api.Name == "" {
		api.Name = "shop"
	}
	if api.Endpoints == nil {
		api.Endpoints = []Endpoint{{Name: "put", Method: "POST", Path: "/x"}}
	}
	s := assert.Value(New(api, &Options{Secrets: testSecrets, Network: n}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// get is a request that asks for /x.
func get() *request { return &request{endpoint: "get", method: "GET", path: "/x", safe: true} }

// trySend sends a request and looks for the secret in what comes of it.
func trySend(t testing.TB, s *Service, r *request) (*answer, error) {
	t.Helper()
	a, err := s.send(t.Context(), r)
	noSecretIn(t, err)
	if a != nil {
		assert.Equal(t, showsSecret(string(a.body)), false, "showsSecret(string(a.body))")
		for name, values := range a.header {
			assert.Equal(t, showsSecret(strings.Join(values, " ")), false, "%s: showsSecret(strings.Join(values, \" \"))", name)
		}
	}
	return a, err
}

// mustSend is trySend of what has to be answered with 200.
func mustSend(t testing.TB, s *Service, r *request) *answer {
	t.Helper()
	a := assert.Value(trySend(t, s, r))(t)
	assert.Equal(t, a.status, http.StatusOK, "%s", a.body)
	return a
}
