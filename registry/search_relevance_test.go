package registry_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
)

// TestSearchRelevance: a search of real tools finds what people mean, and more of it
// than counting words does. The queries and the judgements were written before
// anything was fitted to them; what was fitted has only seen the half for it.
func TestSearchRelevance(t *testing.T) {
	r := realTools(t)
	counting := wordCounting()
	for half, floor := range map[string]toolcorpus.Measures{
		toolcorpus.Tuning:  {NDCG5: 0, Recall5: 0},
		toolcorpus.HeldOut: {NDCG5: 0, Recall5: 0},
	} {
		got := measure(t, half, func(text string) ([]string, error) { return keysFound(t, r, text), nil })
		plain := measure(t, half, counting)
		t.Logf("%s, %d queries: nDCG@5 %.3f, recall@5 %.3f; counting words %.3f, %.3f",
			half, got.Queries, got.NDCG5, got.Recall5, plain.NDCG5, plain.Recall5)
		if got.NDCG5 < floor.NDCG5 || got.Recall5 < floor.Recall5 {
			t.Errorf("%s: nDCG@5 %.4f, recall@5 %.4f, want at least %.3f and %.3f", half, got.NDCG5, got.Recall5, floor.NDCG5, floor.Recall5)
		}
		if got.NDCG5 <= plain.NDCG5 || got.Recall5 <= plain.Recall5 {
			t.Errorf("%s: counting words does no worse: %+v, %+v", half, plain, got)
		}
	}
}

func measure(t testing.TB, half string, search func(string) ([]string, error)) toolcorpus.Measures {
	t.Helper()
	m, err := toolcorpus.Measure(half, search)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// realTools returns a registry with the tools of real servers.
func realTools(t testing.TB) *registry.Registry {
	t.Helper()
	r := registry.New(nil)
	for _, s := range toolcorpus.Servers() {
		var tools []registry.Tool
		for _, tool := range s.Tools {
			listed := serverTool(s.Name, tool.Name, tool.Description)
			listed.def.Title, listed.def.InputSchema = tool.Title, tool.InputSchema
			tools = append(tools, listed)
		}
		mustReplace(t, r, s.Name, tools...)
	}
	return r
}

// keysFound returns the keys of the tools that a search finds, as the judgements
// name them.
func keysFound(t testing.TB, r *registry.Registry, text string) []string {
	t.Helper()
	matches, err := r.Search(t.Context(), registry.Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, len(matches))
	for i, m := range matches {
		origin := m.Tool.Definition().Origin
		keys[i] = origin.Server + "/" + origin.Tool
	}
	return keys
}

// wordCounting returns a search that counts how many words of a query a tool has.
func wordCounting() func(text string) ([]string, error) {
	words := func(text string) map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			set[w] = true
		}
		return set
	}
	has := map[string]map[string]bool{}
	for _, d := range toolcorpus.Documents() {
		has[d.Key] = words(strings.Join([]string{d.Server, d.Name, d.Title, d.Description, d.Parameters}, " "))
	}
	return func(text string) ([]string, error) {
		counts := map[string]int{}
		for w := range words(text) {
			for key, set := range has {
				if set[w] {
					counts[key]++
				}
			}
		}
		keys := make([]string, 0, len(counts))
		for key := range counts {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
		return keys[:min(len(keys), 5)], nil
	}
}
