package registry

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/mcp"
)

type bareTool struct{ def *Definition }

func (t *bareTool) Definition() *Definition { return t.def }

func (t *bareTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// The index holds what is listed, and nothing of what is gone.
func TestSearchIndexHoldsWhatIsListed(t *testing.T) {
	ledger := NewLedger(nil)
	r := New(&Options{Ledger: ledger, Search: new(SearchOptions)})
	offer := func(names ...string) {
		t.Helper()
		var tools []Tool
		for _, n := range names {
			tools = append(tools, &bareTool{&Definition{InputSchema: json.RawMessage(`{}`), Origin: Origin{Server: "s", Tool: n}}})
		}
		if _, err := r.Replace("s", tools); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Search(t.Context(), Query{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if got, want := r.search.index.words.Len(), len(r.Snapshot().Tools()); got != want {
			t.Errorf("%q: %d tools in the index, want %d", names, got, want)
		}
	}
	offer("b", "d", "f")
	if r.search.index.words.Len() != 3 {
		t.Errorf("%d tools in the index, want 3", r.search.index.words.Len())
	}
	offer("b", "d", "f", "held back")
	offer("d")
	offer("b", "d", "f")
	offer("b", "f")
	offer()
}

// What a misspelt word means is asked for a few words only: it takes all words of the
// index to tell.
func TestFewMisspeltWords(t *testing.T) {
	words := bm25.New(bm25.Options{})
	words.Put("a", []string{"invoice"})
	q := make(searchQuery, maxNearWords+1)
	for i := range q {
		q[i].Alternatives = []bm25.Alternative{{Text: "invoyce", Weight: 1}}
	}
	for i, term := range q.in(words) {
		if got, want := len(term.Alternatives) > 1, i < maxNearWords; got != want {
			t.Errorf("word %d: %v", i, term.Alternatives)
		}
	}
}
