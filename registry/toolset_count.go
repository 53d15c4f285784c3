package registry

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
)

// A tokenCounter knows how many tokens definitions take. It counts each once.
type tokenCounter struct {
	count  func(text string) int // nil: an estimate
	counts atomic.Pointer[tokenCounts]
	finder atomic.Pointer[describedFinder] // the last one
}

func newTokenCounter(opts *SearchOptions) *tokenCounter {
	c := &tokenCounter{}
	if opts != nil {
		c.count = opts.Tokens
	}
	return c
}

// tokenCounts are the counts of one snapshot. They are never changed.
type tokenCounts struct {
	snapshot *Snapshot
	tokens   []int32 // by entry
	guessed  []bool  // by entry, whether it was only estimated; nil: none was
}

// of returns how many tokens each entry of s takes. The function that counts is
// foreign and may be slow, so nothing is locked: who comes at the same time counts
// too. What is not counted when ctx ends is estimated, and counted by the next.
func (c *tokenCounter) of(ctx context.Context, s *Snapshot) []int32 {
	before := c.counts.Load()
	var old []*entry
	if before != nil {
		if old = before.snapshot.entries; before.snapshot == s && before.guessed == nil {
			return before.tokens
		}
	}
	tokens := make([]int32, len(s.entries))
	var guessed []bool
	at := 0
	for i, e := range s.entries {
		for at < len(old) && old[at].def.Name < e.def.Name {
			at++
		}
		if at < len(old) && (before.guessed == nil || !before.guessed[at]) && sameForModels(old[at].def, e.def) {
			tokens[i] = before.tokens[at]
			continue
		}
		n, ok := c.countOf(ctx, e.def)
		if tokens[i] = int32(n); ok {
			continue
		}
		if guessed == nil {
			guessed = make([]bool, len(s.entries))
		}
		guessed[i] = true
	}
	c.counts.CompareAndSwap(before, &tokenCounts{s, tokens, guessed})
	return tokens
}

// countOf counts one definition, or estimates it if ctx has ended.
func (c *tokenCounter) countOf(ctx context.Context, def *Definition) (n int, ok bool) {
	switch {
	case c.count == nil:
		return estimateTokensIn(appendDefinition(nil, def)), true
	case ctx.Err() != nil:
		return estimateTokensIn(appendDefinition(nil, def)), false
	}
	return min(max(c.count(string(appendDefinition(nil, def))), 0), maxTokens), true
}

// sameForModels reports whether two definitions have the same text.
func sameForModels(a, b *Definition) bool {
	return a == b || a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

// maxTokens bounds what one definition can count.
const maxTokens = 1 << 30

// A describedFinder is search_tools with the names of servers in its description.
type describedFinder struct {
	of      Tool
	servers []string
	tool    Tool
	tokens  int
}

// withServers returns search_tools with the names of servers in its description, and
// how many tokens it takes.
func (c *tokenCounter) withServers(ctx context.Context, finder Tool, servers []string) (Tool, int) {
	if f := c.finder.Load(); f != nil && f.of == finder && slices.Equal(f.servers, servers) {
		return f.tool, f.tokens
	}
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = serverName(s)
	}
	t, err := With(finder, func(d *Definition) { d.Description += " Servers: " + joinShort(names) + "." })
	if err != nil {
		t = finder // cannot be: a description may be anything
	}
	n, ok := c.countOf(ctx, t.Definition())
	if ok {
		c.finder.Store(&describedFinder{finder, servers, t, n})
	}
	return t, n
}
