// Tests of index.go and finder.go.

package toolset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// An expiringContext ends after it was asked so many times whether it has.
type expiringContext struct {
	context.Context
	left int
}

func (c *expiringContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A search ends with its context, also while the catalogue is read for it, and what
// was read until then counts for the next one.
func TestSearchReadsAsLongAsItsContext(t *testing.T) {
	r := newBelt(t, nil, nil)
	replace := func(tools int) {
		t.Helper()
		var all []registry.Tool
		for i := range tools {
			all = append(all, serverTool("s", fmt.Sprintf("tool%d", i), fmt.Sprintf("Has word%d of %d.", i, tools)))
		}
		mustReplace(t, r, "s", all...)
	}
	search := func(text, want string) {
		t.Helper()
		for attempt := 1; ; attempt++ {
			matches, err := r.Search(&expiringContext{t.Context(), 20}, toolset.Query{Text: text})
			if err == nil {
				assert.Between(t, attempt, 3, 20, "searches until one comes to an end")
				assert.Equal(t, matches[0].Tool.Definition().Name, want, "%q finds first", text)
				return
			}
			assert.Is(t, err, context.DeadlineExceeded)
			assert.Equal(t, len(matches), 0, "matches")
		}
	}
	replace(100)
	search("word99", "s__tool99")
	replace(50) // all of them changed, and as many are gone
	search("word49", "s__tool49")
	assert.False(t, slices.Contains(found(t, r, toolset.Query{Text: "word99"}), "s__tool99"), "a tool that is gone is found")
}

// Of the tools of a large server less is read, so that no server fills the index.
func TestSearchReadsLessOfLargeServers(t *testing.T) {
	r := newBelt(t, nil, nil)
	tools := numbered("s", 300, "tool%d", "early "+strings.Repeat("so ", 600)+"late")
	for _, c := range []struct {
		tools int
		late  bool
	}{{300, false}, {200, true}, {260, false}} {
		mustReplace(t, r, "s", tools[:c.tools]...)
		assert.True(t, len(found(t, r, toolset.Query{Text: "early"})) > 0, "%d tools are found", c.tools)
		assert.Equal(t, len(found(t, r, toolset.Query{Text: "late"})) > 0, c.late, "%d tools are found by their last word", c.tools)
	}
	mustReplace(t, r, "other", serverTool("other", "x", strings.Repeat("so ", 600)+"afar"))
	wantFound(t, r, "afar", "other__x")
}

// A tool is found by the name that its owner gave it, and by its own.
func TestSearchFindsRenamedTools(t *testing.T) {
	r := newBelt(t, nil, nil)
	tool := assert.Value(registry.With(serverTool("acme", "op17", ""), func(d *registry.Definition) { d.Name = "billing_refund" }))(t)
	mustReplace(t, r, "acme", tool, serverTool("acme", "op18", ""))
	for _, query := range []string{"refund", "billingRefund", "op17"} {
		wantFound(t, r, query, "billing_refund")
	}
}

// A registry has one Finder, and none whose tools would take the names of others.
func TestNewFails(t *testing.T) {
	assert.Fails(t, assert.Err(toolset.New(nil, nil)), "a nil registry")
	r := registry.New(nil)
	assert.OK(t, r.Add(native("search_tools")))
	assert.Equal(t, assert.As[*registry.DuplicateError](t, assert.Err(toolset.New(r, nil))).Name, "search_tools", "the name that is taken")
	_, ok := r.Snapshot().Lookup("call_tool")
	assert.False(t, ok, "call_tool is listed without the others")
	b := newBelt(t, nil, nil)
	assert.As[*registry.DuplicateError](t, assert.Err(toolset.New(b.Registry, nil)), "a second Finder")
	assert.Value(toolset.New(b.Registry, &toolset.Options{NoTools: true}))(t)
	assert.Equal(t, b.Finder.Registry(), b.Registry, "registry")
}

// The zero Finder, and none, say how one is made.
func TestZeroFinder(t *testing.T) {
	const want = "toolset: there is no Finder, or it is the zero one: make it with New"
	for _, f := range []*toolset.Finder{nil, {}} {
		assert.Equal(t, fmt.Sprint(assert.Err(f.Search(t.Context(), toolset.Query{Text: "x"}))), want, "Search")
		for name, call := range map[string]func(){
			"Toolset":  func() { f.Toolset(t.Context(), nil) },
			"Registry": func() { f.Registry() },
		} {
			t.Run(name, func(t *testing.T) {
				defer func() { assert.Equal(t, fmt.Sprint(recover()), want, "the panic") }()
				call()
			})
		}
	}
}

// Only native tools can be hidden.
func TestHiddenToolsAreNative(t *testing.T) {
	assert.Equal(t, assert.As[*registry.DefinitionError](t, registry.New(nil).AddHidden(serverTool("s", "x", ""))).Field, "Origin.Server", "field")
}
