// Tests of matcher.go: names that are near to what was asked for.

package registry_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

func suggestions(t *testing.T, r *registry.Registry, name string) *registry.UnknownToolError {
	t.Helper()
	unknown := assert.As[*registry.UnknownToolError](t, assert.Err(r.Call(t.Context(), name, nil)))
	assert.Equal(t, unknown.Name, name, "name")
	return unknown
}

// A name that ends in a hash is suggested to who does not know the hash.
func TestSuggestionsOfHashedNames(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "notion", remoteTools(t, "notion", "admin.users-list", "search", strings.Repeat("long_", 25))...)
	cleaned := names.ServerTool.Name("notion", "admin.users-list")
	cut := names.ServerTool.Name("notion", strings.Repeat("long_", 25))
	for name, want := range map[string]string{
		"admin_user_list": cleaned, "notion__admin.user.list": cleaned, "users-list": cleaned, cleaned + "q": cleaned,
		"notion__" + strings.Repeat("long_", 24): cut,
	} {
		assert.Equal(t, assert.Only(t, suggestions(t, r, name).Suggestions), want, "%s, suggestions", name)
	}
}

// A name of a server that is there is no misspelling of another one, whose tool may do
// something else.
func TestSuggestionsStayAtTheServer(t *testing.T) {
	r := newRegistry(t, native("now"))
	mustReplace(t, r, "files", serverTool("files", "list", ""), serverTool("files", "read_note", ""))
	mustReplace(t, r, "notes", serverTool("notes", "create", ""), serverTool("notes", "search", ""))
	for name, want := range map[string][]string{
		"notes__list":      nil,
		"notes__read_note": nil,
		"Notes.list":       nil,
		"notes__serch":     {"notes__search"},
		"notes__now":       {"now"},
		"note__serch":      {"notes__search"}, // no server of that name
		"fils__lst":        {"files__list"},
		"lst":              {"files__list"},
	} {
		assert.List(t, suggestions(t, r, name).Suggestions, want, "%s", name)
	}
}

func TestUnknownToolErrorText(t *testing.T) {
	for _, test := range []struct {
		err  registry.UnknownToolError
		want string
	}{
		{registry.UnknownToolError{Name: "x"}, `unknown tool "x"`},
		{registry.UnknownToolError{Name: "x", Suggestions: []string{"y"}}, `unknown tool "x"; did you mean "y"?`},
		{registry.UnknownToolError{Name: "x", Suggestions: []string{"y", "z"}}, `unknown tool "x"; did you mean "y" or "z"?`},
		{registry.UnknownToolError{Name: "x", Suggestions: []string{"y", "z", "w"}}, `unknown tool "x"; did you mean "y", "z" or "w"?`},
		{registry.UnknownToolError{Name: "a\nb"}, `unknown tool "a\nb"`},
		{registry.UnknownToolError{Name: "x" + strings.Repeat("ä", 500)}, `unknown tool "x` + strings.Repeat("ä", 98) + `…"`},
	} {
		assert.Equal(t, test.err.Error(), test.want, "text")
	}
}
