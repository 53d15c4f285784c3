package toolset_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// TestSearchRelevance: a search of real tools finds what people mean, and more of it
// than counting words does. The queries and the judgements were written before
// anything was fitted to them; what was fitted has only seen the half for it. What
// the measures were must not get worse.
func TestSearchRelevance(t *testing.T) {
	r := realTools(t)
	ours := func(text string) ([]string, error) { return keysFound(t, r, text), nil }
	count := toolcorpus.CountTerms(toolcorpus.Documents())
	counting := func(text string) ([]string, error) { return count(text), nil }
	halves := map[string][]toolcorpus.Query{"unseen": toolcorpus.Unseen()}
	for _, q := range toolcorpus.Queries() {
		halves[q.Half] = append(halves[q.Half], q)
	}
	for _, c := range []struct {
		name          string
		ndcg5, recall float64
	}{
		{toolcorpus.Tuning, 0.77, 0.82},
		{toolcorpus.HeldOut, 0.68, 0.74},
		{"unseen", 0.66, 0.73},
	} {
		got, plain := measure(t, halves[c.name], ours), measure(t, halves[c.name], counting)
		t.Logf("%s, %d queries: nDCG@5 %.3f, recall@5 %.3f; counting words %.3f, %.3f",
			c.name, got.Queries, got.NDCG5, got.Recall5, plain.NDCG5, plain.Recall5)
		if got.NDCG5 < c.ndcg5 || got.Recall5 < c.recall {
			t.Errorf("%s: nDCG@5 %.4f, recall@5 %.4f, want at least %.2f and %.2f", c.name, got.NDCG5, got.Recall5, c.ndcg5, c.recall)
		}
		if got.NDCG5 <= plain.NDCG5 || got.Recall5 <= plain.Recall5 {
			t.Errorf("%s: counting words does no worse: %+v, %+v", c.name, plain, got)
		}
	}
}

func measure(t testing.TB, queries []toolcorpus.Query, search func(string) ([]string, error)) toolcorpus.Measures {
	t.Helper()
	m, err := toolcorpus.MeasureOf(queries, search)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// realTools returns a registry with the tools of real servers.
func realTools(t testing.TB) *belt {
	t.Helper()
	r := newBelt(t, nil, nil)
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
func keysFound(t testing.TB, r *belt, text string) []string {
	t.Helper()
	matches, err := r.Search(t.Context(), toolset.Query{Text: text})
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
