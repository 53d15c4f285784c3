package toolset_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

const (
	others      = "github__archive github__create_issue notes__create notes__delete weather__forecast"
	everything  = "clock " + others
	finders     = "call_tool describe_tool search_tools"
	withFinders = "call_tool clock describe_tool search_tools"
)

func TestToolset(t *testing.T) {
	for _, c := range []struct {
		name            string
		registry        registry.Options
		opts            *toolset.SetOptions
		tools, deferred string
	}{
		{name: "all that fit", tools: everything},
		{name: "the provider searches", opts: &toolset.SetOptions{MaxTokens: 1, ProviderSearch: true}, tools: "clock", deferred: others},
		{name: "the provider need not search", opts: &toolset.SetOptions{ProviderSearch: true}, tools: everything},
		{name: "they fit", opts: &toolset.SetOptions{MaxTokens: 300}, tools: everything},
		{name: "they do not", opts: &toolset.SetOptions{MaxTokens: 59}, tools: withFinders, deferred: others},
		{name: "never", opts: &toolset.SetOptions{MaxTokens: -1}, tools: everything},
		{name: "always", opts: always, tools: withFinders, deferred: others},
		{name: "some are always there", opts: &toolset.SetOptions{MaxTokens: 1, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Origin.Server == "notes" }},
			tools: "call_tool describe_tool notes__create notes__delete search_tools", deferred: "clock github__archive github__create_issue weather__forecast"},
		{name: "none are", opts: &toolset.SetOptions{MaxTokens: 1, Always: none}, tools: finders, deferred: everything},
		{name: "all are, so there is nothing to be found", opts: &toolset.SetOptions{MaxTokens: 1, Always: func(*registry.Definition, registry.Hints) bool { return true }},
			tools: everything},
		{name: "some are kept out", opts: &toolset.SetOptions{Keep: func(d *registry.Definition, _ registry.Hints) bool { return d.Origin.Server == "notes" }},
			tools: "notes__create notes__delete"},
		{name: "results are kept", registry: registry.Options{Results: &result.Options{}},
			opts: &toolset.SetOptions{MaxTokens: 1, Always: none}, tools: "call_tool describe_tool read_result search_tools", deferred: everything},
		{name: "denied ones do not count", registry: registry.Options{Approver: mustPolicy(t, approval.Allow, policy.Rule{Server: "github"}, policy.Rule{Tool: "notes__delete"})},
			tools: "clock notes__create weather__forecast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := searching(t, c.registry).Toolset(t.Context(), c.opts)
			assert.Equal(t, toolNames(set.Tools), c.tools, "tools")
			assert.Equal(t, toolNames(set.Deferred), c.deferred, "deferred")
			assert.Equal(t, set.Searching, c.deferred != "", "searching")
			tokens := 0
			for _, tool := range set.Tools {
				tokens += toolset.EstimateTokens(tool.Definition())
			}
			assert.Equal(t, set.Tokens, tokens, "tokens")
			if !set.Searching {
				assert.Equal(t, set.All, tokens, "tokens of all")
			}
		})
	}
}

// Providers take so many tools and no more, however small they are.
func TestToolsetMaxTools(t *testing.T) {
	r := newBelt(t, nil, new(toolset.Options))
	tools := numbered("s", 129, "t%d", "")
	for _, c := range []struct {
		tools, max, tokens int
		searching          bool
	}{
		{128, 0, 0, false}, {129, 0, 0, true}, {129, 129, 0, false}, {129, -1, 0, false}, {129, 0, -1, true}, {2, 1, -1, true}, {1, 1, 1, true},
	} {
		mustReplace(t, r, "s", tools[:c.tools]...)
		assert.Equal(t, r.Toolset(t.Context(), &toolset.SetOptions{MaxTools: c.max, MaxTokens: c.tokens}).Searching, c.searching, "%+v: searching", c)
	}
}

// Without a Finder a model is told of all tools, however many.
func TestToolsetWithoutSearch(t *testing.T) {
	r := registry.New(nil)
	set := toolset.Of(t.Context(), r, nil)
	assert.Equal(t, fmt.Sprint(set.Searching, set.Tools, set.All), "false [] 0", "of nothing")
	assert.OK(t, r.Add(native("a"), native("b")))
	set = toolset.Of(t.Context(), r, always)
	assert.Equal(t, toolNames(set.Tools), "a b")
	assert.False(t, set.Searching, "searching")
	assert.Equal(t, set.Tokens, set.All, "tokens")
	assert.True(t, set.All > 0, "tokens are counted")
	searched := toolset.Of(t.Context(), r, &toolset.SetOptions{ProviderSearch: true, MaxTokens: 1, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Name == "a" }})
	assert.Equal(t, fmt.Sprint(searched.Searching, " ", toolNames(searched.Tools), ", then ", toolNames(searched.Deferred)), "true a, then b", "the provider searches")
}

// The model learns from search_tools which servers have what it does not see.
func TestToolsetNamesServers(t *testing.T) {
	r := searching(t, registry.Options{})
	describe := func(o *toolset.SetOptions) string {
		t.Helper()
		return shownIn(t, r, o, "search_tools").Definition().Description
	}
	assert.Contains(t, describe(always), " Servers: github, notes, weather.")
	assert.Contains(t, describe(&toolset.SetOptions{MaxTokens: 1, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Origin.Server == "notes" }}), " Servers: native, github, weather.")
	// A tool may have a name that does not begin with its server's.
	renamed := assert.Value(registry.With(serverTool("zoo", "feed", ""), func(d *registry.Definition) { d.Name = "a_zoo" }))(t)
	mustReplace(t, r, "zoo", renamed, assert.Value(registry.With(serverTool("zoo", "clean", ""), func(d *registry.Definition) { d.Name = "o_zoo" }))(t))
	assert.Contains(t, describe(always), " Servers: github, notes, weather, zoo.")
	// The definition stays the same one, so that a prompt can be cached.
	one, two := r.Toolset(t.Context(), always), r.Toolset(t.Context(), always)
	assert.True(t, slices.EqualFunc(one.Tools, two.Tools, func(a, b registry.Tool) bool { return a.Definition() == b.Definition() }), "the same definitions")
	for i := range 200 {
		server := fmt.Sprintf("server-%03d-with-a-long-name", i)
		mustReplace(t, r, server, serverTool(server, "x", ""))
	}
	assert.Between(t, len(describe(always)), 0, 1500, "bytes")
	assert.Contains(t, describe(always), " more.")
}

// What is denied to the one is neither shown nor told to the one, and is to the other.
func TestToolsetOfAUser(t *testing.T) {
	r := searching(t, registry.Options{Approver: mustPolicy(t, approval.Allow, policy.Rule{Server: "github", User: "eve"})})
	for user, want := range map[string]bool{"eve": false, "ada": true} {
		set := r.Toolset(onbehalf.With(t.Context(), user), always)
		texts := toolNames(set.Deferred)
		for _, tool := range set.Tools {
			texts += tool.Definition().Description
		}
		assert.Equal(t, strings.Contains(texts, "github"), want, "%s is told of github", user)
	}
}

func TestToolsetsWhileToolsChange(t *testing.T) {
	r := searching(t, registry.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				assert.Equal(t, len(r.Toolset(t.Context(), always).Tools), 4, "tools")
			}
		})
	}
	for i := range 100 {
		mustReplace(t, r, "weather", serverTool("weather", fmt.Sprint("forecast", i), "Tell the weather."))
	}
	wg.Wait()
}
