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

// openOurs fills a registry as a host does, server by server.
func openOurs() (func(string) ([]string, error), func() error, error) {
	r := registry.New(nil)
	finder, err := toolset.New(r, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range toolcorpus.Servers() {
		tools := make([]registry.Tool, len(s.Tools))
		for i, t := range s.Tools {
			tools[i] = &listed{registry.Definition{
				Title:        t.Title,
				Description:  t.Description,
				InputSchema:  t.InputSchema,
				OutputSchema: t.OutputSchema,
				Origin:       registry.Origin{Server: s.Name, Tool: t.Name},
			}}
		}
		if _, err := r.Replace(registry.Server{Name: s.Name}, tools); err != nil {
			return nil, nil, err
		}
	}
	search := func(text string) ([]string, error) {
		matches, err := finder.Search(context.Background(), toolset.Query{Text: text})
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
