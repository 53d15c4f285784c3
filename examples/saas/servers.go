package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// A play has the servers that the users of the example add: they are elsewhere in truth, and belong to others.
type play struct {
	authorization *authtest.Server // where users of notes log in
	notes, clock  string           // URLs
	web           *http.Server
	served        chan error
}

// newPlay starts the servers. With a page, users are asked for a name where they log in; else their browser is let
// in at once.
func newPlay(page bool) (*play, error) {
	authorization, err := authtest.New(&authtest.Options{LoginPage: page})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		authorization.Close()
		return nil, err
	}
	p := &play{
		authorization: authorization, notes: authorization.Protect(serve(newNotes()), nil).URL, clock: "http://" + listener.Addr().String(),
		web: &http.Server{Handler: serve(newClock()), ReadHeaderTimeout: 5 * time.Second}, served: make(chan error, 1),
	}
	go func() { p.served <- p.web.Serve(listener) }()
	return p, nil
}

func (p *play) close() {
	_ = p.web.Close()
	<-p.served
	p.authorization.Close()
}

func serve(server *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// newNotes returns a server that keeps the notes of each of its users apart.
func newNotes() *sdk.Server {
	var mu sync.Mutex
	notes := map[string][]string{}
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	userOf := func(req *sdk.CallToolRequest) string { return req.Extra.Header.Get("Authtest-User") } // who has logged in
	type note struct {
		Text string `json:"text" jsonschema:"what to write down"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "add", Description: "Write a note down."},
		func(_ context.Context, req *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			notes[userOf(req)] = append(notes[userOf(req)], in.Text)
			return text("written down"), nil, nil
		})
	sdk.AddTool(server, &sdk.Tool{Name: "list", Description: "List the notes.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			return text(fmt.Sprintf("the notes of %s are %q", userOf(req), notes[userOf(req)])), nil, nil
		})
	return server
}

// newClock returns a server without users.
func newClock() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "now", Description: "Tell the time.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("it is " + time.Now().UTC().Format(time.Kitchen)), nil, nil
		})
	return server
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
