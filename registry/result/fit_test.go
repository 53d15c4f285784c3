package result

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

var goOn = regexp.MustCompile(`go on with offset (\d+)\]$`)

// readAll reads a block page by page and returns it whole.
func readAll(t testing.TB, ctx context.Context, r *Shaper, handle string, block, limit int) string {
	t.Helper()
	var whole strings.Builder
	for offset := 0; ; {
		args, _ := json.Marshal(map[string]any{"handle": handle, "block": block, "offset": offset, "limit": limit})
		res := callReader(t, ctx, r, args)
		if res.IsError {
			t.Fatalf("%s: %s", args, Text(res))
		}
		if n := len(Text(res)); n > r.maxBytes {
			t.Fatalf("a page has %d bytes", n)
		}
		at := min(len(res.Content)-1, 2) // within an envelope
		whole.WriteString(res.Content[at].(*mcp.TextContent).Text)
		m := goOn.FindStringSubmatch(res.Content[0].(*mcp.TextContent).Text)
		if m == nil {
			return whole.String()
		}
		next, _ := strconv.Atoi(m[1])
		if next <= offset {
			t.Fatalf("after offset %d comes %d", offset, next)
		}
		offset = next
	}
}

var (
	handles  = regexp.MustCompile(`"handle":"([A-Z0-9]{26})","block":(\d+)`)
	gapMarks = regexp.MustCompile(`\n\[bytes (\d+) to (\d+) of (\d+) are left out here; read them [^\n]*\]\n`)
)

// handleIn returns the handle that a result gives.
func handleIn(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	m := handles.FindStringSubmatch(Text(res))
	if m == nil {
		t.Fatalf("no handle in %.500q", Text(res))
	}
	return m[1]
}

// wild makes texts of all sorts of characters.
func wild(source *rand.Rand, length int) string {
	pieces := []string{"a", "word ", "\n", "ä", "漢", "👩‍🚀", "\r\n", "\"", "\\", "<", "\x00", "error ", "line\n"}
	if source.IntN(4) == 0 {
		pieces = append(pieces, "\xff", "\x80", "\xe6\xbc") // as native tools may
	}
	if source.IntN(4) == 0 {
		pieces = []string{"\x80", "\xbf"}
	}
	var text strings.Builder
	for text.Len() < length {
		text.WriteString(pieces[source.IntN(len(pieces))])
	}
	return text.String()
}

// checkFit shapes a result and checks what must hold for each.
func checkFit(t testing.TB, r *Shaper, res *mcp.CallToolResult) {
	t.Helper()
	ctx := context.Background()
	before := jsonOf(t, res)
	got := r.Shape(ctx, stranger(), res)
	assert.Equal(t, jsonOf(t, res), before, "the result was changed")
	text := Text(got)
	if len(text) > r.maxBytes {
		t.Fatalf("%d bytes of text, %d are allowed:\n%.2000s", len(text), r.maxBytes, text)
	}
	if raw := structured(got); raw != nil && (len(raw) > r.maxBytes || !reflect.DeepEqual(raw, structured(res))) {
		t.Fatal("the structured content was cut")
	}
	if got == res || !handles.MatchString(text) {
		return
	}
	// What is left out can be read, and is what belongs there.
	handle := handleIn(t, got)
	for i, c := range res.Content {
		if whole, ok := textIn(c); ok && !r.opts.Wrap {
			assert.Equal(t, readAll(t, ctx, r, handle, i, 0), whole, "block %d, bytes were read", i)
		}
	}
	for _, c := range got.Content {
		shown, _ := textIn(c)
		m := gapMarks.FindStringSubmatchIndex(shown)
		if m == nil || r.opts.Wrap {
			continue
		}
		number := func(i int) int { n, _ := strconv.Atoi(shown[m[i]:m[i+1]]); return n }
		from, to := number(2), number(4)
		block, _ := strconv.Atoi(handles.FindStringSubmatch(shown)[2])
		whole := readAll(t, ctx, r, handle, block, 700)
		if shown[:m[0]] != whole[:from] || shown[m[1]:] != whole[to:] || number(6) != len(whole) {
			t.Fatalf("the gap in block %d is not from %d to %d", block, from, to)
		}
	}
}

// Whatever comes, the text stays within the limit, and what is left out can be
// read, byte for byte.
func TestFitAnything(t *testing.T) {
	long := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Text: strings.Repeat("long ", 1000)}}
	checkFit(t, New(&Options{MaxBytes: 2 << 10}), &mcp.CallToolResult{Content: []mcp.Content{long}})
	smallMedia := keptBounds()
	smallMedia.media = 64
	image := &mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 65)}
	checkFit(t, newShaper(Options{}, smallMedia), &mcp.CallToolResult{Content: []mcp.Content{image}, StructuredContent: json.RawMessage(`{"images":1}`)})
	source := rand.New(rand.NewPCG(1, 2))
	for round := range assert.Cases(20, 150) {
		r := newShaper(Options{MaxBytes: 1 << 10 << source.IntN(4), Wrap: source.IntN(3) == 0}, smallMedia)
		res := &mcp.CallToolResult{IsError: source.IntN(4) == 0}
		for range source.IntN(1 << source.IntN(8)) {
			text := wild(source, source.IntN(1<<source.IntN(15)))
			var c mcp.Content
			switch source.IntN(12) {
			case 0:
				c = &mcp.ImageContent{MIMEType: text[:min(len(text), 80)], Data: make([]byte, source.IntN(100))}
			case 1:
				c = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: wild(source, source.IntN(2000)), Text: text}}
			case 2:
				c = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Blob: make([]byte, source.IntN(100))}}
			case 3:
				c = &mcp.ResourceLink{URI: text, Name: wild(source, 50), Description: wild(source, source.IntN(500))}
			default:
				c = textBlock(text)
			}
			res.Content = append(res.Content, c)
		}
		if source.IntN(3) == 0 {
			res.StructuredContent = json.RawMessage(jsonOf(t, map[string]any{"text": wild(source, source.IntN(10000))}))
		}
		checkFit(t, r, res)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add("short", uint16(0), uint8(1), false)
	f.Add(strings.Repeat("漢\n", 2000), uint16(700), uint8(3), true)
	f.Add(strings.Repeat("\x80", 5000), uint16(1), uint8(1), false)
	f.Fuzz(func(t *testing.T, text string, limit uint16, copies uint8, failed bool) {
		r := New(&Options{MaxBytes: 1 + int(limit)})
		res := &mcp.CallToolResult{IsError: failed}
		text = text[:min(len(text), 2000)]
		for i := range copies % 8 {
			res.Content = append(res.Content, textBlock(strings.Repeat(text, 1+int(i)*7%5)))
		}
		checkFit(t, r, res)
	})
}
