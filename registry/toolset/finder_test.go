package toolset_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A registry has one Finder, and none whose tools would take the names of others.
func TestNewFails(t *testing.T) {
	if _, err := toolset.New(nil, nil); err == nil {
		t.Error("got no error for a nil registry")
	}
	r := registry.New(nil)
	assert.OK(t, r.Add(native("search_tools")))
	_, err := toolset.New(r, nil)
	var taken *registry.DuplicateError
	if !errors.As(err, &taken) || taken.Name != "search_tools" {
		t.Errorf("got %v, want a *registry.DuplicateError for search_tools", err)
	}
	if _, ok := r.Snapshot().Lookup("call_tool"); ok {
		t.Error("got call_tool without the others, want none of them")
	}
	b := newBelt(t, nil, nil)
	if _, err := toolset.New(b.Registry, nil); !errors.As(err, &taken) {
		t.Errorf("got %v for a second Finder, want a *registry.DuplicateError", err)
	}
	if _, err := toolset.New(b.Registry, &toolset.Options{NoTools: true}); err != nil {
		t.Errorf("a second Finder without tools: got %v, want none", err)
	}
	assert.Equal(t, b.Finder.Registry(), b.Registry, "registry")
}

// The zero Finder, and none, say how one is made.
func TestZeroFinder(t *testing.T) {
	const want = "toolset: there is no Finder, or it is the zero one: make it with New"
	for _, f := range []*toolset.Finder{nil, {}} {
		if _, err := f.Search(t.Context(), toolset.Query{Text: "x"}); err == nil || err.Error() != want {
			t.Errorf("Search: got %v, want %s", err, want)
		}
		for name, call := range map[string]func(){
			"Toolset":  func() { f.Toolset(t.Context(), nil) },
			"Registry": func() { f.Registry() },
		} {
			func() {
				defer func() {
					assert.Equal(t, fmt.Sprint(recover()), want, "%s: the panic", name)
				}()
				call()
			}()
		}
	}
}

// Only native tools can be hidden.
func TestHiddenToolsAreNative(t *testing.T) {
	var wrong *registry.DefinitionError
	if err := registry.New(nil).AddHidden(serverTool("s", "x", "")); !errors.As(err, &wrong) || wrong.Field != "Origin.Server" {
		t.Errorf("got %v, want a *registry.DefinitionError of Origin.Server", err)
	}
}
