package profile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
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
		assert.OK(t, r.Add(nativeTool(fmt.Sprintf("tool_%d", i), func(context.Context) (*mcp.CallToolResult, error) { return says("ok"), nil })))
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
		{profile.Anthropic, false, 3, 0},
		{profile.Anthropic, true, 200, 200},
		{profile.OpenAI, true, 200, 200},
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
		if got := len(turn.Set().Tools()); got != c.tools || deferred != c.deferred || turn.Searching() != (deferred > 0) {
			t.Errorf("%s, provider search %v: %d tools, %d deferred, searching %v", c.provider, c.search, got, deferred, turn.Searching())
		}
	}
}

// TestTurnProviderSearchAlone has no Finder.
func TestTurnProviderSearchAlone(t *testing.T) {
	r := filled(t, registry.New(nil), 200)
	opts := &profile.TurnOptions{ProviderSearch: true, Toolset: &toolset.SetOptions{
		Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Name == "tool_7" },
	}}
	turn, err := profile.NewTurn(t.Context(), r, profile.OpenAI, opts)
	if err != nil || !turn.Searching() || len(turn.Set().Tools()) != 200 {
		t.Fatalf("%v, searching %v, %d tools", err, turn.Searching(), len(turn.Set().Tools()))
	}
	var names []string
	for _, tool := range turn.Set().Tools() {
		names = append(names, tool.Name)
		if tool.Deferred == (tool.Name == "tool_7") {
			t.Errorf("%s is deferred: %v", tool.Name, tool.Deferred)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the order is %q", names)
	}
	if opts.Toolset.ProviderSearch {
		t.Error("the caller's options have changed")
	}
	turn, err = profile.NewTurn(t.Context(), r, profile.Gemini, opts)
	if err != nil || turn.Searching() || len(turn.Set().Tools()) != 200 {
		t.Errorf("a provider that cannot search: %v, %d tools", err, len(turn.Set().Tools()))
	}
}

func TestTurnFewTools(t *testing.T) {
	r, finder := many(t, 3)
	turn, err := profile.NewTurn(t.Context(), r, profile.Anthropic, &profile.TurnOptions{Finder: finder, ProviderSearch: true})
	if err != nil || len(turn.Set().Tools()) != 3 || turn.Searching() {
		t.Errorf("%d tools, %v", len(turn.Set().Tools()), err)
	}
}

func TestTurnKeep(t *testing.T) {
	r, _ := many(t, 3)
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.Ollama, &profile.TurnOptions{
		Keep: func(d *registry.Definition) bool { return d.Name == "tool_1" },
	}))(t)
	if tools := turn.Set().Tools(); len(tools) != 1 || tools[0].Name != "tool_1" {
		t.Errorf("the model is told of %d tools", len(tools))
	}
	// What a model may call is up to the registry, not to what it was told.
	if a := turn.Call(t.Context(), profile.Call{Name: "tool_2"}); a.Err != nil {
		t.Error(a.Err)
	}
}

// A Finder knows the tools of its registry alone.
func TestTurnFinderOfAnotherRegistry(t *testing.T) {
	_, finder := many(t, 3)
	if _, err := profile.NewTurn(t.Context(), registry.New(nil), profile.OpenAI, &profile.TurnOptions{Finder: finder}); err == nil {
		t.Error("got no error, want one")
	}
}

func TestTurnUnknownProvider(t *testing.T) {
	_, err := profile.NewTurn(t.Context(), registry.New(nil), "somebody", nil)
	var unknown *profile.UnknownProviderError
	if !errors.As(err, &unknown) || unknown.Provider != "somebody" {
		t.Errorf("NewTurn returned %v", err)
	}
}
