// Apps is a chat whose model calls tools that have apps, which the page of the chat shows (MCP Apps):
//
//	cd examples/apps && go run .
//
// The model is a script: a word names the server whose tool is called. It needs Node: npx downloads the servers on the first run.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

//go:embed page.html
var page []byte

// An inbox has the apps of one message of the user. It is in the context of its calls.
type inbox struct {
	mu   sync.Mutex
	apps []*apps.Shown
}

type inboxKey struct{}

// add is called with the context of each call of a tool that has an app.
func add(ctx context.Context, s *apps.Shown) {
	if in, ok := ctx.Value(inboxKey{}).(*inbox); ok {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.apps = append(in.apps, s)
	}
}

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	accepted, err := ledger.Open("mcp.lock.json", nil) // tools and their apps stay what they were
	if err != nil {
		return err
	}
	opts := &host.Options{OpenWait: time.Minute, Registry: registry.New(&registry.Options{Ledger: accepted})}
	apps.Prepare(opts) // servers are told that this program shows apps
	h, err := host.Open(ctx, "mcp.json", opts)
	if err != nil {
		return err
	}
	defer h.Close()
	shows, err := apps.New(h, &apps.Options{SandboxURL: "http://127.0.0.1:8081", Show: add})
	if err != nil {
		return err
	}
	defer shows.Close()

	web := http.NewServeMux()
	web.Handle("/apps/", http.StripPrefix("/apps", shows.Bridge()))
	web.HandleFunc("POST /chat", func(w http.ResponseWriter, r *http.Request) { chat(w, r, h.Registry()) })
	web.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
	signedIn := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.ServeHTTP(w, r.WithContext(session.WithUser(r.Context(), "ada"))) // whom your program has signed in
	})
	fmt.Println("Open http://127.0.0.1:8080")
	ended := make(chan error)
	go func() { ended <- http.ListenAndServe("127.0.0.1:8081", shows.Sandbox()) }()
	go func() { ended <- http.ListenAndServe("127.0.0.1:8080", signedIn) }()
	return <-ended
}

// chat answers a message with what the model says, and the apps of the tools that it has called.
func chat(w http.ResponseWriter, r *http.Request, tools *registry.Registry) {
	text, err := io.ReadAll(io.LimitReader(r.Body, 10_000))
	if err != nil {
		http.Error(w, "the message did not come through", http.StatusBadRequest)
		return
	}
	in := &inbox{}
	ctx := context.WithValue(registry.WithConversation(r.Context(), "chat"), inboxKey{}, in)
	said := "I have no tool for that."
	if tool := choose(tools.Callable(ctx), string(text)); tool != "" {
		res, err := tools.Call(ctx, tool, nil)
		if said = "It did not work, or a person has to decide first."; err == nil {
			said = res.Text()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"text": said, "apps": in.apps})
}

// choose returns what a model calls: here the tool with an app whose server is named.
func choose(tools []registry.Tool, text string) string {
	for _, tool := range tools {
		def := tool.Definition()
		if strings.Contains(strings.ToLower(text), def.Origin.Server) && def.App() != "" {
			return def.Name
		}
	}
	return ""
}
