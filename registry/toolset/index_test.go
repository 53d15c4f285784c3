package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A fading context ends after it was asked so many times whether it has.
type fading struct {
	context.Context
	left int
}

func (c *fading) Err() error {
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
			matches, err := r.Search(&fading{t.Context(), 20}, toolset.Query{Text: text})
			if err == nil {
				if attempt < 3 || len(matches) == 0 || matches[0].Tool.Definition().Name != want {
					t.Errorf("search %d for %q finds %v, want %s", attempt, text, matches, want)
				}
				return
			}
			if !errors.Is(err, context.DeadlineExceeded) || len(matches) > 0 {
				t.Fatalf("%v, %v", matches, err)
			}
			if attempt == 20 {
				t.Fatal("no search comes to an end")
			}
		}
	}
	replace(100)
	search("word99", "s__tool99")
	replace(50) // all of them changed, and as many are gone
	search("word49", "s__tool49")
	if got := found(t, r, toolset.Query{Text: "word99"}); len(got) > 0 && got[0] == "s__tool99" {
		t.Errorf("a tool that is gone is found: %q", got)
	}
}

// Of the tools of a large server less is read, so that no server fills the index.
func TestSearchReadsLessOfLargeServers(t *testing.T) {
	r := newBelt(t, nil, nil)
	tools := make([]registry.Tool, 400)
	for i := range tools {
		tools[i] = serverTool("s", fmt.Sprintf("tool%d", i), "early "+strings.Repeat("so ", 600)+"late")
	}
	wantFirst := func(query string, want bool) {
		t.Helper()
		assert.Equal(t, len(found(t, r, toolset.Query{Text: query})) > 0, want)
	}
	for _, c := range []struct {
		tools int
		late  bool
	}{{400, false}, {350, false}, {200, true}, {300, false}} {
		mustReplace(t, r, "s", tools[:c.tools]...)
		wantFirst("early", true)
		wantFirst("late", c.late)
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
