// Login uses an MCP server that wants its users to log in.
//
//	go run ./examples/login
//	go run ./examples/login -url https://mcp.example/mcp
//
// Without a URL it plays all parts by itself, offline: the server, the
// authorization server, and the user with their browser. With one it opens your
// browser, or with -paste it has you paste the address at which a browser on
// another machine ended, and lists the server's tools. The login is kept: the next
// run needs none, until you run it with -logout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

func main() {
	url := flag.String("url", "", "the server; without one it is played")
	paste := flag.Bool("paste", false, "paste the address at which the browser ended")
	logout := flag.Bool("logout", false, "log out instead")
	folder := flag.String("sessions", defaultFolder(), "where logins are kept")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()

	var err error
	if *url == "" {
		err = play(ctx)
	} else {
		var prompt auth.Prompt = &auth.Loopback{}
		if *paste {
			prompt = &auth.PasteURL{}
		}
		err = visit(ctx, *folder, *url, prompt, func(p *program) error {
			if *logout {
				return p.manager.Logout(ctx, p.key)
			}
			return p.listTools(ctx)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "login:", err)
		os.Exit(1)
	}
}

func defaultFolder() string {
	base, err := os.UserConfigDir()
	if err != nil {
		base = "."
	}
	return filepath.Join(base, "mcpbelt-example-login")
}

// A program is what an agent needs to use one server as one user.
type program struct {
	manager *session.Manager
	key     session.Key
	client  *mcp.Client
}

// visit is one run of a program that uses a server: it opens what was kept, does
// something, and ends.
func visit(ctx context.Context, folder, url string, prompt auth.Prompt, do func(*program) error) (err error) {
	manager, err := session.Open(ctx, folder, &session.Options{Prompt: prompt},
		&auth.Config{
			Server:       "server", // more servers have more
			URL:          url,
			Registration: auth.Registration{ClientName: "mcpbelt example"},
		})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }()

	p := &program{manager: manager, key: session.Key{Server: "server"}}
	p.client = mcp.NewClient("server", &transport.HTTP{URL: url, OAuth: manager.Handler(p.key)}, nil)
	defer func() { err = errors.Join(err, p.client.Close()) }()
	return do(p)
}

// connect connects to the server. If that wants a login, the user is shown it, and connect
// waits for them.
func (p *program) connect(ctx context.Context) error { return auth.AwaitLogin(ctx, p.client.Ready) }

// listTools prints what the server offers.
func (p *program) listTools(ctx context.Context) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	tools, err := p.client.Tools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		fmt.Printf("  tool %s: %s\n", tool.Name, tool.Description)
	}
	return p.printStatus(ctx)
}

// printStatus prints where the session stands.
func (p *program) printStatus(ctx context.Context) error {
	status, err := p.manager.Status(ctx, p.key)
	if err != nil {
		return err
	}
	fmt.Printf("  %v", status.Phase)
	if status.Phase == session.LoggedIn {
		fmt.Printf(" at %s, scopes %q, renewed without the user: %v", status.Issuer, status.Scopes, status.Renewable)
	}
	fmt.Println()
	return nil
}
