package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/glob"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Filter is a part of the belt. The zero filter is all of it.
type Filter struct {
	servers, tools []*glob.Pattern
	readOnly       bool
}

// New returns the filter of a profile, or a grant.
func New(servers, tools []string, readOnly bool) (f Filter, err error) {
	f.readOnly = readOnly
	if f.servers, err = Compile(servers); err == nil {
		f.tools, err = Compile(tools)
	}
	return f, err
}

// Compile compiles the patterns of a profile, or a grant.
func Compile(patterns []string) ([]*glob.Pattern, error) {
	var all []*glob.Pattern
	for _, text := range patterns {
		p, err := glob.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("the pattern %.100q %w", text, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// Fits reports whether a name fits one of the patterns, or there are none.
func Fits(patterns []*glob.Pattern, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p *glob.Pattern) bool { return p.Match(name) })
}

// IsPart reports whether the filter has not all tools.
func (f *Filter) IsPart() bool { return len(f.servers)+len(f.tools) > 0 || f.readOnly }

// HasAllServers reports whether the filter leaves out no server.
func (f *Filter) HasAllServers() bool { return len(f.servers) == 0 }

// HasContent reports whether the filter has the resources and prompts of its servers: one that names tools and no servers is of
// these tools alone.
func (f *Filter) HasContent() bool { return len(f.tools) == 0 || len(f.servers) > 0 }

// HasServer reports whether the filter has something of the server; of the program's own
// tools if the name is empty.
func (f *Filter) HasServer(name string) bool { return Fits(f.servers, name) }

// HasTool reports whether the filter has the tool.
func (f *Filter) HasTool(d *registry.Definition) bool {
	return f.HasServer(d.Origin.Server) && Fits(f.tools, d.Name) && (!f.readOnly || d.Hints().ReadOnly)
}

// IsHidden reports whether a tool of the program is one that [registry.Registry.AddHidden] added.
func IsHidden(s *registry.Snapshot, d *registry.Definition) bool {
	if d.Origin.Server != "" {
		return false
	}
	_, known := s.Lookup(d.Name)
	_, listed := slices.BinarySearchFunc(s.Tools(), d.Name, func(t registry.Tool, name string) int {
		return strings.Compare(t.Definition().Name, name)
	})
	return known && !listed
}
