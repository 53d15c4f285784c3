package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// readEvents writes down the events of r, one a line.
func readEvents(r io.Reader, limit int64) (string, error) {
	var out strings.Builder
	for events := newEventReader(r, limit); ; {
		ev, err := events.next()
		if err != nil {
			return out.String(), err
		}
		fmt.Fprintf(&out, "%q %q %q %v\n", ev.name, ev.data, ev.id, ev.retry)
	}
}

func TestEventReader(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"one":               {"data: a\n\n", `"" "a" "" 0s`},
		"two lines":         {"data: a\ndata: b\n\n", `"" "a\nb" "" 0s`},
		"empty data":        {"data\n\n", `"" "" "" 0s`},
		"all fields":        {"event: e\nid: 1\nretry: 5\ndata:x\n\n", `"e" "x" "1" 5ms`},
		"one blank only":    {"data:  x \n\n", `"" " x " "" 0s`},
		"CR":                {"data: a\r\rdata: b\r\r", "\"\" \"a\" \"\" 0s\n\"\" \"b\" \"\" 0s"},
		"CR LF":             {"data: a\r\n\r\ndata: b\r\n\r\n", "\"\" \"a\" \"\" 0s\n\"\" \"b\" \"\" 0s"},
		"CR LF in an event": {"event: e\r\ndata: a\r\ndata: b\r\n\r\n", `"e" "a\nb" "" 0s`},
		"mark":              {"\xef\xbb\xbfdata: a\n\n", `"" "a" "" 0s`},
		"mark inside":       {"data: a\n\n\xef\xbb\xbfdata: b\n\n", `"" "a" "" 0s`},
		"comment":           {":x\n: y\ndata: a\n:\n\n", `"" "a" "" 0s`},
		"unknown":           {"foo: x\ndata: a\nbar\n\n", `"" "a" "" 0s`},
		"name only":         {"event: e\n\ndata: a\n\n", `"" "a" "" 0s`},
		"id only":           {"id: 7\n\n", `"" "" "7" 0s`},
		"id with NUL":       {"id: a\x00\ndata: a\n\n", `"" "a" "" 0s`},
		"retry not number":  {"retry: 1x\ndata: a\n\n", `"" "a" "" 0s`},
		"longest retry":     {"retry: 30000\ndata: a\n\n", `"" "a" "" 30s`},
		"retry of an hour":  {"retry: 3600000\ndata: a\n\n", `"" "a" "" 30s`},
		"endless retry":     {"retry: " + strings.Repeat("9", 40) + "\ndata: a\n\n", `"" "a" "" 30s`},
		"negative retry":    {"retry: -1\ndata: a\n\n", `"" "a" "" 0s`},
		"unfinished":        {"data: a\n\ndata: b\n", `"" "a" "" 0s`},
		"nothing":           {"\n\n\n", ""},
	} {
		for chunk, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in)),
			"halves": iotest.HalfReader(strings.NewReader(c.in)), "data with error": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			got, err := readEvents(r, 1000)
			if err != io.EOF || strings.TrimSpace(got) != c.want {
				t.Errorf("%s, %s: got %s, %v", name, chunk, got, err)
			}
		}
	}
}

func TestEventReaderLimit(t *testing.T) {
	for in, fits := range map[string]bool{
		"data: " + strings.Repeat("x", 100) + "\n\n":               true,
		"data:" + strings.Repeat("x", 101) + "\n\n":                false,
		"data:" + strings.Repeat("x", 200) + "\n\n":                false,
		strings.Repeat("data: xxxxxxxxx\n", 30) + "\n":             false,
		": " + strings.Repeat("x", 200) + "\n\n":                   false,
		strings.Repeat(": xxxxxxxxx\n", 30) + "data: x\n\n":        true,
		strings.Repeat("data: "+strings.Repeat("x", 90)+"\n\n", 9): true,
	} {
		_, err := readEvents(strings.NewReader(in), 100)
		var limit *mcp.LimitError
		if fits != (err == io.EOF) || !fits && !errors.As(err, &limit) {
			t.Errorf("%.30q: got %v", in, err)
		}
	}
}

// A reader that skips gives the ends of what is too large, and what follows.
func TestEventReaderSkips(t *testing.T) {
	long := strings.Repeat("a", 300) + strings.Repeat("b", 600) + strings.Repeat("c", 300)
	for name, in := range map[string]string{
		"line":    "data: " + long + "\n\n",
		"lines":   "data: " + long[:600] + "\ndata: " + long[600:] + "\n\n",
		"comment": ":" + long + "\ndata: a" + long + "c\n\n",
	} {
		for _, size := range []int{1, 100, 5000} {
			events := newEventReader(&chunks{[]byte(in + "data: next\n\n"), size}, 700)
			events.skips = true
			ev, err := events.next()
			if err != nil || !ev.oversize || len(ev.data) > 2*keptOfOversize || !bytes.HasPrefix(ev.data, []byte("aaa")) || !bytes.HasSuffix(ev.data, []byte("ccc")) {
				t.Errorf("%s by %d: %v %v %q", name, size, err, ev.oversize, ev.data)
			}
			if ev, err := events.next(); err != nil || ev.oversize || string(ev.data) != "next" {
				t.Errorf("%s by %d: after it: %q, %v", name, size, ev.data, err)
			}
		}
	}
	events := newEventReader(io.MultiReader(strings.NewReader("data: "), strings.NewReader(strings.Repeat("x", 20_000))), 700)
	events.skips = true
	var limit *mcp.LimitError
	if _, err := events.next(); !errors.As(err, &limit) {
		t.Errorf("without end: %v", err)
	}
}

// TestRefusedEventCostsItsLimit: what is too large is dropped while it is read, in one
// line or in many, so that it costs a few times the limit, however large it is.
func TestRefusedEventCostsItsLimit(t *testing.T) {
	const limit, size = 1 << 20, 12 << 20
	allocated := func(read func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	repeated := func(text string) io.Reader { return &repeat{text: text, left: size} }
	for name, data := range map[string]io.Reader{
		"one line":    io.MultiReader(strings.NewReader("data: "), repeated("x")),
		"short lines": repeated("data: " + strings.Repeat("x", 250) + "\n"),
		"long lines":  repeated("data: " + strings.Repeat("x", limit/2) + "\n"),
		"other lines": io.MultiReader(strings.NewReader("data: x\n:"), repeated("x")),
	} {
		ofEvent := allocated(func() {
			events := newEventReader(io.MultiReader(data, strings.NewReader("\ndata: end\n\ndata: next\n\n")), limit)
			events.skips = true
			if _, err := events.next(); err != nil {
				t.Errorf("%s: got error %v, want none", name, err)
			}
			if ev, err := events.next(); err != nil || string(ev.data) != "next" {
				t.Errorf("%s: got %.20q and the error %v, want the next event", name, ev.data, err)
			}
		})
		if ofEvent > 9*limit {
			t.Errorf("%s: got %d bytes of memory allocated, want at most 9 times the limit of %d", name, ofEvent, limit)
		}
	}
}

// repeat reads a text again and again.
type repeat struct {
	text string
	left int
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && r.left > 0 {
		c := copy(p[n:min(len(p), n+r.left)], r.text[r.at:])
		r.at = (r.at + c) % len(r.text)
		r.left -= c
		n += c
	}
	return n, nil
}

// FuzzEventReader: how a stream is cut into reads must not change its events.
func FuzzEventReader(f *testing.F) {
	for _, s := range []string{"data: a\r\n\r\n", "\xef\xbb\xbfid:1\rdata\n\r\n", "event: x\n\n:\r\rdata: y\n\n", "retry: 9\ndata: a\n\r"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		whole, wholeErr := readEvents(bytes.NewReader(data), 64)
		parts, partsErr := readEvents(&chunks{data, int(size)%7 + 1}, 64)
		if whole != parts || fmt.Sprint(wholeErr) != fmt.Sprint(partsErr) {
			t.Fatalf("whole: %s %v\nparts: %s %v", whole, wholeErr, parts, partsErr)
		}
	})
}

// chunks reads size bytes at a time.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}
