package toolrank

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

func TestSynonyms(t *testing.T) {
	for _, c := range []struct{ word, has string }{
		{"remove", "delete"}, {"delete", "remove"}, {"erase", "delete"}, {"drop", "delete"},
		{"make", "create"}, {"add", "create"}, {"create", "new"}, {"fetch", "get"}, {"read", "show"}, {"show", "list"},
		{"change", "update"}, {"modify", "edit"}, {"search", "find"}, {"find", "query"}, {"look", "find"},
		{"folder", "directory"}, {"picture", "image"}, {"picture", "screenshot"}, {"mail", "email"},
		{"ticket", "issue"}, {"pr", "pull"}, {"repo", "repository"}, {"uninstall", "remove"},
	} {
		got := builtinSynonyms(c.word)
		assert.True(t, slices.Contains(got, c.has) && !slices.Contains(got, c.word), "%s: %q has %s and not the word", c.word, got, c.has)
	}
	for _, word := range []string{"", ">", "nothing", "del", "issue\n", "screenshot image", "delete remove"} {
		assert.Equal(t, len(builtinSynonyms(word)), 0, "synonyms of %q", word)
	}
}

// TestSynonymTable: the words of the table can be found by their stems.
func TestSynonymTable(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(synonyms) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		assert.True(t, !seen[line] && len(words) >= 2 && slices.Index(words, ">") != 0 && words[len(words)-1] != ">", "line %q says something", line)
		seen[line] = true
		for i, w := range words {
			if w == ">" {
				continue
			}
			assert.True(t, bm25.Stem(w) == w && (len(bm25.Words(w)) == 1 || bm25.Words(w)[0] == w), "%q in %q is a stem: %q", w, line, bm25.Stem(w))
			assert.False(t, isStopWord(w), "%q in %q is a stop word", w, line)
			assert.False(t, slices.Contains(words[:i], w), "%q is twice in %q", w, line)
		}
	}
}

func TestVerbs(t *testing.T) {
	for word, want := range map[string]bool{
		"delete": true, "list": true, "get": true, "send": true, "rename": true, "review": false, "reference": false,
		"issue": false, "folder": false, "permission": false, "": false, ">": false, "delete erase": false,
	} {
		assert.Equal(t, isVerb(word), want, "%q is a verb", word)
	}
}

func TestStopWords(t *testing.T) {
	for _, query := range []string{"how do I", "please", "I need a tool to", "what is the", "I want to use"} {
		for _, w := range bm25.Words(query) {
			assert.True(t, isStopWord(w), "%q of %q is a stop word", w, query)
			assert.True(t, isStopWord(bm25.Stem(w)), "the stem of %q is a stop word", w)
		}
	}
	for _, w := range []string{"", "delete", "issue", "get", "list", "s3", "id", "ip", "not found"} {
		assert.False(t, isStopWord(w), "%q is a stop word", w)
	}
}

func TestPhrases(t *testing.T) {
	for text, want := range map[string]string{
		"how many": "count", "How far": "distance", "sign in": "login", "roll back": "rollback",
		"get it": "", "many how": "", "many": "",
	} {
		words := append(bm25.Words(text), "")
		assert.Equal(t, phrase(words[0], words[1]), want, "%q means", text)
	}
}
