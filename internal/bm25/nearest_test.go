package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func vocabulary(words ...string) *Index {
	ix := New(Options{})
	for i, w := range words {
		ix.Put(fmt.Sprint(i), []string{w})
	}
	return ix
}

func TestNearest(t *testing.T) {
	ix := vocabulary("delete", "invoice", "repository", "report", "list", "last", "lost", "screenshot", "screen",
		"s3", "s4", "id", "authentication", "author", "create", "erase", "删除", "発票", "calendar", "list", "repositories")
	for word, want := range map[string]string{
		"delte": "delete", "dleete": "delete", "deletee": "delete", "xelete": "", "delede": "delete",
		"deleteinvoice": "", "invioce": "invoice", "repo": "report repository repositories",
		"reposiotry": "repository", "repsitoryy": "repository", "repostry": "", "repostory": "repository",
		"liist": "list", "invpice": "invoice", "lsit": "list", "lst": "", "auht": "", "shot": "", "liat": "",
		"calend": "calendar", "auth": "author authentication", "screnshot": "screenshot", "scr": "",
		"scre": "screen screenshot", "s5": "", "": "", "calender": "calendar", "list": "", "crete": "create",
		"cretae": "create", "\xff\xfe\xfd": "", "unknown": "", "删除发": "", "authentikation": "authentication",
	} {
		near := ix.Nearest(word)
		var texts []string
		for i, a := range near {
			texts = append(texts, a.Text)
			assert.True(t, a.Weight > 0 && a.Weight < 1 && (i == 0 || a.Weight <= near[i-1].Weight), "%q: weights of %v", word, near)
		}
		assert.Equal(t, strings.Join(texts, " "), want, "%q", word)
	}
	assert.Equal(t, vocabulary("planer", "planet", "planet").Nearest("planed")[0].Text, "planet", "the more frequent")
	var many []string
	for c := 'a'; c <= 'z'; c++ {
		many = append(many, "word"+string(c))
	}
	assert.Equal(t, len(vocabulary(many...).Nearest("word")), maxNearest)
}

func TestSplit(t *testing.T) {
	ix := vocabulary("pull", "request", "requests", "pull", "request", "git", "hub", "ab", "cdef", "screens", "hot", "screen", "shot", "screen", "shot")
	for word, want := range map[string]string{
		"pullrequest": "pull request", "pullrequests": "pull requests", "gitpullrequest": "",
		"github": "git hub", "abcdef": "", "pull": "", "screenshot": "screen shot", "": "", "\xff\xff": "",
	} {
		assert.Equal(t, strings.Join(ix.Split(word), " "), want, "%q", word)
	}
	assert.Equal(t, len(ix.Split(strings.Repeat("pull", 1000))), 0, "parts of a long word")
}

func FuzzNearest(f *testing.F) {
	ix := vocabulary("delete", "invoice", "repository", "screenshot", "删除发票", "authentication", "pull", "request")
	f.Add("delte")
	f.Add("pullrequest")
	f.Add("\xffabc")
	f.Fuzz(func(t *testing.T, word string) {
		for _, a := range ix.Nearest(word) {
			assert.True(t, ix.Frequency(a.Text) > 0 && a.Text != word, "%q, near %q, is a term", a.Text, word)
		}
		parts := ix.Split(word)
		assert.True(t, parts == nil || strings.Join(parts, "") == word, "%q is made of %q", word, parts)
	})
}

// Of many terms that are near, the nearest stand in, in whatever order they came.
func TestNearestOfMany(t *testing.T) {
	var words []string
	for i := range 40 {
		words = append(words, "invoice"+strings.Repeat("s", i+1))
	}
	want := []Alternative{{"invoices", 1.4 / 2.7}, {"invoicess", 1.4 / 2.9}, {"invoicesss", 1.4 / 3.1}, {"invoicessss", 1.4 / 3.3}}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		if got := vocabulary(words...).Nearest("invoice"); !slices.EqualFunc(got, want, func(a, b Alternative) bool {
			return a.Text == b.Text && math.Abs(a.Weight-b.Weight) < 1e-9
		}) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestIsSlip(t *testing.T) {
	for _, c := range []struct {
		word, other string
		want        bool
	}{
		{"coleague", "colleague", true}, {"piture", "picture", true}, {"delte", "delete", true}, {"daabsae", "database", false},
		{"dokumentaton", "documentation", true}, {"fold", "gold", false}, {"pay", "play", false}, {"", "", false}, {"word", "", false}, {"word", "word", true},
	} {
		assert.Equal(t, IsSlip(c.word, c.other), c.want, "%q, %q", c.word, c.other)
	}
}
