package login_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/session"
)

// All servers of a configuration, with logins where they want one. The sessions are in
// memory here; a file or a database keeps them.
func ExampleNew() {
	ctx := context.Background()
	logins, err := login.New(session.Memory(), &login.Options{
		Session: session.Options{Prompt: &auth.Loopback{}},
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = logins.Close() }()
	h := host.New(&host.Options{StateDir: host.NoState, Logins: logins})
	defer func() { _ = h.Close() }()
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes-server", "enabled": false}}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err != nil {
		log.Print(err)
		return
	}
	_, err = h.Login(ctx, session.Key{Server: "notes"})
	fmt.Println(err)
	// Output: login: none at server "notes": it is a local process
}

// A program without a host logs in at the server of an entry, too. With the handler it
// makes an HTTP transport.
func ExampleLogins_Handler() {
	logins, err := login.New(session.Memory(), &login.Options{
		Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"},
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = logins.Close() }()
	stop := logins.OnLogin(func(key session.Key) { fmt.Println(key.Server, "is ready") })
	defer stop()
	c, err := config.Parse(context.Background(), "mcp.json", []byte(`{"mcpServers": {
		"notes": {"url": "https://notes.example/mcp"},
		"mail": {"url": "https://mail.example/mcp", "headers": {"Authorization": "Bearer x"}}
	}}`), nil)
	if err != nil {
		log.Print(err)
		return
	}
	for _, entry := range c.Servers {
		logins.Use(entry)
		handler := logins.Handler(session.Key{Server: entry.Name}, entry)
		fmt.Printf("%s: %t %q\n", entry.Name, handler != nil, entry.NoLogin())
	}
	logins.Forget("notes")
	// Output:
	// notes: true ""
	// mail: false "its entry has an Authorization header of its own, which is sent instead: remove that to log in"
}
