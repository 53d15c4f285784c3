package static_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/embed/static"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

var _ toolset.Embedder = (*static.Vectors)(nil)

// glove has the vectors of words about two things, in the text format of GloVe.
const glove = `the 0.1 0.1 0.1
invoice 0.9 0.1 0.0
bill 1.8 0.3 0.1
delete 0.1 0.2 1.0
erase 0.1 0.1 0.9
weather 0.0 1.0 0.1
rain 0.1 0.9 0.0
. . . 0.2 0.2 0.2
`

// word2vec returns the vectors of glove in the formats of word2vec.
func word2vec(t *testing.T, asText bool) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(glove, ". . .", "...")), "\n")
	var out bytes.Buffer
	fmt.Fprintf(&out, "%d 3\n", len(lines))
	for _, line := range lines {
		if asText {
			out.WriteString(line + "\n")
			continue
		}
		var word string
		var vector [3]float32
		if _, err := fmt.Sscan(line, &word, &vector[0], &vector[1], &vector[2]); err != nil {
			t.Fatal(err)
		}
		out.WriteString(word + " ")
		for _, x := range vector {
			out.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func mustRead(t *testing.T, data string, opts *static.Options) *static.Vectors {
	t.Helper()
	v, err := static.Read(strings.NewReader(data), opts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// likeness returns how like each other two texts are, from -1 to 1.
func likeness(t *testing.T, v *static.Vectors, a, b string) float64 {
	t.Helper()
	vectors, err := v.Embed(t.Context(), []string{a, b})
	if err != nil || len(vectors) != 2 {
		t.Fatalf("got %d vectors, %v, want 2", len(vectors), err)
	}
	sum := 0.0
	for i, x := range vectors[0] {
		sum += float64(x) * float64(vectors[1][i])
	}
	return sum
}

// TestFormats: vectors say the same in each format, also after they were written.
func TestFormats(t *testing.T) {
	var table bytes.Buffer
	n, err := mustRead(t, glove, nil).WriteTo(&table)
	if err != nil || n != int64(table.Len()) {
		t.Fatalf("got %d bytes, %v, want %d", n, err, table.Len())
	}
	for name, data := range map[string]string{
		"glove": glove, "word2vec text": word2vec(t, true), "word2vec binary": word2vec(t, false), "table": table.String(), "no line end": strings.TrimSpace(glove),
	} {
		v := mustRead(t, data, nil)
		if v.Numbers() != 3 {
			t.Errorf("%s: got vectors of %d numbers, want 3", name, v.Numbers())
		}
		if v.Words() < 7 {
			t.Errorf("%s: got %d words, want 7", name, v.Words())
		}
		if like, unlike := likeness(t, v, "Erase bills", "delete_invoice"), likeness(t, v, "erase bills", "rain"); like < 0.8 || unlike > 0 {
			t.Errorf("%s: got a likeness of %.2f and %.2f, want much and none", name, like, unlike)
		}
		if got := likeness(t, v, "xyzzy", "invoice"); got != 0 {
			t.Errorf("%s: got a likeness of %v without a known word, want 0", name, got)
		}
	}
	for _, words := range []int{1, 3, 100} {
		if got, want := mustRead(t, glove, &static.Options{Words: words}).Words(), min(words, 7); got != want {
			t.Errorf("got %d words, want %d", got, want)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.txt")
	if _, err := static.Open(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no file", err)
	}
	if err := os.WriteFile(path, []byte(glove), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := static.Open(path, nil)
	if err != nil || v.Words() != 7 {
		t.Errorf("got %v, want 7 words", err)
	}
}

func TestNotVectors(t *testing.T) {
	var table bytes.Buffer
	if _, err := mustRead(t, glove, nil).WriteTo(&table); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data string
		word int
	}{
		"empty":            {"", 0},
		"prose":            {"This is no file of vectors.\n", 1},
		"two words":        {"two words\n", 0},
		"no numbers":       {"word\n", 0},
		"negative":         {"3 -1\n\n", 0},
		"huge":             {"3 100000\n", 0},
		"too few":          {"a 1 2 3\nb 1 2\n", 2},
		"not a number":     {"a 1 2 3\nb 1 NaN 2\n", 2},
		"long line":        {"a 1 2 3\nb " + strings.Repeat("1", 300<<10), 2},
		"binary, cut off":  {word2vec(t, false)[:30], 2},
		"no words":         {"5 3", 0},
		"table, cut off":   {table.String()[:60], 2},
		"table, no length": {table.String()[:25], 0},
	} {
		_, err := static.Read(strings.NewReader(c.data), nil)
		var wrong *static.FormatError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: got %v, want a *FormatError", name, err)
			continue
		}
		if wrong.Word != c.word {
			t.Errorf("%s: got %v, want word %d", name, err, c.word)
		}
	}
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustRead(t, glove, nil).Embed(ctx, []string{"invoice"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestSearch: a Finder finds a tool by words that mean the same.
func TestSearch(t *testing.T) {
	r := registry.New(nil)
	finder, err := toolset.New(r, &toolset.Options{Embedder: mustRead(t, glove, nil)})
	if err != nil {
		t.Fatal(err)
	}
	do := func(context.Context, struct{}) (*mcp.CallToolResult, error) { return nil, nil }
	if err := r.Add(registry.MustFunc("send_invoice", "", do), registry.MustFunc("weather", "", do)); err != nil {
		t.Fatal(err)
	}
	matches, err := finder.Search(t.Context(), toolset.Query{Text: "rain"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range matches {
		names = append(names, m.Tool.Definition().Name)
	}
	if !slices.Equal(names, []string{"weather"}) {
		t.Errorf("got %q, want weather", names)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(glove)
	f.Add("2 1\na 1\nb 2\n")
	f.Add("mcpbelt word vectors 1\n\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x01")
	f.Fuzz(func(t *testing.T, data string) {
		v, err := static.Read(strings.NewReader(data), &static.Options{Words: 100})
		if err != nil {
			return
		}
		vectors, err := v.Embed(t.Context(), []string{data})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range vectors[0] {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Errorf("got %v, want numbers", vectors[0])
			}
		}
	})
}
