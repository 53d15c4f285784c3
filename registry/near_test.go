package registry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

func suggestions(t *testing.T, r *registry.Registry, name string) *registry.UnknownToolError {
	t.Helper()
	_, err := r.Call(t.Context(), name, nil)
	unknown := assert.As[*registry.UnknownToolError](t, err)
	assert.Equal(t, unknown.Name, name, "name")
	return unknown
}

func TestSuggestions(t *testing.T) {
	r := registry.New(&registry.Options{Names: names.Names{Exact: true}})
	for _, name := range []string{
		"add", "notes_create", "list_all_things", "a",
		"notes__create", "notes__delete", "github__create_issue", "github__close_issue", "git.hub-fetch", "x__",
		"page_1", "page_2", "page_3", "page_4", strings.Repeat("x", 256),
	} {
		mustAdd(t, r, native(name))
	}
	for name, want := range map[string][]string{
		"create":                 {"notes__create", "notes_create"},
		"create_issue":           {"github__create_issue"},
		"issue":                  {"github__close_issue", "github__create_issue"},
		"creat":                  {"notes__create"},
		"notes-create":           {"notes__create", "notes_create"},
		"Notes__Create":          {"notes__create", "notes_create"},
		"notes__crate":           {"notes__create", "notes_create"},
		"gh__create_issue":       {"github__create_issue"},
		"github__create_isues":   {"github__create_issue"},
		"math__add":              {"add"},
		"math_add":               {"add"},
		"ad":                     {"a", "add"},
		"ADD":                    {"add"},
		"git_hub_fetch":          {"git.hub-fetch"},
		"list_all_thing":         {"list_all_things"},
		"y__":                    nil,
		"page_5":                 {"page_1", "page_2", "page_3"},
		strings.Repeat("x", 255): {strings.Repeat("x", 256)},
		strings.Repeat("x", 257): nil, // longer than any name can be
		"weather":                nil,
		"":                       nil,
		"__":                     nil,
		"b":                      nil,
		strings.Repeat("x", 1e6): nil,
	} {
		wantList(t, suggestions(t, r, name).Suggestions, want, "%.40q, suggestions", name)
	}
}

// A name that ends in a hash is suggested to who does not know the hash.
func TestSuggestionsOfHashedNames(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "notion", remoteTools(t, "notion", "admin.users-list", "search", strings.Repeat("long_", 25))...)
	cleaned, _ := names.Names{}.Name("notion", "admin.users-list")
	cut, _ := names.Names{}.Name("notion", strings.Repeat("long_", 25))
	for name, want := range map[string]string{
		"admin_user_list": cleaned, "notion__admin.user.list": cleaned, "users-list": cleaned, cleaned + "q": cleaned,
		"notion__" + strings.Repeat("long_", 24): cut,
	} {
		assert.Equal(t, only(t, suggestions(t, r, name).Suggestions), want, "%s, suggestions", name)
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
		wantList(t, suggestions(t, r, name).Suggestions, want, "%s", name)
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

func FuzzSuggestions(f *testing.F) {
	f.Add("create", "notes__create", "notes_create", "delete", "x")
	f.Add("", "a", "b", "c", "__")
	f.Add("ÄÖ__ü", "äö_ü", "\u0130", "İİİ", "i")
	f.Add("a\xffb", "ab", "a b", "a.b", "a/b")
	f.Add(strings.Repeat("a", 256), strings.Repeat("a", 255), strings.Repeat("İ", 128), "a", "aa")
	f.Fuzz(func(t *testing.T, name, a, b, c, d string) {
		r := registry.New(&registry.Options{Names: names.Names{Exact: true}})
		for _, have := range []string{a, b, c, d} {
			tool := native("x")
			tool.def.Name = have
			_ = r.Add(tool) // names that cannot be listed are refused
		}
		if _, listed := r.Snapshot().Lookup(name); listed {
			t.Skip()
		}
		unknown := suggestions(t, r, name)
		got := unknown.Suggestions
		wantBetween(t, len(got), 0, 3, "suggestions")
		for i, s := range got {
			_, listed := r.Snapshot().Lookup(s)
			assert.True(t, listed && !slices.Contains(got[:i], s), "%q of %q is listed and comes once", s, got)
		}
		wantList(t, got, suggestions(t, r, name).Suggestions, "suggestions")
		assert.False(t, strings.ContainsAny(unknown.Error(), "\n\r"), "%q has several lines", unknown)
	})
}
