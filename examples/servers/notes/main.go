// Notes is an MCP server over standard input and output that keeps short notes.
//
// It offers the tools create, list and get, and each note as the resource notes://{id}. Notes live in memory,
// or in the file given by -file, a line of JSON each, which one process at a time may use.
//
// The server ends with status 0 when its standard input closes. Standard output carries the protocol and
// nothing else; the log goes to standard error.
//
// Usage:
//
//	notes [-file notes.jsonl]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const scheme = "notes://"

type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

type (
	createInput struct {
		Text string `json:"text" jsonschema:"what to write down; the first line is the title"`
	}
	getInput struct {
		ID string `json:"id" jsonschema:"the note's id, as create and list report it"`
	}
	listOutput struct {
		Notes []note `json:"notes"`
	}
)

// A notebook keeps notes, oldest first.
type notebook struct {
	mu    sync.Mutex
	notes []note
	file  io.Writer
}

func main() {
	path := flag.String("file", "", "`file` that keeps the notes; none keeps them in memory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *path); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "notes: %v\n", err)
		os.Exit(1)
	}
}

// run serves until standard input closes or ctx ends.
func run(ctx context.Context, path string) error {
	b := &notebook{file: io.Discard}
	if path != "" {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		lines := json.NewDecoder(f)
		for lines.More() {
			var n note
			if err := lines.Decode(&n); err != nil {
				return fmt.Errorf("%s is not a notes file (repair it or move it away): %w", path, err)
			}
			b.notes = append(b.notes, n)
		}
		b.file = f
	}
	return newServer(b).Run(ctx, &mcp.StdioTransport{})
}

func newServer(b *notebook) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Title: "Notes", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Keeps short notes. List before creating a note that may exist already.",
		Logger:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
	})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}
	adds := &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}

	mcp.AddTool(s, &mcp.Tool{
		Name: "create", Title: "Create a note", Annotations: adds, Description: "Write a new note and return it with its id.",
	}, func(_ context.Context, _ *mcp.CallToolRequest, in createInput) (*mcp.CallToolResult, note, error) {
		n, err := b.create(in.Text)
		return nil, n, err
	})
	mcp.AddTool(s, &mcp.Tool{
		Name: "list", Title: "List the notes", Annotations: reads, Description: "List the ids and titles of all notes, oldest first.",
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, listOutput, error) {
		return nil, listOutput{b.list()}, nil
	})
	mcp.AddTool(s, &mcp.Tool{
		Name: "get", Title: "Read a note", Annotations: reads, Description: "Return one note with its text.",
	}, func(_ context.Context, _ *mcp.CallToolRequest, in getInput) (*mcp.CallToolResult, note, error) {
		n, ok := b.get(in.ID)
		if !ok {
			return nil, note{}, fmt.Errorf("there is no note %q; list shows the ids", in.ID)
		}
		return nil, n, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: scheme + "{id}", Name: "note", Title: "A note", Description: "The text of one note.", MIMEType: "text/plain",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		n, ok := b.get(strings.TrimPrefix(req.Params.URI, scheme))
		if !ok {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: req.Params.URI, MIMEType: "text/plain", Text: n.Text},
		}}, nil
	})
	return s
}

// create adds a note: to the file first, so that no client reads one that a failed write has lost.
func (b *notebook) create(text string) (note, error) {
	if text = strings.TrimSpace(text); text == "" {
		return note{}, errors.New("text is empty; write something into the note")
	}
	title, _, _ := strings.Cut(text, "\n")
	b.mu.Lock()
	defer b.mu.Unlock()
	n := note{strconv.Itoa(len(b.notes) + 1), title, text}
	if err := json.NewEncoder(b.file).Encode(n); err != nil {
		return note{}, fmt.Errorf("saving the note: %w", err)
	}
	b.notes = append(b.notes, n)
	return n, nil
}

// list returns all notes without their texts.
func (b *notebook) list() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []note{} // the output schema asks for an array, not null
	for _, n := range b.notes {
		list = append(list, note{ID: n.ID, Title: n.Title})
	}
	return list
}

func (b *notebook) get(id string) (note, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := strconv.Atoi(id)
	if err != nil || i < 1 || i > len(b.notes) {
		return note{}, false
	}
	return b.notes[i-1], true
}
