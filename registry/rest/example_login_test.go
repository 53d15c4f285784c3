package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// An API that is logged into with a token, which is fetched first. No secret is in
// the description: it names them.
func Example_token() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			id, secret, _ := r.BasicAuth()
			fmt.Println("a token for", id, secret, r.FormValue("grant_type"))
			fmt.Fprint(w, `{"access_token": "t1", "expires_in": 3600}`)
			return
		}
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer server.Close()

	api := &rest.API{
		Name:       "shop",
		BaseURL:    server.URL,
		HealthPath: "/status",
		Auth: rest.Auth{Type: rest.FetchToken, Token: &rest.TokenRequest{
			URL:      server.URL + "/oauth/token",
			Fields:   map[string]string{"grant_type": "client_credentials"},
			User:     "agent",
			Password: "${SHOP_SECRET}",
			Extract:  "access_token",
		}},
	}
	fmt.Println("it needs", api.Secrets())
	s, err := rest.New(api, &rest.Options{
		Secrets: func(_ context.Context, name string) (string, error) {
			if name == "SHOP_SECRET" {
				return "swordfish", nil // from a vault, say
			}
			return "", rest.ErrNotSet
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for range 2 {
		if err := s.Health(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// it needs [SHOP_SECRET]
	// a token for agent swordfish client_credentials
	// GET /status Bearer t1
	// GET /status Bearer t1
}

func ExampleService_Health() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()

	for _, key := range []string{"right", "wrong", "${NO_SUCH_KEY}"} {
		s, _ := rest.New(&rest.API{
			Name:    "shop",
			BaseURL: server.URL,
			Auth:    rest.Auth{Type: rest.APIKey, Value: key},
		}, nil)
		fmt.Println(s.Health(context.Background()))
		_ = s.Close()
	}
	// Output:
	// <nil>
	// rest: API "shop" is not healthy: HTTP status 401: the login is not accepted; check auth and its secrets
	// rest: API "shop": auth.value: the secret NO_SUCH_KEY is not set: set the environment variable of that name, or have Options.Secrets give it
}

// The tools of an API that is in trouble are not listed until it is well again.
func ExampleService_Watch() {
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	s, _ := rest.New(&rest.API{Name: "shop", BaseURL: server.URL, HealthPath: "/health", Endpoints: []rest.Endpoint{{Name: "list", Path: "/list"}}}, nil)
	defer s.Close()

	r := registry.New(nil)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error)
	go func() { done <- s.Watch(ctx, r, 10*time.Millisecond) }()
	for snapshot := range r.Watch(ctx) {
		switch tools := len(snapshot.Tools()); {
		case tools > 0:
			fmt.Println(tools, "tool")
			down.Store(true)
		case down.Load():
			fmt.Println("none while it is down")
			stop()
		}
	}
	fmt.Println(<-done)
	// Output:
	// 1 tool
	// none while it is down
	// context canceled
}

// A program that runs APIs of other authors lets them reach public addresses only, and
// gives them no secrets but theirs.
func ExampleNetwork() {
	api := &rest.API{Name: "guest", BaseURL: "https://10.0.0.7/admin"}
	_, err := rest.New(api, &rest.Options{
		Network: rest.Network{PublicOnly: true},
		Secrets: func(context.Context, string) (string, error) { return "", rest.ErrNotSet },
	})
	fmt.Println(err)
	// Output:
	// rest: API "guest": baseUrl leads to a private network; if that is meant, allow it by Network.Allow
}
