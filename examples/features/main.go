// Features shows what a server can do besides tools: elicitation, sampling, roots,
// progress, log messages, resources and their changes, prompts, completion, and tasks.
//
//	go run ./examples/features
//	go run ./examples/features -ask
//	go run ./examples/features -revision 2025-11-25
//
// It builds examples/servers/features first, and needs nothing but Go. Without
// -ask it answers the server's requests itself.
package main

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
	"github.com/mcpbelt/mcpbelt/transport"
)

const serverPath = "github.com/mcpbelt/mcpbelt/examples/servers/features"

func main() {
	asks := flag.Bool("ask", false, "let the person at the terminal answer the server's questions")
	revision := flag.String("revision", "", "the only `revision` of the protocol that the server speaks; all if left out")
	flag.Parse()

	patience := 2 * time.Minute
	if *asks {
		patience = time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx, *asks, *revision); err != nil {
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, asks bool, revision string) error {
	dir, err := os.MkdirTemp("", "features")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := build(ctx, dir)
	if err != nil {
		return err
	}
	return talk(ctx, server, asks, revision)
}

// talk starts the server and shows what it can do.
func talk(ctx context.Context, server string, asks bool, revision string) error {
	opts := &mcp.ClientOptions{
		// Without these the server is told that it cannot ask.
		Elicit:    fillIn,
		ElicitURL: visit,
		Sample:    complete,
		ListRoots: func(context.Context) ([]*mcp.Root, error) {
			return []*mcp.Root{{URI: "file:///srv/notes", Name: "notes"}}, nil
		},

		Tasks:    true,
		LogLevel: "info",
		Log: func(m *mcp.LogMessage) {
			fmt.Printf("  log of %s: %s: %s\n", m.Server, m.Level, m.Data)
		},
	}
	if asks {
		console := &ask.Console{Open: ask.OpenURL}
		defer func() { _ = console.Close() }()
		opts.Elicit, opts.ElicitURL, opts.Sample = console.Elicit, console.ElicitURL, console.Sample(complete)
	}
	c := mcp.NewClient("features", &transport.Command{Path: server, Args: []string{"-revision", revision}}, opts)
	defer func() { _ = c.Close() }()

	if err := c.Ready(ctx); err != nil {
		return err
	}
	fmt.Printf("Connected by revision %s.\n", c.State().ProtocolVersion)
	for _, part := range []struct {
		title string
		show  func(context.Context, *mcp.Client) error
	}{
		{"Progress and structured results", results},
		{"What the server asks", questions},
		{"A resource that changes", journal},
		{"A prompt, with completion", prompt},
		{"Tasks", tasks},
	} {
		fmt.Printf("\n%s:\n", part.title)
		if err := part.show(ctx, c); err != nil {
			return err
		}
	}
	return c.Shutdown(ctx)
}

// build builds the server into dir and returns its path.
func build(ctx context.Context, dir string) (string, error) {
	fmt.Println("Building the example server ...")
	path := filepath.Join(dir, "server.exe") // Windows starts no other
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, serverPath)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building the server (run this in the repository): %w", err)
	}
	return path, nil
}
