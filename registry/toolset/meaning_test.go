package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A thesaurus is an Embedder that knows three topics.
type thesaurus struct {
	mu    sync.Mutex
	texts []string
	fail  atomic.Pointer[func([][]float32) ([][]float32, error)]
}

func (e *thesaurus) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = append(e.texts, texts...)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := []float32{0.01, 0.01, 0.01}
		for topic, words := range []string{"money invoice cash bill", "weather rain forecast", "anchor ship"} {
			for _, w := range strings.Fields(words) {
				if strings.Contains(strings.ToLower(text), w) {
					v[topic]++
				}
			}
		}
		vectors[i] = v
	}
	if fail := e.fail.Load(); fail != nil {
		return (*fail)(vectors)
	}
	return vectors, ctx.Err()
}

// seen returns how many texts were embedded since it was asked last.
func (e *thesaurus) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	texts := e.texts
	e.texts = nil
	return texts
}

func TestSearchByMeaning(t *testing.T) {
	e := new(thesaurus)
	r := newBelt(t, nil, &toolset.Options{Embedder: e})
	mustReplace(t, r, "acme", serverTool("acme", "list_invoices", ""), serverTool("acme", "ledger_rain", "Nothing of the kind."))
	if got := found(t, r, toolset.Query{Text: "cash"}); len(got) == 0 || got[0] != "acme__list_invoices" {
		t.Errorf("without a common word: %q", got)
	}
	wantList(t, e.seen(), []string{"cash", "ledger rain\nNothing of the kind.", "list invoices"}, "embedded")
	// What is known is not asked for again.
	mustReplace(t, r, "weather", serverTool("weather", "forecast", strings.Repeat("ü", 4000)))
	if got := found(t, r, toolset.Query{Text: "rain"}); len(got) < 2 || got[0] != "acme__ledger_rain" && got[0] != "weather__forecast" {
		t.Errorf("two rankings: %q", got)
	}
	texts := e.seen()
	if len(texts) != 2 || len(texts[1]) > 4<<10 || !strings.HasPrefix(texts[1], "forecast\nü") || strings.ToValidUTF8(texts[1], "") != texts[1] {
		t.Errorf("embedded %d texts", len(texts))
	}
	// A tool that is gone is forgotten.
	mustReplace(t, r, "weather")
	found(t, r, toolset.Query{Text: "rain"})
	mustReplace(t, r, "weather", serverTool("weather", "forecast", strings.Repeat("ü", 4000)))
	found(t, r, toolset.Query{Text: "rain"})
	assert.Equal(t, len(e.seen()), 3, "embedded")
	// The filters hold for both rankings.
	if got := found(t, r, toolset.Query{Text: "cash", Servers: []string{"weather"}}); slices.Contains(got, "acme__list_invoices") {
		t.Errorf("of the server weather: %q", got)
	}
	// No more than 64 texts at a time.
	var many []registry.Tool
	for i := range 200 {
		many = append(many, serverTool("many", fmt.Sprintf("rain_%d", i), ""))
	}
	mustReplace(t, r, "many", many...)
	most := 0
	check := func(v [][]float32) ([][]float32, error) { most = max(most, len(v)); return v, nil }
	e.fail.Store(&check)
	assert.Equal(t, len(found(t, r, toolset.Query{Text: "rain", Limit: 100})), 100, "tools found")
	assert.Equal(t, most, 64, "tools found")
}

// Whatever an Embedder does, words still find.
func TestSearchWithoutMeaning(t *testing.T) {
	down := errors.New("quota exceeded")
	for name, fail := range map[string]func([][]float32) ([][]float32, error){
		"error":   func([][]float32) ([][]float32, error) { return nil, down },
		"too few": func(v [][]float32) ([][]float32, error) { return v[1:], nil },
		"lengths": func(v [][]float32) ([][]float32, error) {
			if len(v) > 1 {
				v[1] = v[1][:2]
			}
			return v, nil
		},
		"short": func(v [][]float32) ([][]float32, error) {
			if len(v) == 1 {
				v[0] = v[0][:2]
			}
			return v, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := new(thesaurus)
			e.fail.Store(&fail)
			r := newBelt(t, nil, &toolset.Options{Embedder: e})
			mustReplace(t, r, "acme", serverTool("acme", "list_invoices", ""), serverTool("acme", "other", ""))
			matches, err := r.Search(t.Context(), toolset.Query{Text: "invoice"})
			var failed *toolset.EmbedError
			if !errors.As(err, &failed) || name == "error" && !errors.Is(err, down) {
				t.Errorf("%v, want an *EmbedError", err)
			}
			assert.Equal(t, only(t, matches).Tool.Definition().Name, "acme__list_invoices", "name")
			e.fail.Store(nil)
			if got := found(t, r, toolset.Query{Text: "cash"}); len(got) == 0 || got[0] != "acme__list_invoices" {
				t.Errorf("later: %q", got)
			}
		})
	}
}

// A query that means nothing to an Embedder is searched for by words.
func TestSearchForWhatMeansNothing(t *testing.T) {
	for name, nothing := range map[string]float32{"zero": 0, "not a number": float32(nan())} {
		r := newBelt(t, nil, &toolset.Options{Embedder: embedderFunc(func(_ context.Context, texts []string) ([][]float32, error) {
			vectors := make([][]float32, len(texts))
			for i, text := range texts {
				if vectors[i] = []float32{1, 1}; text == "invoice" {
					vectors[i] = []float32{nothing, nothing}
				}
			}
			return vectors, nil
		})})
		mustReplace(t, r, "acme", serverTool("acme", "list_invoices", ""), serverTool("acme", "other", ""))
		wantList(t, found(t, r, toolset.Query{Text: "invoice"}), []string{"acme__list_invoices"}, "%s", name)
	}
}

// A tool that means nothing to an Embedder does not keep the others from being found.
func TestSearchOfAToolWithoutMeaning(t *testing.T) {
	for name, nothing := range map[string]float32{"zero": 0, "not a number": float32(nan())} {
		r := newBelt(t, nil, &toolset.Options{Embedder: embedderFunc(func(_ context.Context, texts []string) ([][]float32, error) {
			vectors := make([][]float32, len(texts))
			for i, text := range texts {
				if vectors[i] = []float32{1, 1}; strings.TrimSpace(text) == "" {
					vectors[i] = []float32{nothing, nothing}
				}
			}
			return vectors, nil
		})})
		mustReplace(t, r, "acme", serverTool("acme", "_", ""), serverTool("acme", "pay", ""))
		wantList(t, found(t, r, toolset.Query{Text: "money"}), []string{"acme__pay"}, "%s", name)
		if _, err := r.Search(t.Context(), toolset.Query{Text: "\u200b"}); err != nil && !errors.As(err, new(*toolset.EmbedError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func nan() float64 { var zero float64; return zero / zero }

// What was embedded before an Embedder failed is not embedded again, but for vectors
// that another model has made.
func TestSearchKeepsVectors(t *testing.T) {
	e := new(thesaurus)
	r := newBelt(t, nil, &toolset.Options{Embedder: e})
	var tools []registry.Tool
	for i := range 130 {
		tools = append(tools, serverTool("many", fmt.Sprintf("rain_%d", i), ""))
	}
	mustReplace(t, r, "many", tools...)
	calls := 0
	fail := func(v [][]float32) ([][]float32, error) {
		if calls++; calls == 3 {
			return nil, errors.New("no more")
		}
		return v, nil
	}
	e.fail.Store(&fail)
	if _, err := r.Search(t.Context(), toolset.Query{Text: "rain"}); err == nil {
		t.Fatal("no error")
	}
	e.seen()
	e.fail.Store(nil)
	found(t, r, toolset.Query{Text: "rain"})
	assert.Equal(t, len(e.seen()), 1+130-64, "texts embedded")
	longer := func(v [][]float32) ([][]float32, error) {
		for i := range v {
			v[i] = append(v[i], 1)
		}
		return v, nil
	}
	e.fail.Store(&longer)
	found(t, r, toolset.Query{Text: "rain"})
	assert.Equal(t, len(e.seen()), 1+130, "texts embedded by another model")
}

// A search ends with its context while its Embedder works, and has what the words
// find. It does not wait for another one that keeps the Embedder busy.
func TestSearchWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		leave := make(chan struct{})
		e := embedderFunc(func(ctx context.Context, texts []string) ([][]float32, error) {
			switch {
			case texts[0] == "invoices, but slowly":
				<-ctx.Done()
				return nil, ctx.Err()
			case texts[0] == "list invoices" && busy.CompareAndSwap(false, true):
				<-leave
			}
			return [][]float32{{1}}, nil
		})
		r := newBelt(t, nil, &toolset.Options{Embedder: e})
		mustReplace(t, r, "acme", serverTool("acme", "list_invoices", ""))
		done := make(chan error)
		go func() {
			_, err := r.Search(context.Background(), toolset.Query{Text: "cash"})
			done <- err
		}()
		synctest.Wait()
		wantFound(t, r, "invoices", "acme__list_invoices")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		matches, err := r.Search(ctx, toolset.Query{Text: "invoices, but slowly"})
		assert.Is(t, err, context.DeadlineExceeded)
		assert.As[*toolset.EmbedError](t, err)
		assert.Equal(t, len(matches), 1)
		close(leave)
		assert.OK(t, <-done)
		wantFound(t, r, "cash", "acme__list_invoices")
	})
}

type embedderFunc func(ctx context.Context, texts []string) ([][]float32, error)

func (f embedderFunc) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}
