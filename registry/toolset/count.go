package toolset

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/registry"
)

// tokensKey is the key of the tokens of a definition in what a registry remembers of it.
type tokensKey struct{}

// TokensOf returns a function that returns how many tokens the definitions of a snapshot take, see [EstimateTokens].
// It remembers them with the snapshot, and is not safe for concurrent use.
func TokensOf(s *registry.Snapshot) func(def *registry.Definition) int {
	memory := s.Memory()
	return func(def *registry.Definition) int {
		cell, _ := memory(def)
		if n, ok := cell.Get(tokensKey{}).(int); ok {
			return n
		}
		n := EstimateTokens(def)
		cell.Put(tokensKey{}, n)
		return n
	}
}

// A namedFinder is search_tools with the names of servers in its description.
type namedFinder struct {
	servers []string
	tool    registry.Tool
}

// withServers returns search_tools with the names of servers in its description: the same
// tool as before for the same servers, so that a prompt can be cached.
func (f *Finder) withServers(search registry.Tool, servers []string) registry.Tool {
	if n := f.named.Load(); n != nil && slices.Equal(n.servers, servers) {
		return n.tool
	}
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = serverName(s)
	}
	t, err := registry.With(search, func(d *registry.Definition) { d.Description += " Servers: " + joinShort(names) + "." })
	if err != nil {
		return search // cannot be: a description may be anything
	}
	f.named.Store(&namedFinder{servers, t})
	return t
}
