package profile_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// many returns a registry with n tools, and its Finder.
func many(t *testing.T, n int) (*registry.Registry, *toolset.Finder) {
	t.Helper()
	r := registry.New(nil)
	f := assert.Value(toolset.New(r, nil))(t)
	return filled(t, r, n), f
}

func filled(t *testing.T, r *registry.Registry, n int) *registry.Registry {
	t.Helper()
	for i := range n {
		assert.OK(t, r.Add(nativeTool(fmt.Sprintf("tool_%d", i), says("ok"))))
	}
	return r
}

func TestTurnProviderSearch(t *testing.T) {
	r, finder := many(t, 200)
	never := func(*registry.Definition, registry.Hints) bool { return false }
	for _, c := range []struct {
		provider        profile.Provider
		search          bool
		tools, deferred int
	}{
		{profile.Anthropic, false, 3, 0}, {profile.Anthropic, true, 200, 200}, {profile.OpenAI, true, 200, 200},
		{profile.OpenAIStrict, true, 200, 200},
		{profile.Gemini, true, 3, 0}, // it knows no deferred tools
	} {
		turn := assert.Value(profile.NewTurn(t.Context(), r, c.provider, &profile.TurnOptions{
			Finder: finder, ProviderSearch: c.search, Toolset: &toolset.SetOptions{Always: never},
		}))(t)
		deferred := 0
		for _, tool := range turn.Set().Tools() {
			if tool.Deferred {
				deferred++
			}
		}
		assert.Equal(t, len(turn.Set().Tools()), c.tools, "%s, provider search %v: tools", c.provider, c.search)
		assert.Equal(t, deferred, c.deferred, "%s, provider search %v: deferred tools", c.provider, c.search)
		assert.Equal(t, turn.Set().Searching(), deferred > 0, "%s, provider search %v: Searching", c.provider, c.search)
	}
}

// TestTurnProviderSearchAlone has no Finder.
func TestTurnProviderSearchAlone(t *testing.T) {
	r := filled(t, registry.New(nil), 200)
	opts := &profile.TurnOptions{ProviderSearch: true, Toolset: &toolset.SetOptions{
		Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Name == "tool_7" },
	}}
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.OpenAI, opts))(t)
	assert.True(t, turn.Set().Searching(), "Searching")
	assert.Equal(t, len(turn.Set().Tools()), 200, "tools")
	var names []string
	for _, tool := range turn.Set().Tools() {
		names = append(names, tool.Name)
		assert.Equal(t, tool.Deferred, tool.Name != "tool_7", "%s is deferred", tool.Name)
	}
	assert.True(t, slices.IsSorted(names), "the names are sorted: %q", names)
	assert.False(t, opts.Toolset.ProviderSearch, "the caller's options are changed")
	turn = assert.Value(profile.NewTurn(t.Context(), r, profile.Gemini, opts))(t)
	assert.False(t, turn.Set().Searching(), "Searching of a provider that cannot search")
	assert.Equal(t, len(turn.Set().Tools()), 200, "tools of a provider that cannot search")
}

// TestTurnTooManyTools has more tools than a request may have: the model searches if it can,
// or it is an error before anything is sent.
func TestTurnTooManyTools(t *testing.T) {
	all := func(*registry.Definition, registry.Hints) bool { return true }
	for _, c := range []struct {
		name     string
		provider profile.Provider
		n        int
		finder   bool
		opts     profile.TurnOptions
		want     string // of the error
		told     int
	}{
		{name: "as many as it takes", provider: profile.OpenAI, n: 128, told: 128},
		//report: Models | zed-industries/zed#32946, anomalyco/opencode#4909, keinsaasforever/better-chatbot#197, musistudio/claude-code-router#686 | OpenAI refuses a request with more than 128 tools, and so each message of the user | with a Finder the model searches; without one it is an error before the request, which says what to do
		{name: "one more", provider: profile.OpenAI, n: 129, want: "profile: openai takes 128 tools in one request, and there are 129: set TurnOptions.Finder"},
		{name: "one more, strict", provider: profile.OpenAIStrict, n: 129, want: "openai-strict takes 128 tools"},
		//report: Models | google-gemini/gemini-cli#19083, google-gemini/gemini-cli#25440 | Gemini refuses a request with more than 512 function declarations | the same with its own number
		{name: "Gemini", provider: profile.Gemini, n: 513, want: "gemini takes 512 tools in one request, and there are 513"},
		{name: "Gemini takes more", provider: profile.Gemini, n: 512, told: 512},
		{name: "Anthropic takes any number", provider: profile.Anthropic, n: 513, told: 513},
		{name: "a Finder", provider: profile.OpenAI, n: 129, finder: true, told: 3},
		{name: "a Finder, and native tools", provider: profile.OpenAI, n: 129, finder: true, opts: profile.TurnOptions{Toolset: &toolset.SetOptions{MaxTokens: 1}}, told: 3},
		{name: "Always has too many", provider: profile.OpenAI, n: 129, finder: true, opts: profile.TurnOptions{Toolset: &toolset.SetOptions{Always: all}}, want: "there are 129"},
		{name: "the provider searches, but is told not to", provider: profile.OpenAI, n: 129, opts: profile.TurnOptions{ProviderSearch: true, Toolset: &toolset.SetOptions{MaxTokens: -1, MaxTools: -1}}, told: 129},
		{name: "some are deferred", provider: profile.OpenAI, n: 129, opts: profile.TurnOptions{Options: profile.Options{
			Deferred: func(d *registry.Definition) bool { return d.Name == "tool_7" },
		}}, told: 129},
		{name: "some are left out", provider: profile.OpenAI, n: 129, opts: profile.TurnOptions{Keep: func(d *registry.Definition) bool { return d.Name != "tool_7" }}, told: 128},
		//report: Models | microsoft/vscode-copilot-release#13065 | a client has 128 as a fixed number, also for servers that take more | MaxTools of the toolset, negative or larger, says that the server takes them
		{name: "the server takes more", provider: profile.OpenAI, n: 129, opts: profile.TurnOptions{Toolset: &toolset.SetOptions{MaxTools: -1}}, told: 129},
		{name: "the server takes fewer", provider: profile.OpenAI, n: 129, opts: profile.TurnOptions{Toolset: &toolset.SetOptions{MaxTools: 5}}, want: "there are 129"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, finder := many(t, c.n)
			never := func(*registry.Definition, registry.Hints) bool { return false }
			if c.finder {
				c.opts.Finder = finder
			}
			if c.finder && c.opts.Toolset == nil {
				c.opts.Toolset = &toolset.SetOptions{}
			}
			if c.opts.Toolset != nil && c.opts.Toolset.Always == nil && c.opts.Toolset.MaxTokens == 0 {
				c.opts.Toolset.Always = never
			}
			turn, err := profile.NewTurn(t.Context(), r, c.provider, &c.opts)
			if c.want != "" {
				assert.Contains(t, fmt.Sprint(err), c.want)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, len(turn.Set().Tools()), c.told, "tools")
		})
	}
}

func TestTurnFewTools(t *testing.T) {
	r, finder := many(t, 3)
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.Anthropic, &profile.TurnOptions{Finder: finder, ProviderSearch: true}))(t)
	assert.Equal(t, len(turn.Set().Tools()), 3, "tools")
	assert.False(t, turn.Set().Searching(), "Searching")
}

func TestTurnKeep(t *testing.T) {
	r, _ := many(t, 3)
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.Ollama, &profile.TurnOptions{
		Keep: func(d *registry.Definition) bool { return d.Name == "tool_1" },
	}))(t)
	assert.Equal(t, len(turn.Set().Tools()), 1, "tools")
	assert.Equal(t, turn.Set().Tools()[0].Name, "tool_1", "the tool")
	// What a model may call is up to the registry, not to what it was told.
	assert.OK(t, turn.Call(t.Context(), profile.Call{Name: "tool_2"}).Err)
}

func TestTurnRefused(t *testing.T) {
	r, finder := many(t, 3)
	_, err := profile.NewTurn(t.Context(), registry.New(nil), profile.OpenAI, &profile.TurnOptions{Finder: finder})
	assert.Fails(t, err, "a Finder of another registry")
	_, err = profile.NewTurn(t.Context(), r, "unknown", nil)
	assert.Contains(t, err.Error(), `unknown provider "unknown"`)
	_, err = profile.NewTurn(context.Context(nil), r, profile.OpenAI, nil)
	assert.Contains(t, fmt.Sprint(err), "the context or the registry is nil")
}
