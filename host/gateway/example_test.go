package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

func Example() {
	o := &host.Options{StateDir: host.NoState}
	gateway.Prepare(o)
	h := host.New(o) // host.Open reads a config file
	defer h.Close()
	_ = h.Registry().Add(registry.MustFunc("hello", "Say hello", func(_ context.Context, in struct{ Name string }) (string, error) {
		return "hello, " + in.Name, nil
	}))
	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	web := httptest.NewServer(g) // or an http.Server that listens on a loopback address
	defer web.Close()

	client := mcp.NewClient("belt", &transport.HTTP{URL: web.URL + "/mcp"}, nil)
	defer client.Close()
	res, err := client.CallTool(context.Background(), "hello", json.RawMessage(`{"Name":"Ada"}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text())
	// Output: hello, Ada
}

func serveHTTP(ctx context.Context) error {
	o := &host.Options{}
	gateway.Prepare(o) // so that servers can ask the users of the gateway's clients
	h, err := host.Open(ctx, "mcp.json", o)
	if err != nil {
		return err
	}
	defer h.Close()
	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
	if err != nil {
		return err
	}
	defer g.Close()
	return http.ListenAndServe("localhost:8080", g)
}

// The program of a config file's servers.
func ExampleNew() {
	if err := serveHTTP(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A profile shows a part of the belt, at a URL of its own.
func ExampleProfile() {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer h.Close()
	g, err := gateway.New(h, &gateway.Options{
		Profiles: map[string]gateway.Profile{
			"reading": {Servers: []string{"github", "notion"}, ReadOnly: true}, // at /p/reading/mcp
		},
		Authenticate: func(r *http.Request) (*access.Caller, error) { // a proxy has authenticated the user
			return &access.Caller{User: r.Header.Get("X-Forwarded-User")}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
}

func serveKeys(ctx context.Context, h *host.Host, store storage.Store) error {
	keys, err := access.LoadKeys(ctx, store, "keys")
	if err != nil {
		return err
	}
	secret, key, err := keys.Create(ctx, access.KeyOptions{
		Label: "laptop", User: "ada",
		Grant: &access.Grant{Servers: []string{"github", "notion"}, ReadOnly: true},
	})
	if err != nil {
		return err
	}
	fmt.Println(key.ID, "is", secret) // it is shown this once
	g, err := gateway.New(h, &gateway.Options{Authenticate: keys.Authenticate})
	if err != nil {
		return err
	}
	defer g.Close()
	return http.ListenAndServe(":8080", g)
}

// Callers have API keys. The keys are kept in a store.
func ExampleOptions() {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer h.Close()
	if err := serveKeys(context.Background(), h, storage.NewMemory()); err != nil {
		log.Fatal(err)
	}
}

// A tool of the program asks the user of the client that calls it.
func ExampleElicit() {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer h.Close()
	_ = h.Registry().Add(registry.MustFunc("leave", "Book days off", func(ctx context.Context, in struct{ Days int }) (string, error) {
		res, err := gateway.Elicit(ctx, &mcp.ElicitParams{
			Message:         fmt.Sprintf("Book %d days?", in.Days),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
		if err != nil || res.Action != "accept" {
			return "not booked", err
		}
		return "booked", nil
	}))
	res, err := h.Registry().Call(context.Background(), "leave", json.RawMessage(`{"Days":2}`)) // through no gateway
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text())
	// Output: gateway: Elicit: the context is not that of a call of a gateway
}

// A program that a client starts serves it on its standard input and output.
func ExampleGateway_ServeStdio() {
	ctx := context.Background()
	h, err := host.Open(ctx, "mcp.json", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	g, err := gateway.New(h, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	if err := g.ServeStdio(ctx, "/mcp", os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A client tells by the outcome whether a call that failed can be made again.
func ExampleMetaOutcome() {
	client := mcp.NewClient("belt", &transport.HTTP{URL: "http://localhost:8080/mcp"}, nil)
	defer client.Close()
	res, err := client.CallTool(context.Background(), "mail__send", json.RawMessage(`{"to":"ada@example.com"}`), nil)
	if err == nil && res.IsError && res.Meta[gateway.MetaOutcome] == "not_sent" {
		fmt.Println("the mail was not sent: try again")
	}
}

// A server that stops lets the calls under way finish.
func ExampleGateway_Shutdown() {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer h.Close()
	g, err := gateway.New(h, nil)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "localhost:8080", Handler: g}
	go func() { _ = server.ListenAndServe() }()
	// ... until a signal comes:
	ctx := context.Background()
	_ = g.Shutdown(ctx) // answers what is under way, and ends the streams
	_ = server.Shutdown(ctx)
}

// A client that shows no forms and pages tells its user where a call can be approved.
func ExampleMetaApproval() {
	client := mcp.NewClient("belt", &transport.HTTP{URL: "http://localhost:8080/mcp"}, nil)
	defer client.Close()
	res, err := client.CallTool(context.Background(), "files__delete", json.RawMessage(`{"path":"a.txt"}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	if approval, ok := res.Meta[gateway.MetaApproval].(map[string]any); ok {
		fmt.Println("approve the call at", approval["url"], "and make it again")
	}
}

// A client that shows no pages tells its user where to log in.
func ExampleMetaLogin() {
	client := mcp.NewClient("belt", &transport.HTTP{URL: "http://localhost:8080/mcp"}, nil)
	defer client.Close()
	res, err := client.CallTool(context.Background(), "notes__list", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	if login, ok := res.Meta[gateway.MetaLogin].(map[string]any); ok {
		fmt.Println("log in at", login["url"], "and make the call again")
	}
}
