package toolset

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/registry"
)

// A tokenCounter knows how many tokens definitions take. It counts each once.
type tokenCounter struct {
	count  func(text string) int // nil: an estimate
	listed atomic.Pointer[tokenCounts]
	finder atomic.Pointer[tokenCounts]     // of the tools of a Finder
	named  atomic.Pointer[describedFinder] // the last one
}

// tokenCounts are the counts of tools, sorted by name. They are never changed.
type tokenCounts struct {
	defs    []*registry.Definition
	tokens  []int32
	guessed []bool // whether it was only estimated; nil: none was
	version uint64 // of the snapshot; 0: of none
}

// ofListed returns the counts of the tools that a snapshot lists.
func (c *tokenCounter) ofListed(ctx context.Context, s *registry.Snapshot) *tokenCounts {
	before := c.listed.Load()
	if before != nil && before.version == s.Version() && before.guessed == nil {
		return before
	}
	return c.update(ctx, &c.listed, before, s.Tools(), s.Version())
}

// ofFinder returns the counts of the tools of a Finder.
func (c *tokenCounter) ofFinder(ctx context.Context, tools []registry.Tool) *tokenCounts {
	before := c.finder.Load()
	if before != nil && before.guessed == nil {
		return before
	}
	return c.update(ctx, &c.finder, before, tools, 0)
}

// update counts tools, as far as that was not done before. The function that counts is
// foreign and may be slow, so nothing is locked: a concurrent caller counts
// too. A tool that is not counted when ctx ends is estimated, and counted by the next call.
func (c *tokenCounter) update(ctx context.Context, at *atomic.Pointer[tokenCounts], before *tokenCounts, tools []registry.Tool, version uint64) *tokenCounts {
	now := &tokenCounts{defs: make([]*registry.Definition, len(tools)), tokens: make([]int32, len(tools)), version: version}
	old := 0
	for i, t := range tools {
		def := t.Definition()
		now.defs[i] = def
		for before != nil && old < len(before.defs) && before.defs[old].Name < def.Name {
			old++
		}
		if before != nil && old < len(before.defs) && (before.guessed == nil || !before.guessed[old]) && sameForModels(before.defs[old], def) {
			now.tokens[i] = before.tokens[old]
			continue
		}
		n, ok := c.countOf(ctx, def)
		if now.tokens[i] = int32(n); ok {
			continue
		}
		if now.guessed == nil {
			now.guessed = make([]bool, len(tools))
		}
		now.guessed[i] = true
	}
	at.CompareAndSwap(before, now)
	return now
}

// of returns how many tokens a tool takes. From is the place to look from, for tools in
// the order of their names, and next the one for the next tool. A tool that was listed
// only later is counted here.
func (c *tokenCounter) of(ctx context.Context, counts *tokenCounts, def *registry.Definition, from int) (tokens, next int) {
	for from < len(counts.defs) && counts.defs[from] != def && counts.defs[from].Name < def.Name {
		from++
	}
	if from < len(counts.defs) && sameForModels(counts.defs[from], def) {
		return int(counts.tokens[from]), from + 1
	}
	tokens, _ = c.countOf(ctx, def)
	return tokens, from
}

// countOf counts one definition, or estimates it if ctx has ended.
func (c *tokenCounter) countOf(ctx context.Context, def *registry.Definition) (n int, ok bool) {
	switch {
	case c.count == nil:
		return estimateTokensIn(appendDefinition(nil, def)), true
	case ctx.Err() != nil:
		return estimateTokensIn(appendDefinition(nil, def)), false
	}
	return min(max(c.count(string(appendDefinition(nil, def))), 0), maxTokens), true
}

// sameForModels reports whether two definitions have the same text.
func sameForModels(a, b *registry.Definition) bool {
	return a == b || a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

// maxTokens bounds what one definition can count.
const maxTokens = 1 << 30

// A describedFinder is search_tools with the names of servers in its description.
type describedFinder struct {
	of      registry.Tool
	servers []string
	tool    registry.Tool
	tokens  int
}

// withServers returns search_tools with the names of servers in its description, and
// how many tokens it takes.
func (c *tokenCounter) withServers(ctx context.Context, finder registry.Tool, servers []string) (registry.Tool, int) {
	if f := c.named.Load(); f != nil && f.of == finder && slices.Equal(f.servers, servers) {
		return f.tool, f.tokens
	}
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = serverName(s)
	}
	t, err := registry.With(finder, func(d *registry.Definition) { d.Description += " Servers: " + joinShort(names) + "." })
	if err != nil {
		t = finder // cannot be: a description may be anything
	}
	n, ok := c.countOf(ctx, t.Definition())
	if ok {
		c.named.Store(&describedFinder{finder, servers, t, n})
	}
	return t, n
}

// serverTokens adds up what the tools of each server take.
type serverTokens struct {
	servers []ServerTokens
	places  map[string]int // by name
	last    int            // tools of one server mostly follow one another
}

func (t *serverTokens) add(server string, tokens int) {
	if len(t.servers) == 0 || t.servers[t.last].Server != server {
		at, known := t.places[server]
		if !known {
			if t.places == nil {
				t.places = map[string]int{}
			}
			at = len(t.servers)
			t.places[server] = at
			t.servers = append(t.servers, ServerTokens{Server: server})
		}
		t.last = at
	}
	t.servers[t.last].Tools++
	t.servers[t.last].Tokens += tokens
}

// sorted returns the servers, the largest first.
func (t *serverTokens) sorted() []ServerTokens {
	slices.SortFunc(t.servers, func(a, b ServerTokens) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), strings.Compare(a.Server, b.Server))
	})
	return t.servers
}
