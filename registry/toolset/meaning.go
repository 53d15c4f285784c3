package toolset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry"
)

// An Embedder turns texts into vectors that are close to each other if the texts
// mean something similar. It is safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each text, all of one length. One that is zero, or
	// holds what is no number, is close to nothing: return that for a text that the
	// service refuses, for an error is one of the whole ranking. A text has 4 KiB at most, and
	// there are 64 of them at most.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// An EmbedError reports an [Embedder] that failed.
type EmbedError struct {
	Err error // what it said, or what is wrong with its vectors
}

func (e *EmbedError) Error() string { return "toolset: ranking by meaning: " + e.Err.Error() }

// Unwrap returns Err.
func (e *EmbedError) Unwrap() error { return e.Err }

const (
	maxEmbedText  = 4 << 10
	maxEmbedTexts = 64
)

// A meaning ranks tools by what an [Embedder] takes them to mean. It keeps the
// vector of each tool that is listed.
type meaning struct {
	embedder Embedder
	turn     chan struct{} // holds one token; its holder may ask for the vectors of tools

	mu      sync.Mutex
	keys    map[*registry.Definition]meant
	vectors map[meant]vector
}

// A meant identifies a text by its hash.
type meant [sha256.Size]byte

// A vector has the length 1, or is zero.
type vector []float32

func newMeaning(e Embedder) *meaning {
	m := &meaning{embedder: e, turn: make(chan struct{}, 1), keys: map[*registry.Definition]meant{}, vectors: map[meant]vector{}}
	m.turn <- struct{}{}
	return m
}

// rank returns those of all listed tools that mean something similar to a text, the
// most similar first.
func (m *meaning) rank(ctx context.Context, text string, tools []*registry.Definition) ([]ranked, error) {
	asked, err := m.embed(ctx, []string{embedded(text)})
	if err != nil {
		return nil, err
	}
	if asked[0].dot(asked[0]) == 0 {
		return nil, &EmbedError{errors.New("the vector of the query has no direction")}
	}
	known, err := m.all(ctx, tools, len(asked[0]))
	if err != nil {
		return nil, err
	}
	var found []ranked
	for i, v := range known {
		if v == nil {
			continue
		}
		if score := asked[0].dot(v); score > 0 {
			found = append(found, ranked{tools[i].Name, score})
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return found, nil
}

// all returns the vectors of all tools, of the given length. Those that are not known
// yet are asked for, unless another goroutine is asking: then they are nil.
func (m *meaning) all(ctx context.Context, tools []*registry.Definition, length int) ([]vector, error) {
	vectors, whole := m.look(tools, length)
	if whole {
		return vectors, nil
	}
	select {
	case <-m.turn:
		defer func() { m.turn <- struct{}{} }()
	default:
		return vectors, nil
	}
	vectors, _ = m.look(tools, length)
	defer m.forget(tools)
	for {
		var batch []*registry.Definition
		for i := 0; i < len(tools) && len(batch) < maxEmbedTexts; i++ {
			if vectors[i] == nil {
				batch = append(batch, tools[i])
			}
		}
		if len(batch) == 0 {
			return vectors, nil
		}
		texts := make([]string, len(batch))
		for i, def := range batch {
			texts[i] = meaningOf(def)
		}
		fresh, err := m.embed(ctx, texts)
		if err != nil {
			return nil, err
		}
		for _, v := range fresh {
			if len(v) != length {
				return nil, &EmbedError{fmt.Errorf("it gave a vector of %d numbers, and one of %d", length, len(v))}
			}
		}
		m.keep(batch, fresh)
		vectors, _ = m.look(tools, length)
	}
}

// look returns the vectors of tools as far as they are known, nil for the others, and
// whether all are known and no others.
func (m *meaning) look(tools []*registry.Definition, length int) (vectors []vector, whole bool) {
	keys := m.keysOf(tools)
	vectors = make([]vector, len(tools))
	m.mu.Lock()
	defer m.mu.Unlock()
	whole = len(m.keys) <= len(tools)
	for i, key := range keys {
		if v := m.vectors[key]; len(v) == length {
			vectors[i] = v
		} else {
			whole = false
		}
	}
	return vectors, whole
}

// keysOf returns what identifies the texts of tools. Each is read once.
func (m *meaning) keysOf(tools []*registry.Definition) []meant {
	keys := make([]meant, len(tools))
	fresh := map[*registry.Definition]meant{}
	m.mu.Lock()
	for i, def := range tools {
		key, ok := m.keys[def]
		if keys[i] = key; !ok {
			fresh[def] = key
		}
	}
	m.mu.Unlock()
	if len(fresh) == 0 {
		return keys
	}
	for i, def := range tools {
		if _, ok := fresh[def]; ok {
			keys[i] = sha256.Sum256([]byte(meaningOf(def)))
			fresh[def] = keys[i]
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.keys, fresh)
	return keys
}

// keep notes the vectors of tools.
func (m *meaning) keep(tools []*registry.Definition, vectors []vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, def := range tools {
		m.vectors[m.keys[def]] = vectors[i]
	}
}

// forget forgets all but what is known of tools.
func (m *meaning) forget(tools []*registry.Definition) {
	keys := make(map[*registry.Definition]meant, len(tools))
	vectors := make(map[meant]vector, len(tools))
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, def := range tools {
		if key, ok := m.keys[def]; ok {
			keys[def] = key
			if v := m.vectors[key]; v != nil {
				vectors[key] = v
			}
		}
	}
	m.keys, m.vectors = keys, vectors
}

func (m *meaning) embed(ctx context.Context, texts []string) ([]vector, error) {
	got, err := m.embedder.Embed(ctx, texts)
	switch {
	case ctx.Err() != nil:
		return nil, &EmbedError{ctx.Err()}
	case err != nil:
		return nil, &EmbedError{err}
	case len(got) != len(texts):
		return nil, &EmbedError{fmt.Errorf("%d vectors for %d texts", len(got), len(texts))}
	}
	vectors := make([]vector, len(got))
	for i, v := range got {
		vectors[i] = unit(v)
	}
	return vectors, nil
}

// meaningOf returns the text that stands for a tool.
func meaningOf(def *registry.Definition) string {
	parts := []string{strings.ReplaceAll(cmp.Or(def.Origin.Tool, def.Name), "_", " "), def.Title, def.Description}
	return embedded(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n"))
}

// embedded returns a text as an Embedder gets it.
func embedded(text string) string {
	return strings.ToValidUTF8(plain.Cut(text, maxEmbedText-len("…")), "?")
}

// unit returns a vector of the length 1 in the same direction, or zero if there is
// none: no tool, such as one whose name has no word, may spoil the ranking.
func unit(v []float32) vector {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	u := make(vector, len(v))
	if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
		return u
	}
	scale := 1 / math.Sqrt(square)
	for i, x := range v {
		u[i] = float32(float64(x) * scale)
	}
	return u
}

func (v vector) dot(o vector) float64 {
	var sum float64
	for i, x := range v {
		sum += float64(x) * float64(o[i])
	}
	return sum
}

// fuse joins two rankings into one by the places that a tool has in them
// (reciprocal rank fusion), best first.
func fuse(rankings ...[]ranked) []ranked {
	const damping = 60 // as usual
	scores := map[string]float64{}
	for _, ranking := range rankings {
		for i, r := range ranking {
			scores[r.name] += 1 / float64(damping+i+1)
		}
	}
	fused := make([]ranked, 0, len(scores))
	for name, score := range scores {
		fused = append(fused, ranked{name, score})
	}
	slices.SortFunc(fused, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	return fused
}
