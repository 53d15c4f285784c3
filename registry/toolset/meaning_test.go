package toolset_test

import (
	"context"
	"errors"
	"math"
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
	wantFirst(t, r, "cash", "acme__list_invoices")
	wantList(t, e.seen(), []string{"cash", "ledger rain\nNothing of the kind.", "list invoices"}, "embedded")
	// What is known is not asked for again.
	mustReplace(t, r, "weather", serverTool("weather", "forecast", strings.Repeat("ü", 4000)))
	got := found(t, r, toolset.Query{Text: "rain"})[:2]
	slices.Sort(got)
	wantList(t, got, []string{"acme__ledger_rain", "weather__forecast"}, "two rankings")
	texts := e.seen()
	assert.Equal(t, len(texts), 2, "texts embedded")
	wantBetween(t, len(texts[1]), 0, 4<<10, "bytes of a text")
	assert.Contains(t, texts[1], "forecast\nü")
	assert.Equal(t, strings.ToValidUTF8(texts[1], ""), texts[1], "a text that was cut")
	// A tool that is gone is forgotten.
	mustReplace(t, r, "weather")
	found(t, r, toolset.Query{Text: "rain"})
	mustReplace(t, r, "weather", serverTool("weather", "forecast", strings.Repeat("ü", 4000)))
	found(t, r, toolset.Query{Text: "rain"})
	assert.Equal(t, len(e.seen()), 3, "texts embedded: two queries, and the tool that came back")
	// The filters hold for both rankings.
	assert.False(t, slices.Contains(found(t, r, toolset.Query{Text: "cash", Servers: []string{"weather"}}), "acme__list_invoices"), "one of another server")
	// No more than 64 texts at a time.
	mustReplace(t, r, "many", numbered("many", 200, "rain_%d", "")...)
	most := 0
	check := func(v [][]float32) ([][]float32, error) { most = max(most, len(v)); return v, nil }
	e.fail.Store(&check)
	assert.Equal(t, len(found(t, r, toolset.Query{Text: "rain", Limit: 100})), 100, "tools found")
	assert.Equal(t, most, 64, "texts at a time")
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
			assert.As[*toolset.EmbedError](t, err)
			assert.Equal(t, errors.Is(err, down), name == "error", "an error of the Embedder")
			assert.Equal(t, only(t, matches).Tool.Definition().Name, "acme__list_invoices", "name")
			e.fail.Store(nil)
			wantFirst(t, r, "cash", "acme__list_invoices")
		})
	}
}

// A query, or a tool, that means nothing to an Embedder is searched for by words, and does
// not keep others from being found.
func TestSearchForWhatMeansNothing(t *testing.T) {
	for _, test := range []struct{ empty, query, want string }{{"invoice", "invoice", "acme__list_invoices"}, {"", "money", "acme__pay"}} {
		for name, nothing := range map[string]float32{"zero": 0, "not a number": float32(math.NaN())} {
			r := newBelt(t, nil, &toolset.Options{Embedder: embedderFunc(func(_ context.Context, texts []string) ([][]float32, error) {
				vectors := make([][]float32, len(texts))
				for i, text := range texts {
					if vectors[i] = []float32{1, 1}; strings.TrimSpace(text) == test.empty {
						vectors[i] = []float32{nothing, nothing}
					}
				}
				return vectors, nil
			})})
			tools := []registry.Tool{serverTool("acme", "list_invoices", ""), serverTool("acme", "other", "")}
			if test.empty == "" {
				tools = []registry.Tool{serverTool("acme", "_", ""), serverTool("acme", "pay", "")}
			}
			mustReplace(t, r, "acme", tools...)
			wantList(t, found(t, r, toolset.Query{Text: test.query}), []string{test.want}, "%s: %s", name, test.query)
			if _, err := r.Search(t.Context(), toolset.Query{Text: "\u200b"}); err != nil {
				assert.As[*toolset.EmbedError](t, err, "%s: a query without a word", name)
			}
		}
	}
}

// What was embedded before an Embedder failed is not embedded again, but for vectors
// that another model has made.
func TestSearchKeepsVectors(t *testing.T) {
	e := new(thesaurus)
	r := newBelt(t, nil, &toolset.Options{Embedder: e})
	mustReplace(t, r, "many", numbered("many", 130, "rain_%d", "")...)
	calls := 0
	fail := func(v [][]float32) ([][]float32, error) {
		if calls++; calls == 3 {
			return nil, errors.New("no more")
		}
		return v, nil
	}
	e.fail.Store(&fail)
	assert.Fails(t, errorOf(r.Search(t.Context(), toolset.Query{Text: "rain"})))
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
