package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A folder is what the MCP server keeps: files of which only the names matter.
type folder struct {
	mu      sync.Mutex
	files   map[string]bool
	deleted []string // in the order in which the server was told to
}

func newFolder() *folder {
	f := &folder{files: map[string]bool{}}
	for _, name := range []string{"cache.tmp", "<b>draft</b>.tmp", "report.pdf", "session.tmp"} {
		f.files[name] = true
	}
	return f
}

type deleteInput struct {
	Name string `json:"name" jsonschema:"the file's name, as list reports it"`
}

type listOutput struct {
	Files []string `json:"files"`
}

// server returns the folder as an MCP server.
func (f *folder) server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "files", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{
		Name: "list", Title: "List the files", Description: "List the names of all files.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, listOutput, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return nil, listOutput{slices.Sorted(maps.Keys(f.files))}, nil
	})
	destroys := true
	sdk.AddTool(s, &sdk.Tool{
		Name: "delete", Title: "Delete a file", Description: "Delete one file for good.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &destroys, IdempotentHint: true},
	}, func(_ context.Context, _ *sdk.CallToolRequest, in deleteInput) (*sdk.CallToolResult, any, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.deleted = append(f.deleted, in.Name)
		if !f.files[in.Name] {
			return nil, nil, fmt.Errorf("there is no file %q", in.Name)
		}
		delete(f.files, in.Name)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Name + " is gone"}}}, nil, nil
	})
	return s
}
