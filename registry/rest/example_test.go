package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// petStore is an API of another program.
func petStore() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pets/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "7" {
			http.Error(w, "no such pet", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":7,"name":"Rex","fields":%q}`, r.URL.Query().Get("fields"))
	})
	return httptest.NewServer(mux)
}

func petAPI(baseURL string) *rest.API {
	return &rest.API{
		Name:    "pets",
		BaseURL: baseURL,
		Endpoints: []rest.Endpoint{{
			Name:        "get_pet",
			Description: "Get one pet.",
			Path:        "/pets/{id}",
			Params: []rest.Param{
				{Name: "id", In: rest.InPath, Schema: json.RawMessage(`{"type":"integer"}`), Description: "number of the pet"},
				{Name: "fields", In: rest.InQuery, Default: json.RawMessage(`"all"`)},
			},
		}},
	}
}

// An endpoint becomes a tool.
func ExampleNew() {
	server := petStore()
	defer server.Close()
	s, err := rest.New(petAPI(server.URL), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	tool := s.Tools()[0]
	fmt.Println(string(tool.Definition().InputSchema))
	for _, args := range []string{`{"id":7}`, `{"id":8}`, `{"id":".."}`} {
		res, err := tool.Call(context.Background(), json.RawMessage(args))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.IsError, res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// {"type":"object","properties":{"id":{"type":"integer","description":"number of the pet"},"fields":{"type":"string","default":"all"}},"required":["id"],"additionalProperties":false}
	// false {"id":7,"name":"Rex","fields":"all"}
	// true The API answered with 404 Not Found.
	// no such pet
	//
	// arguments of tool "get_pet": "id" must be a value that stays in its place in the path, not one that leads out of it; parts such as "." and ".." cannot be sent
}

// All that is wrong is told at once.
func ExampleAPIError() {
	_, err := rest.New(&rest.API{
		Name:    "pets",
		BaseURL: "https://api.example",
		Endpoints: []rest.Endpoint{
			{Name: "get_pet", Path: "/pets/{id}"},
			{Name: "add_pet", Method: "ADD", Path: "/pets"},
		},
	}, nil)
	var bad *rest.APIError
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			fmt.Println(p)
		}
	}
	// Output:
	// endpoint "get_pet": path has {id}, but there is no parameter of that name with "in": "path"
	// endpoint "add_pet": method is "ADD"; it is one of GET, POST, PUT, PATCH and DELETE
}

// The tools of an API stand beside those of servers.
func ExampleService_Publish() {
	server := petStore()
	defer server.Close()
	s, _ := rest.New(petAPI(server.URL), nil)
	defer s.Close()
	r := registry.New(nil)
	_, _ = s.Publish(r)
	res, _ := r.Call(context.Background(), "pets__get_pet", json.RawMessage(`{"id":7,"fields":"name"}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output: {"id":7,"name":"Rex","fields":"name"}
}

// A tool that is switched off is not offered, nor called by who still has it.
func ExampleService_SetEnabled() {
	s, _ := rest.New(petAPI("https://api.example"), nil)
	defer s.Close()
	tool := s.Tools()[0]
	_ = s.SetEnabled("get_pet", false)
	fmt.Println(len(s.Tools()))
	_, err := tool.Call(context.Background(), json.RawMessage(`{"id":7}`))
	fmt.Println(err, "-", mcp.OutcomeOf(err))
	// Output:
	// 0
	// rest: API "pets": endpoint "get_pet": calling tool "get_pet" is not allowed: it is switched off - not sent
}

// The tools of a Service can be changed before they are listed.
func ExampleService_Tools() {
	s, _ := rest.New(petAPI("https://api.example"), nil)
	defer s.Close()
	tools := s.Tools()
	r := registry.New(nil)
	_, _ = r.Replace(s.Server(), tools)
	for _, t := range r.Snapshot().Tools() {
		d := t.Definition()
		fmt.Println(d.Name, d.Hints().ReadOnly)
	}
	// Output: pets__get_pet true
}

// What a registry knows of the service does not depend on its secrets.
func ExampleService_Server() {
	api := petAPI("https://api.example")
	api.Auth = rest.Auth{Type: rest.Bearer, Value: "${PETS_TOKEN}"}
	s, _ := rest.New(api, nil)
	defer s.Close()
	server := s.Server()
	fmt.Println(server.Name, server.Trusted, len(server.Fingerprint))
	// Output: pets false 64
}

func ExampleParse() {
	apis, err := rest.Parse([]byte(`{
		"apis": [
			{
				"name": "shop",
				"baseUrl": "https://api.shop.example/v1",
				"auth": {"type": "bearer", "value": "${SHOP_TOKEN}"},
				"endpoints": [
					{"name": "get_order", "path": "/orders/{id}", "params": [{"name": "id", "in": "path"}]},
				],
			},
		],
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(apis[0].Name, apis[0].Endpoints[0].Name, apis[0].Secrets())

	_, err = rest.Parse([]byte(`{
		"apis": [
			{"name": "shop", "baseUrl": "https://api.shop.example/v1", "endpoints": []},
			{"name": "stock", "base_url": "https://stock.example", "endpoints": []},
		],
	}`))
	fmt.Println(err) // and none of them is read
	// Output:
	// shop get_order [SHOP_TOKEN]
	// line 4, apis[1]: rest: json: unknown field "base_url"
}

func ExampleExport() {
	data, left, _ := rest.Export(&rest.API{
		Name:    "shop",
		BaseURL: "https://api.shop.example/v1",
		Auth:    rest.Auth{Type: rest.Bearer, Value: "swordfish"},
	})
	fmt.Print(string(data))
	fmt.Println(left)
	// Output:
	// {
	//   "apis": [
	//     {
	//       "name": "shop",
	//       "baseUrl": "https://api.shop.example/v1",
	//       "auth": {
	//         "type": "bearer",
	//         "value": "${SHOP_AUTH_VALUE}"
	//       },
	//       "endpoints": []
	//     }
	//   ]
	// }
	// [SHOP_AUTH_VALUE]
}

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
	// rest: API "shop": it is not healthy: HTTP status 401: the login is not accepted; check auth and its secrets
	// rest: API "shop": auth.value: the secret NO_SUCH_KEY is not set: set the environment variable of that name, or have Options.Secrets give it
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
