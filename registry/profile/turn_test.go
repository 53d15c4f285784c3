package profile_test

import (
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
		assert.Equal(t, turn.Searching(), deferred > 0, "%s, provider search %v: Searching", c.provider, c.search)
	}
}

// TestTurnProviderSearchAlone has no Finder.
func TestTurnProviderSearchAlone(t *testing.T) {
	r := filled(t, registry.New(nil), 200)
	opts := &profile.TurnOptions{ProviderSearch: true, Toolset: &toolset.SetOptions{
		Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Name == "tool_7" },
	}}
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.OpenAI, opts))(t)
	assert.True(t, turn.Searching(), "Searching")
	assert.Equal(t, len(turn.Set().Tools()), 200, "tools")
	var names []string
	for _, tool := range turn.Set().Tools() {
		names = append(names, tool.Name)
		assert.Equal(t, tool.Deferred, tool.Name != "tool_7", "%s is deferred", tool.Name)
	}
	assert.True(t, slices.IsSorted(names), "the names are sorted: %q", names)
	assert.False(t, opts.Toolset.ProviderSearch, "the caller's options are changed")
	turn = assert.Value(profile.NewTurn(t.Context(), r, profile.Gemini, opts))(t)
	assert.False(t, turn.Searching(), "Searching of a provider that cannot search")
	assert.Equal(t, len(turn.Set().Tools()), 200, "tools of a provider that cannot search")
}

func TestTurnFewTools(t *testing.T) {
	r, finder := many(t, 3)
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.Anthropic, &profile.TurnOptions{Finder: finder, ProviderSearch: true}))(t)
	assert.Equal(t, len(turn.Set().Tools()), 3, "tools")
	assert.False(t, turn.Searching(), "Searching")
}

func TestTurnKeep(t *testing.T) {
	r, _ := many(t, 3)
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.Ollama, &profile.TurnOptions{
		Keep: func(d *registry.Definition) bool { return d.Name == "tool_1" },
	}))(t)
	tools := turn.Set().Tools()
	assert.Equal(t, len(tools), 1, "tools")
	assert.Equal(t, tools[0].Name, "tool_1", "the tool")
	// What a model may call is up to the registry, not to what it was told.
	assert.OK(t, turn.Call(t.Context(), profile.Call{Name: "tool_2"}).Err)
}

func TestTurnRefused(t *testing.T) {
	_, finder := many(t, 3)
	_, err := profile.NewTurn(t.Context(), registry.New(nil), profile.OpenAI, &profile.TurnOptions{Finder: finder})
	assert.Fails(t, err, "a Finder of another registry")
	_, err = profile.NewTurn(t.Context(), registry.New(nil), "unknown", nil)
	assert.Contains(t, assert.As[*profile.UnknownProviderError](t, err).Error(), `"unknown"`)
}
