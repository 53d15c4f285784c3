package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/session"
)

// A program that shows apps: the page of a user gets the JSON of each, and calls show of /apps/apps.js with it.
func ExampleNew() {
	serve := func(send func(user string, data []byte)) error {
		opts := &host.Options{}
		apps.Prepare(opts)
		h, err := host.Open(context.Background(), "mcp.json", opts)
		if err != nil {
			return err
		}
		defer h.Close()
		a, err := apps.New(h, &apps.Options{
			SandboxURL: "http://127.0.0.1:8081",
			Show: func(_ context.Context, s *apps.Shown) {
				data, _ := json.Marshal(s)
				send(s.User, data)
			},
		})
		if err != nil {
			return err
		}
		defer a.Close()
		bridge := http.StripPrefix("/apps", a.Bridge())
		http.HandleFunc("/apps/", func(w http.ResponseWriter, r *http.Request) {
			bridge.ServeHTTP(w, r.WithContext(session.WithUser(r.Context(), "ada"))) // whom the program has signed in
		})
		go func() { _ = http.ListenAndServe("127.0.0.1:8081", a.Sandbox()) }()
		return http.ListenAndServe("127.0.0.1:8080", nil)
	}
	if err := serve(nil); err != nil {
		fmt.Println("there is no mcp.json")
	}
	// Output: there is no mcp.json
}

func ExamplePrepare() {
	opts := &host.Options{}
	apps.Prepare(opts)
	fmt.Println(opts.Client.Extensions)
	// Output: map[io.modelcontextprotocol/ui:map[mimeTypes:[text/html;profile=mcp-app]]]
}

// An app that a program takes away, such as with its conversation.
func ExampleShown_End() {
	var shown []*apps.Shown // those of a conversation, which Options.Show has got
	for _, s := range shown {
		s.End("the conversation is over")
	}
}
