// Notes is an MCP server over standard input and output that keeps short notes.
//
// It offers the tools create, list, get, delete and search, and each note as
// the resource notes://{id}. Notes live in memory, or in the JSON file given
// by -file, which one process at a time may use.
//
// The server ends with status 0 when its standard input closes. Standard
// output carries the protocol and nothing else; the log goes to standard error.
//
// Usage:
//
//	notes [-name notes] [-file notes.json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	name := flag.String("name", "notes", "`name` under which the server introduces itself")
	file := flag.String("file", "", "JSON `file` that keeps the notes; none keeps them in memory")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "notes: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *name, *file); err != nil {
		fmt.Fprintf(os.Stderr, "notes: %v\n", err)
		os.Exit(1)
	}
}

// run serves until standard input closes or ctx ends; both are a normal end.
func run(ctx context.Context, name, file string) error {
	notebook, err := openNotebook(file)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err = newServer(name, notebook, log).Run(ctx, &mcp.StdioTransport{})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
