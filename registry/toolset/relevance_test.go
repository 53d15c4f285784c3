package toolset_test

import (
	"math"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		name                            string
		ndcg5, recall5, right5, right15 float64
	}{
		{toolcorpus.Tuning, 0.80, 0.85, 0.94, 0.97},
		{toolcorpus.HeldOut, 0.71, 0.78, 0.85, 0.91},
		{"unseen", 0.69, 0.77, 0.85, 0.90},
	} {
		got, plain := measure(t, halves[c.name], ours), measure(t, halves[c.name], counting)
		t.Logf("%s: %+v; counting words %+v", c.name, got, plain)
		for _, m := range []struct {
			name             string
			got, floor, less float64
		}{
			{"nDCG@5", got.NDCG5, c.ndcg5, plain.NDCG5},
			{"recall@5", got.Recall5, c.recall5, plain.Recall5},
			{"right@5", got.Right5, c.right5, plain.Right5},
			{"right@15", got.Right15, c.right15, plain.Right15},
		} {
			wantBetween(t, m.got, m.floor, math.MaxInt, "%s: %s", c.name, m.name)
			if m.got <= m.less {
				t.Errorf("%s: got %s %.4f, want more than %.4f of counting words", c.name, m.name, m.got, m.less)
			}
		}
	}
}

func measure(t testing.TB, queries []toolcorpus.Query, search func(string) ([]string, error)) toolcorpus.Measures {
	t.Helper()
	return assert.Value(toolcorpus.MeasureOf(queries, search))(t)
}

// realTools returns a registry with the tools of real servers.
func realTools(t testing.TB) *belt {
	t.Helper()
	r := newBelt(t, nil, nil)
	for _, s := range toolcorpus.Servers() {
		var tools []registry.Tool
		for _, tool := range s.Tools {
			listed := serverTool(s.Name, tool.Name, tool.Description)
			listed.def.Title, listed.def.InputSchema, listed.def.RawAnnotations = tool.Title, tool.InputSchema, tool.Annotations
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
	matches := assert.Value(r.Search(t.Context(), toolset.Query{Text: text, Limit: 15}))(t)
	keys := make([]string, len(matches))
	for i, m := range matches {
		origin := m.Tool.Definition().Origin
		keys[i] = origin.Server + "/" + origin.Tool
	}
	return keys
}
