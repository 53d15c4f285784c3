package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/toolrank"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

type bareTool struct{ def *registry.Definition }

func (t *bareTool) Definition() *registry.Definition { return t.def }

func (t *bareTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// The index holds what is listed, and nothing of what is gone.
func TestSearchIndexHoldsWhatIsListed(t *testing.T) {
	accepted := ledger.New(nil)
	r := registry.New(&registry.Options{Ledger: accepted})
	f := assert.Value(New(r, nil))(t)
	offer := func(names ...string) {
		t.Helper()
		var tools []registry.Tool
		for _, n := range names {
			tools = append(tools, &bareTool{&registry.Definition{InputSchema: json.RawMessage(`{}`), Origin: registry.Origin{Server: "s", Tool: n}}})
		}
		assert.Value(r.Replace(registry.Server{Name: "s"}, tools))(t)
		assert.Value(f.Search(t.Context(), Query{Text: "x"}))(t)
		assert.Equal(t, f.index.words.Len(), len(r.Snapshot().Tools()), "%q: tools in the index", names)
	}
	offer("b", "d", "f")
	assert.Equal(t, f.index.words.Len(), 3, "tools in the index")
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
	words.Put("b", []string{"pay"})
	text := "pay invoyce invoicce invvoice inoice invice invoie invoixe invpice incoice"
	for i, term := range toolrank.NewQuery(text, func(string) []string { return nil }).In(words)[1:] {
		assert.Equal(t, slices.ContainsFunc(term.Alternatives, func(a bm25.Alternative) bool { return a.Text == "invoice" }), i < toolrank.MaxNear, "word %d", i)
	}
}

// The vectors of tools that are gone go, also if an Embedder never gets to the end.
func TestVectorsOfToolsThatAreGone(t *testing.T) {
	m := newMeaning(failing{}, nil)
	for round := range 20 {
		var tools []*registry.Definition
		for i := range 2 * maxEmbedTexts {
			tools = append(tools, &registry.Definition{Name: fmt.Sprintf("round%d tool%d", round, i)})
		}
		tools = append(tools, &registry.Definition{Name: "fail"})
		if _, err := m.rank(t.Context(), "x", tools); err == nil {
			t.Fatal("no error")
		}
		if len(m.vectors) > len(tools) {
			t.Fatalf("round %d: %d vectors of %d tools", round, len(m.vectors), len(tools))
		}
	}
}

// Failing is an Embedder that cannot read one text.
type failing struct{}

func (failing) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if text == "fail" {
			return nil, errors.New("refused")
		}
		vectors[i] = []float32{1}
	}
	return vectors, nil
}

// Who waited while others followed a later snapshot does not turn the index back.
func TestSearchIndexNeverGoesBack(t *testing.T) {
	r := registry.New(nil)
	before := r.Snapshot()
	assert.OK(t, r.Add(&bareTool{&registry.Definition{Name: "pay", InputSchema: json.RawMessage(`{}`)}}))
	ix := newSearchIndex(r.Names(), nil)
	for _, s := range []*registry.Snapshot{before, r.Snapshot(), before} {
		assert.OK(t, ix.follow(t.Context(), s))
	}
	assert.Equal(t, ix.version, r.Snapshot().Version(), "version")
	assert.Equal(t, ix.words.Len(), 1, "version")
}

// The words of a tool are bounded together, and what says most comes first.
func TestWordsOfATool(t *testing.T) {
	def := &registry.Definition{
		Name: "a_b", Title: strings.Repeat("title ", 5), Description: strings.Repeat("said ", 100),
		InputSchema: json.RawMessage(`{"properties":{"x":{"description":"of the parameter"}}}`), Origin: registry.Origin{Server: "c", Tool: "a_b"},
	}
	var lengths []int
	for _, words := range toolrank.Words(docOf(def, names.Names{}), 20) {
		lengths = append(lengths, len(words))
	}
	// Of name, title, description, names of parameters, what is said of them, their values,
	// server, what the host says.
	assert.Equal(t, fmt.Sprint(lengths), "[2 5 11 1 0 0 1 0]", "words")
}

// What was in quarantine when a search began is not found by it, though the index
// knows by now that somebody has approved it.
func TestSearchKeepsToItsSnapshot(t *testing.T) {
	accepted := ledger.New(&ledger.Options{Mode: ledger.Review})
	r := registry.New(&registry.Options{Ledger: accepted})
	pay := &bareTool{&registry.Definition{InputSchema: json.RawMessage(`{}`), Origin: registry.Origin{Server: "s", Tool: "pay"}}}
	assert.Value(r.Replace(registry.Server{Name: "s"}, []registry.Tool{pay}))(t)
	held := r.Snapshot()
	assert.OK(t, accepted.Accept(t.Context(), "ann", accepted.Pending("s")...))
	for want, snapshot := range []*registry.Snapshot{held, r.Snapshot()} {
		s := &search{snapshot: snapshot, callable: func(string) bool { return true }, kept: map[string]registry.Tool{}}
		assert.Equal(t, len(s.keep([]ranked{{"s__pay", 1}, {"gone", 1}}, 5)), want, "tools in snapshot %d", want)
	}
}
