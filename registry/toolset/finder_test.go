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
	assert.Fails(t, errorOf(toolset.New(nil, nil)), "a nil registry")
	r := registry.New(nil)
	assert.OK(t, r.Add(native("search_tools")))
	_, err := toolset.New(r, nil)
	taken := assert.As[*registry.DuplicateError](t, err)
	assert.Equal(t, taken.Name, "search_tools", "name")
	_, ok := r.Snapshot().Lookup("call_tool")
	assert.Equal(t, ok, false, "call_tool is listed without the others")
	b := newBelt(t, nil, nil)
	if _, err := toolset.New(b.Registry, nil); !errors.As(err, &taken) {
		t.Errorf("got %v for a second Finder, want a *registry.DuplicateError", err)
	}
	assert.Value(toolset.New(b.Registry, &toolset.Options{NoTools: true}))(t)
	assert.Equal(t, b.Finder.Registry(), b.Registry, "registry")
}

// The zero Finder, and none, say how one is made.
func TestZeroFinder(t *testing.T) {
	const want = "toolset: there is no Finder, or it is the zero one: make it with New"
	for _, f := range []*toolset.Finder{nil, {}} {
		assert.Equal(t, fmt.Sprint(errorOf(f.Search(t.Context(), toolset.Query{Text: "x"}))), want, "Search")
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
	assert.Equal(t, assert.As[*registry.DefinitionError](t, registry.New(nil).AddHidden(serverTool("s", "x", ""))).Field, "Origin.Server", "field")
}
