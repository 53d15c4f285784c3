package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const scheme = "notes://"

type (
	createInput struct {
		Text  string `json:"text" jsonschema:"what to write down"`
		Title string `json:"title,omitempty" jsonschema:"short title; the first line of the text if left out"`
	}
	idInput struct {
		ID string `json:"id" jsonschema:"the note's id, as create, list and search report it"`
	}
	searchInput struct {
		Query string `json:"query" jsonschema:"text to look for in titles and texts, in any case"`
	}
	listOutput struct {
		Notes []heading `json:"notes"`
	}
	// A heading is what list and search tell about a note.
	heading struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	deleteOutput struct {
		Deleted bool `json:"deleted" jsonschema:"false if there was no such note"`
	}
)

// newServer returns the server of a notebook.
func newServer(name string, b *notebook, log *slog.Logger) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Title: "Notes", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Keeps short notes. Search or list before creating a note that may exist already.",
		Logger:       log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
	})

	closed := false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}
	adds := &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: &closed}
	destroys := &mcp.ToolAnnotations{IdempotentHint: true, OpenWorldHint: &closed} // destructive unless it says otherwise

	mcp.AddTool(s, &mcp.Tool{
		Name: "create", Title: "Create a note", Annotations: adds,
		Description: "Write a new note and return it with its id.",
	}, func(_ context.Context, _ *mcp.CallToolRequest, in createInput) (*mcp.CallToolResult, Note, error) {
		note, err := b.Create(in.Title, in.Text)
		return nil, note, err
	})

	mcp.AddTool(s, &mcp.Tool{
		Name: "list", Title: "List the notes", Annotations: reads,
		Description: "List the ids and titles of all notes, oldest first.",
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, listOutput, error) {
		return nil, listOutput{headings(b.All())}, nil
	})

	mcp.AddTool(s, &mcp.Tool{
		Name: "get", Title: "Read a note", Annotations: reads,
		Description: "Return one note with its text.",
	}, func(_ context.Context, _ *mcp.CallToolRequest, in idInput) (*mcp.CallToolResult, Note, error) {
		note, ok := b.Get(in.ID)
		if !ok {
			return nil, Note{}, fmt.Errorf("there is no note %q; list shows the ids", in.ID)
		}
		return nil, note, nil
	})

	mcp.AddTool(s, &mcp.Tool{
		Name: "delete", Title: "Delete a note", Annotations: destroys,
		Description: "Delete one note for good.",
	}, func(_ context.Context, _ *mcp.CallToolRequest, in idInput) (*mcp.CallToolResult, deleteOutput, error) {
		found, err := b.Delete(in.ID)
		return nil, deleteOutput{found}, err
	})

	mcp.AddTool(s, &mcp.Tool{
		Name: "search", Title: "Search the notes", Annotations: reads,
		Description: "List the ids and titles of the notes that contain a text.",
	}, func(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, listOutput, error) {
		if in.Query == "" {
			return nil, listOutput{}, errors.New("query is empty; list returns all notes")
		}
		return nil, listOutput{headings(b.Search(in.Query))}, nil
	})

	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: scheme + "{id}", Name: "note", Title: "A note",
		Description: "The text of one note.", MIMEType: "text/plain",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		note, ok := b.Get(strings.TrimPrefix(req.Params.URI, scheme))
		if !ok {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: req.Params.URI, MIMEType: "text/plain", Text: note.Text},
		}}, nil
	})
	return s
}

// headings is never nil: the output schema asks for an array.
func headings(notes []Note) []heading {
	list := make([]heading, len(notes))
	for i, n := range notes {
		list[i] = heading{n.ID, n.Title}
	}
	return list
}
