package toolset_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	ten := func(string) int { return 10 }
	for _, c := range []struct {
		name            string
		registry        registry.Options
		opts            *toolset.SetOptions
		tools, deferred string
		tokens, all     int
	}{
		{name: "all that fit", tools: everything, tokens: 60, all: 60},
		{name: "the provider searches", opts: &toolset.SetOptions{Share: -1, ProviderSearch: true}, tools: "clock", deferred: others, tokens: 10, all: 60},
		{name: "the provider need not search", opts: &toolset.SetOptions{ProviderSearch: true}, tools: everything, tokens: 60, all: 60},
		{name: "just fit", opts: &toolset.SetOptions{ContextWindow: 1200}, tools: everything, tokens: 60, all: 60},
		{name: "just do not", opts: &toolset.SetOptions{ContextWindow: 1199}, tools: withFinders, deferred: others, tokens: 40, all: 60},
		{name: "a share", opts: &toolset.SetOptions{ContextWindow: 100, Share: 0.6}, tools: everything, tokens: 60, all: 60},
		{name: "a smaller share", opts: &toolset.SetOptions{ContextWindow: 100, Share: 0.59}, tools: withFinders, deferred: others, tokens: 40, all: 60},
		{name: "never", opts: &toolset.SetOptions{ContextWindow: 1, Share: 1}, tools: everything, tokens: 60, all: 60},
		{name: "always", opts: always, tools: withFinders, deferred: others, tokens: 40, all: 60},
		{name: "some are always there", opts: &toolset.SetOptions{Share: -1, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Origin.Server == "notes" }},
			tools: "call_tool describe_tool notes__create notes__delete search_tools", deferred: "clock github__archive github__create_issue weather__forecast", tokens: 50, all: 60},
		{name: "none are", opts: &toolset.SetOptions{Share: -1, Always: none}, tools: finders, deferred: everything, tokens: 30, all: 60},
		{name: "all are, so there is nothing to be found", opts: &toolset.SetOptions{Share: -1, Always: func(*registry.Definition, registry.Hints) bool { return true }},
			tools: everything, tokens: 60, all: 60},
		{name: "results are kept", registry: registry.Options{Results: &result.Options{}},
			opts: &toolset.SetOptions{Share: -1, Always: none}, tools: "call_tool describe_tool read_result search_tools", deferred: everything, tokens: 40, all: 70},
		{name: "denied ones do not count", registry: registry.Options{Approver: mustPolicy(t, approval.Allow, policy.Rule{Server: "github"}, policy.Rule{Tool: "notes__delete"})},
			tools: "clock notes__create weather__forecast", tokens: 30, all: 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := searchingWith(t, c.registry, &toolset.Options{Tokens: ten}).Toolset(t.Context(), c.opts)
			assert.Equal(t, toolNames(set.Tools), c.tools, "tools")
			assert.Equal(t, toolNames(set.Deferred), c.deferred, "deferred")
			assert.Equal(t, set.Searching, c.deferred != "", "searching")
			assert.Equal(t, fmt.Sprint(set.Tokens, set.All), fmt.Sprint(c.tokens, c.all), "tokens, and of all")
		})
	}
}

func TestToolsetLimit(t *testing.T) {
	assert.Equal(t, newBelt(t, nil, nil).Toolset(t.Context(), &toolset.SetOptions{ContextWindow: math.MaxInt, Share: 1}).Limit, math.MaxInt, "the limit of an endless window")
	r := newBelt(t, nil, nil)
	for _, c := range []struct {
		opts *toolset.SetOptions
		want int
	}{
		{nil, 10_000},
		{&toolset.SetOptions{ContextWindow: -1}, 10_000},
		{&toolset.SetOptions{ContextWindow: 1_000_000}, 50_000},
		{&toolset.SetOptions{Share: 0.5}, 100_000},
		{&toolset.SetOptions{Share: 7}, 200_000},
		{&toolset.SetOptions{Share: -0.1}, 0},
		{&toolset.SetOptions{Share: math.NaN()}, 10_000},
	} {
		assert.Equal(t, r.Toolset(t.Context(), c.opts).Limit, c.want, "%+v", c.opts)
	}
}

// Providers take so many tools and no more, however small they are.
func TestToolsetMaxTools(t *testing.T) {
	r := newBelt(t, nil, new(toolset.Options))
	tools := numbered("s", 129, "t%d", "")
	for _, c := range []struct {
		tools, max int
		share      float64
		searching  bool
	}{
		{128, 0, 0, false}, {129, 0, 0, true}, {129, 129, 0, false}, {129, -1, 0, false}, {129, 0, 1, false}, {2, 1, 0.9, true}, {1, 1, -1, true},
	} {
		mustReplace(t, r, "s", tools[:c.tools]...)
		set := r.Toolset(t.Context(), &toolset.SetOptions{MaxTools: c.max, Share: c.share})
		assert.Equal(t, set.Searching, c.searching, "%+v: searching", c)
	}
}

// Without a Finder a model is told of all tools, however many.
func TestToolsetWithoutSearch(t *testing.T) {
	r := registry.New(nil)
	set := toolset.Of(t.Context(), r, nil)
	assert.Equal(t, fmt.Sprint(set.Searching, set.Tools, set.All, set.Servers), "false [] 0 []", "of nothing")
	assert.OK(t, r.Add(native("a"), native("b")))
	set = toolset.Of(t.Context(), r, always)
	assert.Equal(t, toolNames(set.Tools), "a b")
	assert.False(t, set.Searching, "searching")
	assert.Equal(t, set.Tokens, set.All, "tokens")
	assert.True(t, set.All > 0, "tokens are counted")
	searched := toolset.Of(t.Context(), r, &toolset.SetOptions{ProviderSearch: true, Share: -1, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Name == "a" }})
	assert.Equal(t, fmt.Sprint(searched.Searching, " ", toolNames(searched.Tools), ", then ", toolNames(searched.Deferred)), "true a, then b", "the provider searches")
}

func TestToolsetServers(t *testing.T) {
	r := searchingWith(t, registry.Options{}, &toolset.Options{Tokens: func(text string) int {
		if strings.Contains(text, "issue") {
			return 7
		}
		return 10
	}})
	assert.Equal(t, fmt.Sprint(r.Toolset(t.Context(), nil).Servers), "[{notes 2 20} {github 2 14} { 1 10} {weather 1 10}]")
}

// The model learns from search_tools which servers have what it does not see.
func TestToolsetNamesServers(t *testing.T) {
	r := searching(t, registry.Options{})
	describe := func(o *toolset.SetOptions) string {
		t.Helper()
		return shownIn(t, r, o, "search_tools").Definition().Description
	}
	assert.Contains(t, describe(always), " Servers: github, notes, weather.")
	assert.Contains(t, describe(&toolset.SetOptions{Share: -1, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Origin.Server == "notes" }}), " Servers: native, github, weather.")
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
	wantBetween(t, len(describe(always)), 0, 1500, "bytes")
	assert.Contains(t, describe(always), " more.")
}

// A definition is counted once, and again when it has changed.
func TestToolsetCountsOnce(t *testing.T) {
	var counted atomic.Int32
	r := searchingWith(t, registry.Options{}, &toolset.Options{Tokens: func(text string) int {
		counted.Add(1)
		return len(text)
	}})
	expect := func(what string, want int32) {
		t.Helper()
		counted.Store(0)
		r.Toolset(t.Context(), always)
		assert.Equal(t, counted.Load(), want, "%s: definitions were counted", what)
	}
	expect("at first", 6+3+1)
	expect("again", 0)
	mustReplace(t, r, "weather", serverTool("weather", "forecast", "Tell the weather of the next days."))
	expect("after a reconnect", 0)
	mustReplace(t, r, "weather", serverTool("weather", "forecast", "Tell the weather."))
	expect("after a change", 1)
	mustReplace(t, r, "maps", serverTool("maps", "route", "Find a way."), serverTool("maps", "a", ""))
	expect("after a new server", 2+1)
	r.Remove("clock")
	expect("after a removal", 0)
}

// Somebody else's function is called without a lock, and for no longer than the
// context lasts.
func TestToolsetOfASlowCounter(t *testing.T) {
	var r *belt
	ctx, cancel := context.WithCancel(t.Context())
	counted := 0
	r = searchingWith(t, registry.Options{}, &toolset.Options{Tokens: func(string) int {
		counted++
		mustReplace(t, r, "other", serverTool("other", "x", ""))
		cancel()
		return 1_000
	}})
	set := r.Toolset(ctx, nil)
	assert.Equal(t, counted, 1, "definitions that were counted")
	assert.Equal(t, len(set.Tools), 6, "tools")
	wantBetween(t, set.All, 1_001, 1_999, "tokens")
	// What was only estimated is counted by the next.
	assert.Equal(t, r.Toolset(t.Context(), nil).All, 7_000, "tokens")
}

// A counter that never has the time for all of them gets through them all the same.
func TestToolsetOfACounterWithoutTime(t *testing.T) {
	var cancel context.CancelFunc
	counted := 0
	r := newBelt(t, nil, &toolset.Options{Tokens: func(string) int {
		if counted++; counted%10 == 0 {
			cancel()
		}
		return 1
	}})
	for i := range 40 {
		mustAdd(t, r, native(fmt.Sprint("tool", i)))
	}
	const want = 40
	for attempt := range 6 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		set := r.Toolset(ctx, nil)
		cancel()
		assert.Equal(t, counted >= want, set.All == 40, "toolset %d: all tokens are those that were counted", attempt)
	}
	assert.Equal(t, counted, want, "were counted")
}

func TestToolsetOfAStrangeCounter(t *testing.T) {
	for want, tokens := range map[int]int{0: -5, 1 << 30: 1 << 40} {
		r := newBelt(t, nil, &toolset.Options{Tokens: func(string) int { return tokens }})
		mustAdd(t, r, native("a"))
		assert.Equal(t, r.Toolset(t.Context(), nil).All, want)
	}
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
				set := r.Toolset(t.Context(), always)
				all := 0
				for _, s := range set.Servers {
					all += s.Tokens
				}
				assert.Equal(t, all, set.All, "tokens of the servers")
				assert.Equal(t, len(set.Tools), 4, "tools")
			}
		})
	}
	for i := range 100 {
		mustReplace(t, r, "weather", serverTool("weather", fmt.Sprint("forecast", i), "Tell the weather."))
	}
	wg.Wait()
}
