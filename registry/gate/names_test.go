package gate

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"a": "[]", "": "[block invalid_name]", "\xff": "[block invalid_name]", "a b": "[note invalid_name]", "a\u00e4": "[warn invalid_name]",
	} {
		assert.Equal(t, fmt.Sprint(tokens(Check(gated(name, "", anyObject)))), want, "%q", name)
	}
	assert.Equal(t, len(Check(nil)), 0, "findings of no tool")
}

func TestLookalikes(t *testing.T) {
	first, other := gated("list", "", anyObject), gated("1ist", "", anyObject)
	found := Lookalikes([]*ledger.Tool{first, nil, other, gated("last", "", anyObject), first})
	assert.Equal(t, len(found), 1, "tools that look like another")
	assert.Equal(t, found[other].String(), `warn confusable_name at /name: it looks like the tool "list" (1ist)`)
}

// A word that is written larger than the tool's name is a name of it.
func TestReferences(t *testing.T) {
	other := func(word string) (string, bool) { return "git", word == "push_branch" }
	tool := gated("a", "Call PUSH_BRANCH of it first, then push_branch.", anyObject)
	assert.Equal(t, fmt.Sprint(tokens(References("s", tool, other))), "[warn cross_server_reference]")
	assert.Equal(t, len(References("s", tool, nil))+len(References("s", nil, other)), 0, "without servers, without a tool")
}
