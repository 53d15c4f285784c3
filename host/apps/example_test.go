package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/apps"
)

// showApps shows the apps of a host: the page of each user gets their JSON, and calls show of /apps/apps.js with it.
func showApps(h *host.Host, send func(user string, data []byte)) error {
	a, err := apps.New(h, &apps.Options{SandboxURL: "http://127.0.0.1:8081", Show: func(_ context.Context, s *apps.Shown) {
		data, _ := json.Marshal(s)
		send(s.User, data)
	}})
	if err != nil {
		return err
	}
	defer a.Close()
	http.Handle("/apps/", http.StripPrefix("/apps", a.Bridge())) // behind what signs users in
	go func() { _ = http.ListenAndServe("127.0.0.1:8081", a.Sandbox()) }()
	return http.ListenAndServe("127.0.0.1:8080", nil)
}

func ExampleNew() {
	fmt.Println(showApps(nil, nil))
	// Output: apps: there is no host
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
