package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// newFinder fills a registry as a host does, server by server.
func newFinder() (*toolset.Finder, error) {
	r := registry.New(nil)
	finder, err := toolset.New(r, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range toolcorpus.Servers() {
		tools := make([]registry.Tool, len(s.Tools))
		for i, t := range s.Tools {
			def := registry.Definition{
				Title:          t.Title,
				Description:    t.Description,
				InputSchema:    t.InputSchema,
				OutputSchema:   t.OutputSchema,
				RawAnnotations: t.Annotations,
				Origin:         registry.Origin{Server: s.Name, Tool: t.Name},
			}
			tools[i] = &listed{def}
		}
		if _, err := r.Replace(registry.Server{Name: s.Name}, tools); err != nil {
			return nil, err
		}
	}
	return finder, nil
}

// openOurs opens a search that finds as many tools as search_tools shows.
func openOurs() (func(string) ([]string, error), func() error, error) {
	finder, err := newFinder()
	if err != nil {
		return nil, nil, err
	}
	search := func(text string) ([]string, error) {
		matches, err := finder.Search(context.Background(), toolset.Query{Text: text, Limit: shown})
		if err != nil {
			return nil, err
		}
		var found []string
		for _, m := range matches {
			from := m.Tool.Definition().Origin
			found = append(found, from.Server+"/"+from.Tool)
		}
		return found, nil
	}
	return search, func() error { return nil }, nil
}

// A listed tool can be found, but not called.
type listed struct{ def registry.Definition }

func (l *listed) Definition() *registry.Definition { return &l.def }

func (l *listed) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return nil, errors.New("this tool is there to be found")
}
