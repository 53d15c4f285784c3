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

// newFinder fills a registry as a host does, server by server. Change, unless it is nil,
// changes each definition.
func newFinder(opts *toolset.Options, change func(*registry.Definition)) (*toolset.Finder, error) {
	r := registry.New(nil)
	finder, err := toolset.New(r, opts)
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
			if change != nil {
				change(&def)
			}
			tools[i] = &listed{def}
		}
		if _, err := r.Replace(registry.Server{Name: s.Name}, tools); err != nil {
			return nil, err
		}
	}
	return finder, nil
}

// searchOf returns the search of a Finder, which finds as many tools as search_tools shows.
func searchOf(finder *toolset.Finder) func(string) ([]string, error) {
	return func(text string) ([]string, error) {
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
}

// openOurs returns a contender's open for a Finder with these options.
func openOurs(opts *toolset.Options) func() (func(string) ([]string, error), func() error, error) {
	return func() (func(string) ([]string, error), func() error, error) {
		finder, err := newFinder(opts, nil)
		if err != nil {
			return nil, nil, err
		}
		return searchOf(finder), func() error { return nil }, nil
	}
}

// A listed tool can be found, but not called.
type listed struct{ def registry.Definition }

func (l *listed) Definition() *registry.Definition { return &l.def }

func (l *listed) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return nil, errors.New("this tool is there to be found")
}
