package static

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

// Options are the options of [Open] and [Read]. Nil and the zero value mean the defaults.
type Options struct {
	// Words is how many words are read, the first of the file. One of 100 numbers takes
	// about 150 bytes. Default: 50,000; at most 1,000,000.
	Words int
}

const (
	defaultWords = 50_000
	mostWords    = 1_000_000
	mostNumbers  = 4096 // of a vector
)

// Vectors embed texts by the vectors of their words. They implement Embedder of package
// registry/toolset. [Open] and [Read] make them; they are never changed, and safe for
// concurrent use.
type Vectors struct {
	places map[string]int32 // of the words, from the most frequent
	rows   []int8           // of all words, one after another
	scales []float32        // what a byte of a row stands for
	mean   []float32        // of all words, which says nothing of any
}

// Open reads the file of that name. A [*FormatError] tells where it is not a file of vectors;
// any other error is one of the file system.
func Open(path string, opts *Options) (*Vectors, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("static: open vectors: %w", err)
	}
	v, err := Read(f, opts)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("static: close vectors: %w", closed)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Words returns how many words have a vector.
func (v *Vectors) Words() int { return len(v.places) }

// Numbers returns how many numbers a vector has.
func (v *Vectors) Numbers() int { return len(v.mean) }

// commonness is how frequent a word is that counts half, of all words of a text.
const commonness = 1e-3

// Embed returns the vectors of texts, of the length 1. That of a text without a known word is
// zero. The error is that of ctx.
func (v *Vectors) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = v.embed(text)
	}
	return vectors, nil
}

func (v *Vectors) embed(text string) []float32 {
	n := len(v.mean)
	sum := make([]float32, n)
	seen := map[int32]bool{}
	for _, word := range bm25.Words(text) {
		place, ok := v.place(word)
		if !ok || seen[place] {
			continue
		}
		seen[place] = true
		weight := float32(commonness / (commonness + v.frequency(place)))
		row, scale := v.rows[int(place)*n:][:n], v.scales[place]
		for i, b := range row {
			sum[i] += weight * (float32(b)*scale - v.mean[i])
		}
	}
	unit(sum)
	return sum
}

// place returns where a word is, or the form of it that stands for its plural and other forms.
func (v *Vectors) place(word string) (int32, bool) {
	if place, ok := v.places[word]; ok {
		return place, true
	}
	place, ok := v.places[bm25.Stem(word)]
	return place, ok
}

// frequency estimates which part of all words of texts a word is: the n-th word is about as
// frequent as the first one divided by n.
func (v *Vectors) frequency(place int32) float64 {
	return 1 / (float64(place+1) * (1 + math.Log(float64(len(v.places)))))
}

// unit gives a vector the length 1, unless it has none.
func unit(vector []float32) {
	square := 0.0
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
		clear(vector)
		return
	}
	scale := float32(1 / math.Sqrt(square))
	for i := range vector {
		vector[i] *= scale
	}
}

// newVectors returns vectors without words, of so many numbers.
func newVectors(numbers int) *Vectors {
	return &Vectors{places: map[string]int32{}, mean: make([]float32, numbers)}
}

// add adds a word, unless it is there or its vector has no direction.
func (v *Vectors) add(word string, vector []float32) {
	if _, again := v.places[word]; again || word == "" {
		return
	}
	unit(vector)
	largest := float32(0)
	for i, x := range vector {
		v.mean[i] += x
		largest = max(largest, x, -x)
	}
	if largest == 0 {
		return
	}
	v.places[word] = int32(len(v.scales))
	scale := largest / math.MaxInt8
	v.scales = append(v.scales, scale)
	for _, x := range vector {
		v.rows = append(v.rows, int8(math.Round(float64(x/scale))))
	}
}

// finish makes the mean of what add has added up.
func (v *Vectors) finish() {
	for i := range v.mean {
		v.mean[i] /= float32(max(len(v.places), 1))
	}
}
