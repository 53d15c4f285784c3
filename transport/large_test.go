package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// largeMessage is the size of a message near the limit.
const largeMessage = 15 << 20

// wantCost runs f and checks that it allocates no more than most times largeMessage.
func wantCost(t *testing.T, most float64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got := float64(after.TotalAlloc-before.TotalAlloc) / largeMessage; got > most {
		t.Errorf("got %.1f times the size of the message, want at most %.1f", got, most)
	}
}

// A large line is put together once.
func TestLargeLineCost(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefghi\t"), largeMessage/10)
	in := append(bytes.Clone(text), "\nnext\n"...)
	lines := lineReader{r: &chunks{in, 60_001}, limit: largeMessage}
	var got line
	var err error
	wantCost(t, 2.2, func() { got, err = lines.next() })
	assert.OK(t, err)
	if got.oversize {
		t.Error("got an oversize line, want a whole one")
	}
	if !bytes.Equal(got.bytes, text) {
		t.Errorf("got other %d bytes, want those %d that were sent", len(got.bytes), len(text))
	}
	if next, err := lines.next(); string(next.bytes) != "next" {
		t.Errorf("got %q, %v, want the next line", next.bytes, err)
	}
}

// A line beyond the limit costs nearly nothing.
func TestOversizeLineCost(t *testing.T) {
	text := strings.Repeat("a", 300) + strings.Repeat("b", largeMessage) + strings.Repeat("c", 300)
	for _, size := range []int{100, 60_001} {
		in := []byte(text + "\nnext\n")
		lines := lineReader{r: &chunks{in, size}, limit: 1 << 20}
		var got line
		var err error
		wantCost(t, 0.2, func() { got, err = lines.next() })
		assert.OK(t, err)
		if !got.oversize {
			t.Error("got a whole line, want an oversize one")
		}
		if want := text[:256] + text[len(text)-256:]; string(got.bytes) != want {
			t.Errorf("got %q, want the ends %q", got.bytes, want)
		}
		if next, err := lines.next(); string(next.bytes) != "next" {
			t.Errorf("got %q, %v, want the next line", next.bytes, err)
		}
	}
}

// A large event is put together once, and so is the next one.
func TestLargeEventCost(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefghi\t"), largeMessage/10)
	in := slices.Concat([]byte("data: "), text, []byte("\r\n\r\n: a comment\ndata: next\n\n"))
	for _, size := range []int{1000, 60_001, len(in)} {
		events := newEventReader(&chunks{in, size}, largeMessage)
		var got event
		var err error
		wantCost(t, 2.2, func() { got, err = events.next() })
		assert.OK(t, err)
		if !bytes.Equal(got.data, text) {
			t.Errorf("reads of %d: got other %d bytes, want those %d that were sent", size, len(got.data), len(text))
		}
		if next, err := events.next(); string(next.data) != "next" {
			t.Errorf("reads of %d: got %q, %v, want the next event", size, next.data, err)
		}
		if _, err := newEventReader(&chunks{in, size}, largeMessage-1).next(); !errors.As(err, new(*mcp.LimitError)) {
			t.Errorf("reads of %d, beyond the limit: got %v, want a LimitError", size, err)
		}
	}
}

// A message of medium size is put together once as well, in memory that is used again.
func TestMediumMessageCost(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory that is used again")
	}
	const size, times = largeMessage / 150, 150
	text := bytes.Repeat([]byte("abcdefghi\t"), size/10)
	events := slices.Concat([]byte("data: "), text, []byte("\n\n"))
	for name, read := range map[string]func() ([]byte, error){
		"body": func() ([]byte, error) {
			return readBody(&http.Response{Body: io.NopCloser(&chunks{text, 60_001}), ContentLength: -1}, largeMessage)
		},
		"event": func() ([]byte, error) {
			r := newEventReader(&chunks{events, 60_001}, largeMessage)
			defer r.giveBack()
			ev, err := r.next()
			return ev.data, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantCost(t, 1.8, func() {
				for range times {
					if got, err := read(); !bytes.Equal(got, text) {
						t.Fatalf("got other %d bytes and error %v, want those %d that were sent", len(got), err, len(text))
					}
				}
			})
		})
	}
}

// A large body is put together once; its length is believed once a part of it has come.
func TestLargeBodyCost(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefghi\t"), largeMessage/10)
	for _, test := range []struct {
		name   string
		length int64
		most   float64
	}{{"length", int64(len(text)), 1.2}, {"no length", -1, 2.2}, {"wrong length", 5 << 20, 2.6}} {
		t.Run(test.name, func(t *testing.T) {
			resp := &http.Response{Body: io.NopCloser(&chunks{text, 60_001}), ContentLength: test.length}
			var got []byte
			var err error
			wantCost(t, test.most, func() { got, err = readBody(resp, largeMessage) })
			assert.OK(t, err)
			if !bytes.Equal(got, text) {
				t.Errorf("got other %d bytes, want those %d that were sent", len(got), len(text))
			}
			resp.Body = io.NopCloser(&chunks{text, 60_001})
			var tooLarge *mcp.LimitError
			if _, err := readBody(resp, largeMessage-1); !errors.As(err, &tooLarge) {
				t.Errorf("beyond the limit: got %v, want a LimitError", err)
			}
		})
	}
	t.Run("length without body", func(t *testing.T) {
		resp := &http.Response{Body: io.NopCloser(strings.NewReader("short")), ContentLength: largeMessage}
		wantCost(t, 0.1, func() { _, _ = readBody(resp, largeMessage) })
	})
}

// A result that is kept does not keep the message, or the batch, that it came with.
func TestResultApart(t *testing.T) {
	const result = `{"content":[]}`
	filler := strings.Repeat("x", 10<<10)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":%d,"result":` + result + `,"more":"` + filler + `"}`,
		`[{"jsonrpc":"2.0","id":%d,"result":` + result + `},{"jsonrpc":"2.0","id":1000000000,"result":"` + filler + `"}]`,
	} {
		var r router
		call := assert.Value(r.table.Begin(0))(t)
		data := fmt.Appendf(nil, message, call.ID)
		assert.OK(t, r.route(data, nil))
		answer, _, _ := call.Poll(nil)
		clear(data)
		assert.Equal(t, string(answer.Result), result, "after the message was overwritten")
	}
}
