package transport

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
			assert.Equal(t, err, io.EOF, "%s, %s", name, chunk)
			assert.Equal(t, strings.TrimSpace(got), c.want, "%s, %s", name, chunk)
		}
	}
}

func TestEventReaderLimit(t *testing.T) {
	for in, fits := range map[string]bool{
		"data: " + strings.Repeat("x", 100) + "\n\n": true, "data:" + strings.Repeat("x", 101) + "\n\n": false,
		"data:" + strings.Repeat("x", 200) + "\n\n": false, strings.Repeat("data: xxxxxxxxx\n", 30) + "\n": false,
		": " + strings.Repeat("x", 200) + "\n\n": false, strings.Repeat(": xxxxxxxxx\n", 30) + "data: x\n\n": true,
		strings.Repeat("data: "+strings.Repeat("x", 90)+"\n\n", 9): true,
	} {
		_, err := readEvents(strings.NewReader(in), 100)
		if fits {
			assert.Equal(t, err, io.EOF, "%.30q", in)
		} else {
			assert.As[*mcp.LimitError](t, err, "%.30q", in)
		}
	}
}

// What is too large is dropped while it is read, so that it costs a few times the limit,
// however large it is.
func TestRefusedEventCostsItsLimit(t *testing.T) {
	const limit, size = 1 << 20, 12 << 20
	repeated := func(text string) io.Reader { return &repeat{text: text, left: size} }
	for name, data := range map[string]io.Reader{
		"one line":    io.MultiReader(strings.NewReader("data: "), repeated(strings.Repeat("x", 4<<10))),
		"short lines": repeated("data: " + strings.Repeat("x", 250) + "\n"),
		"long lines":  repeated("data: " + strings.Repeat("x", limit/2) + "\n"),
		"other lines": io.MultiReader(strings.NewReader("data: x\n:"), repeated(strings.Repeat("x", 4<<10))),
	} {
		t.Run(name, func(t *testing.T) {
			wantCost(t, limit, 9, func() {
				assert.As[*mcp.LimitError](t, assert.Err(newEventReader(data, limit).next()))
			})
		})
	}
}

// repeat reads a text again and again.
type repeat struct {
	text     string
	left, at int
}

func (r *repeat) Read(p []byte) (n int, err error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	for n < len(p) && r.left > 0 {
		c := copy(p[n:min(len(p), n+r.left)], r.text[r.at:])
		r.at = (r.at + c) % len(r.text)
		r.left -= c
		n += c
	}
	return n, nil
}

// chunks reads size bytes at a time.
type chunks struct {
	data []byte
	size int
	idle bool // nothing came by the last read
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.idle = !c.idle; c.idle {
		return 0, nil
	}
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// parseEvents reads a whole event stream by the letter of the HTML standard,
// and writes its events down as readEvents does.
func parseEvents(stream string) string {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n")
	digits := regexp.MustCompile(`^[0-9]+$`)
	var out strings.Builder
	fields := map[string]string{}
	for _, line := range lines[:len(lines)-1] { // the last has no end
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			retry, _ := strconv.Atoi(fields["retry"])
			retry = min(retry, int(longestRetry/time.Millisecond))
			data, hasData := fields["data"]
			if hasData || fields["id"] != "" || retry != 0 {
				fmt.Fprintf(&out, "%q %q %q %v\n", fields["event"], strings.TrimSuffix(data, "\n"), fields["id"], time.Duration(retry)*time.Millisecond)
			}
			fields = map[string]string{}
		case name == "data":
			fields["data"] += value + "\n"
		case name == "id" && !strings.Contains(value, "\x00"), name == "event", name == "retry" && digits.MatchString(value):
			fields[name] = value
		}
	}
	return out.String()
}

// FuzzEvents: the reader finds what another parser finds, however the stream
// is cut into reads.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data\ndata\n\n", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "\xef\xbb\xbfid: 1\n\n", ":\xef\xbb\xbf\n\ndata:x\n\n",
		"event: e\nid: a\x00b\nretry: 10\nretry: x\ndata:  two\n\n", "retry: 99999999999\n\n", "retry:0\n\n", "data: a\n\r\ndata: b", "id\nid: 2\nid:\n\n", "\r", "\n\r\n",
	} {
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		want := parseEvents(string(data))
		parts := int(size)%13 + 1
		for _, size := range []int{parts, len(data) + 1} {
			got, err := readEvents(&chunks{data: data, size: size}, 1<<30)
			assert.Equal(t, err, io.EOF, "reads of %d", size)
			assert.Equal(t, got, want, "%q in reads of %d", data, size)
		}
		whole, wholeErr := readEvents(bytes.NewReader(data), 64) // a limit that some exceed
		got, err := readEvents(&chunks{data: data, size: parts}, 64)
		assert.Equal(t, got, whole, "%q in reads of %d, with a limit", data, parts)
		assert.Equal(t, fmt.Sprint(err), fmt.Sprint(wholeErr), "%q in reads of %d, with a limit", data, parts)
	})
}
