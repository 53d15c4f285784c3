// Tests of matcher.go, from inside.

package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestSuggestions(t *testing.T) {
	r := New(nil)
	for _, name := range []string{
		"add", "notes_create", "list_all_things", "a",
		"notes__create", "notes__delete", "github__create_issue", "github__close_issue", "git.hub-fetch", "x__",
		"page_1", "page_2", "page_3", "page_4", strings.Repeat("x", 256),
	} {
		assert.OK(t, r.Add(definedTool{&Definition{Name: name, InputSchema: json.RawMessage(`{}`)}}))
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
		got := r.unknown(t.Context(), r.Snapshot(), name).Suggestions
		assert.Equal(t, strings.Join(got, " "), strings.Join(want, " "), "%.40q, suggestions", name)
	}
}

func FuzzSuggestions(f *testing.F) {
	f.Add("create", "notes__create", "notes_create", "delete", "x")
	f.Add("", "a", "b", "c", "__")
	f.Add("ÄÖ__ü", "äö_ü", "\u0130", "İİİ", "i")
	f.Add("a\xffb", "ab", "a b", "a.b", "a/b")
	f.Add(strings.Repeat("a", 256), strings.Repeat("a", 255), strings.Repeat("İ", 128), "a", "aa")
	f.Fuzz(func(t *testing.T, name, a, b, c, d string) {
		r := New(nil)
		for _, have := range []string{a, b, c, d} {
			_ = r.Add(definedTool{&Definition{Name: have, InputSchema: json.RawMessage(`{}`)}}) // names that cannot be listed are refused
		}
		if _, listed := r.Snapshot().Lookup(name); listed {
			t.Skip()
		}
		unknown := r.unknown(t.Context(), r.Snapshot(), name)
		got := unknown.Suggestions
		assert.True(t, len(got) <= 3, "there are at most three suggestions")
		for i, s := range got {
			_, listed := r.Snapshot().Lookup(s)
			assert.True(t, listed && !slices.Contains(got[:i], s), "%q of %q is listed and comes once", s, got)
		}
		assert.True(t, slices.Equal(got, r.unknown(t.Context(), r.Snapshot(), name).Suggestions), "the suggestions are the same again")
		assert.False(t, strings.ContainsAny(unknown.Error(), "\n\r"), "%q has several lines", unknown)
	})
}
