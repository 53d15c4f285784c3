package toolset

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	// service refuses, for an error is one of the whole ranking. A text is a query, of 4 KiB
	// at most, or the name of a tool and the first 250 bytes of what is said of it; there are
	// 64 of them at most.
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
	about    func(def *registry.Definition) string
	turn     chan struct{} // holds one token; its holder may ask for the vectors of tools

	mu      sync.Mutex
	keys    map[*registry.Definition]meant
	vectors map[meant]vector
}

// A meant identifies a text by its hash.
type meant [sha256.Size]byte

// A vector has the length 1, or is zero.
type vector []float32

func newMeaning(e Embedder, about func(def *registry.Definition) string) *meaning {
	m := &meaning{embedder: e, about: about, turn: make(chan struct{}, 1), keys: map[*registry.Definition]meant{}, vectors: map[meant]vector{}}
	m.turn <- struct{}{}
	return m
}

// rank returns the listed tools that have a vector by how similar they are to a text, the
// most similar first: from 1 for that to 0 for the least similar.
func (m *meaning) rank(ctx context.Context, text string, tools []*registry.Definition) ([]ranked, error) {
	asked, err := m.embed(ctx, []string{embedded(text[max(len(text)-maxEmbedText, 0):])})
	if err != nil {
		return nil, err
	}
	if asked[0].dot(asked[0]) == 0 {
		return nil, nil // the query is close to nothing
	}
	known, err := m.all(ctx, tools, len(asked[0]))
	if err != nil {
		return nil, err
	}
	var similar []ranked
	lowest, best := math.Inf(1), math.Inf(-1)
	for i, v := range known {
		if v == nil || v.dot(v) == 0 {
			continue
		}
		score := asked[0].dot(v)
		lowest, best = min(lowest, score), max(best, score)
		similar = append(similar, ranked{tools[i].Name, score})
	}
	for i, r := range similar {
		switch {
		case r.score <= 0:
			similar[i].score = 0
		case best == lowest:
			similar[i].score = 1
		default:
			similar[i].score = (r.score - lowest) / (best - lowest)
		}
	}
	slices.SortStableFunc(similar, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return similar, nil
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
			texts[i] = m.textOf(def)
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
			keys[i] = sha256.Sum256([]byte(m.textOf(def)))
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

// maxMeaning is how much of a description stands for a tool, in bytes: what comes later
// is about arguments and results, and makes all tools similar.
const maxMeaning = 250

// textOf returns the text that stands for a tool: its name, and what the host says of it, or
// the beginning of its description.
func (m *meaning) textOf(def *registry.Definition) string {
	said := ""
	if m.about != nil {
		said = m.about(def)
	}
	said = plain.Cut(cmp.Or(said, def.Description, def.Title), maxMeaning)
	name := strings.ReplaceAll(cmp.Or(def.Origin.Tool, def.Name), "_", " ")
	return embedded(strings.TrimSuffix(name+"\n"+said, "\n"))
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

// meaningWeight is how much the tool counts that means most, beside the 1 of the one whose
// words fit best.
const meaningWeight = 0.1

// fuse adds to the scores of the tools that their words have found, the best first, how
// similar tools are, and to those tools the most similar of the others. Scores are added
// and not ranks, so that a tool that is far ahead stays so.
func fuse(found, others, similar []ranked) []ranked {
	scores := make(map[string]float64, len(found)+len(others))
	for _, r := range others {
		scores[r.name] = 0
	}
	for _, r := range found {
		scores[r.name] = r.score / found[0].score
	}
	for _, r := range similar {
		if score, ok := scores[r.name]; ok {
			scores[r.name] = score + meaningWeight*r.score
		}
	}
	fused := make([]ranked, 0, len(scores))
	for name, score := range scores {
		if score > 0 {
			fused = append(fused, ranked{name, score})
		}
	}
	slices.SortFunc(fused, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	return fused
}
