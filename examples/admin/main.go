// Admin serves the page that manages servers, with three of them: one that is a process, one over
// HTTP, and one that is broken.
//
//	go run ./examples/admin
//
// It prints a link that signs in, once. The servers of the first two kinds are this program itself.
// Nothing is kept, and nothing is left when it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/storage"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen at")
	notes := flag.Bool("notes", false, "be the server of notes, on standard input and output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if *notes {
		do = func(ctx context.Context, _ io.Writer, _ string) error {
			return newNotes().Run(ctx, &sdk.StdioTransport{})
		}
	}
	if err := do(ctx, os.Stdout, *addr); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run serves the page until ctx ends.
func run(ctx context.Context, out io.Writer, addr string) error {
	clock, err := serve(ctx, "127.0.0.1:0", sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newClock() }, nil))
	if err != nil {
		return err
	}
	defer clock.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	store := record.NewMemoryStore(
		&config.Server{Name: "notes", Description: "Notes of this machine", Command: program, Args: []string{"-notes"}},
		&config.Server{Name: "clock", Description: "The time, over HTTP", URL: "http://" + clock.Addr},
		&config.Server{Name: "broken", Description: "A program that is not there", Command: "mcpbelt-no-such-program"},
	)

	feed := admin.NewFeed(nil)
	defer feed.Close()
	events := activity.New(nil, feed)
	defer events.Close(context.WithoutCancel(ctx))
	m, err := manage.OpenStore(ctx, store, &manage.Options{Host: host.Options{
		Registry: registry.New(&registry.Options{Approver: policy.Cautious()}), // so that some calls wait
		Activity: events,
		StateDir: host.NoState,
	}})
	if err != nil {
		return err
	}
	defer m.Close()

	keys, err := access.LoadKeys(ctx, storage.NewMemory(), "keys")
	if err != nil {
		return err
	}
	secret, owner, err := keys.Create(ctx, access.KeyOptions{Label: "owner", User: "owner"})
	if err != nil {
		return err
	}
	api, err := admin.Handler(m, &admin.Options{
		Authenticate: keys.Authenticate,
		Roles: func(c *access.Caller) []admin.Role {
			if c.Credential == owner.ID {
				return []admin.Role{admin.Operate, admin.StdioWrite} // whatever can start a process, too
			}
			return admin.DefaultRoles(c)
		},
		Keys: keys,
		Feed: feed,
	})
	if err != nil {
		return err
	}
	p, err := page.New(api)
	if err != nil {
		return err
	}
	web, err := serve(ctx, addr, p)
	if err != nil {
		return err
	}
	defer web.Close()
	fmt.Fprintln(out, "Open http://"+web.Addr+p.Link(secret))
	fmt.Fprintln(out, "Or sign in with the key "+secret)
	<-ctx.Done()
	return nil
}

// serve serves a handler at an address, which is the server's Addr then, until it is closed.
func serve(ctx context.Context, addr string, h http.Handler) (*http.Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Addr: l.Addr().String(), Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Print(err)
		}
	}()
	return s, nil
}

// newClock returns a server that tells the time.
func newClock() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "now", Description: "Tells the time", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text(time.Now().Format(time.RFC1123)), nil, nil
		})
	return s
}

// A note is what the tool write takes.
type note struct {
	Text  string   `json:"text" jsonschema:"what to keep"`
	Tags  []string `json:"tags,omitempty" jsonschema:"words to find it by"`
	Until string   `json:"until,omitempty" jsonschema:"the day after which it is forgotten"`
}

// newNotes returns a server that keeps nothing.
func newNotes() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "write", Description: "Writes a note"},
		func(_ context.Context, _ *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
			return text("kept: " + in.Text), nil, nil
		})
	return s
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
