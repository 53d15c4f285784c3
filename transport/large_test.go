// Tests of line.go, events.go, endpoint.go and frame.go: what large messages cost.

package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// largeMessage is the size of a message that is put together of many reads.
const largeMessage = 3 << 20

// wantCost runs f and checks that it allocates no more than most times size bytes.
func wantCost(t *testing.T, size int, most float64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	got := float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
	assert.True(t, got <= most, "%.1f times %d bytes allocated, at most %.1f", got, size, most)
}

// wantBytes checks bytes without showing them.
func wantBytes(t *testing.T, got, want []byte, what string, args ...any) {
	t.Helper()
	assert.True(t, bytes.Equal(got, want), "%s: the %d bytes are those %d that were sent", fmt.Sprintf(what, args...), len(got), len(want))
}

// A line is what a lineReader returns.
type line struct {
	bytes    []byte
	oversize bool
}

func nextLine(t *testing.T, lines *lineReader) line {
	t.Helper()
	text, oversize, err := lines.next()
	assert.OK(t, err)
	return line{text, oversize}
}

// A large line is read in pieces that are put together once.
func TestLargeLineCost(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefghi\t"), largeMessage/10)
	lines := lineReader{r: &chunks{data: append(bytes.Clone(text), "\nnext\n"...), size: 60_001}, limit: largeMessage}
	var got line
	wantCost(t, largeMessage, 3, func() { got = nextLine(t, &lines) })
	assert.False(t, got.oversize, "oversize")
	wantBytes(t, got.bytes, text, "line")
	assert.Equal(t, string(nextLine(t, &lines).bytes), "next", "next line")
}

// A line beyond the limit costs nearly nothing.
func TestOversizeLineCost(t *testing.T) {
	text := strings.Repeat("a", 300) + strings.Repeat("b", largeMessage) + strings.Repeat("c", 300)
	for _, size := range []int{100, 60_001} {
		lines := lineReader{r: &chunks{data: []byte(text + "\nnext\n"), size: size}, limit: 1 << 19, skips: true}
		var got line
		wantCost(t, largeMessage, 1.5, func() { got = nextLine(t, &lines) })
		assert.True(t, got.oversize, "oversize")
		assert.Equal(t, string(got.bytes), text[:256]+text[len(text)-256:], "ends of the line")
		assert.Equal(t, string(nextLine(t, &lines).bytes), "next", "next line")
	}
}

// So is a large event.
func TestLargeEventCost(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefghi\t"), largeMessage/10)
	in := slices.Concat([]byte("data: "), text, []byte("\r\n\r\n: a comment\ndata: next\n\n"))
	for _, size := range []int{1000, 60_001, len(in)} {
		events := newEventReader(&chunks{data: in, size: size}, largeMessage)
		var got event
		wantCost(t, largeMessage, 3, func() { got = assert.Value(events.next())(t) })
		wantBytes(t, got.data, text, "event in reads of %d", size)
		assert.Equal(t, string(assert.Value(events.next())(t).data), "next", "next event")
		assert.As[*mcp.LimitError](t, assert.Err(newEventReader(&chunks{data: in, size: size}, int64(len(text)-1)).next()), "beyond the limit")
	}
}

// Of the length of a body a part is believed, and the rest when that has come.
func TestLargeBodyCost(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefghi\t"), largeMessage/10)
	for _, test := range []struct {
		name   string
		length int64
	}{{"length", int64(len(text))}, {"no length", -1}, {"wrong length", largeMessage / 3}} {
		t.Run(test.name, func(t *testing.T) {
			resp := &http.Response{Body: io.NopCloser(&chunks{data: text, size: 60_001}), ContentLength: test.length}
			var got []byte
			wantCost(t, largeMessage, 3, func() { got = assert.Value(readBody(resp, largeMessage))(t) })
			wantBytes(t, got, text, "body")
			resp.Body = io.NopCloser(&chunks{data: text, size: 60_001})
			assert.As[*mcp.LimitError](t, assert.Err(readBody(resp, int64(len(text)-1))), "beyond the limit")
		})
	}
	t.Run("length without body", func(t *testing.T) {
		resp := &http.Response{Body: io.NopCloser(strings.NewReader("short")), ContentLength: largeMessage}
		wantCost(t, largeMessage, 1, func() { _, _ = readBody(resp, largeMessage) })
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

// countedConn counts the writes to a connection.
type countedConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// A large request takes one write more than a small one.
func TestLargeRequestIsWrittenAtOnce(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefgh"), largeMessage/8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		assert.OK(t, err)
		wantBytes(t, got, text[:r.ContentLength], "body")
	}))
	defer server.Close()
	e := assert.Value(newEndpoint(&HTTP{URL: server.URL}))(t)
	defer e.close()
	writes := new(atomic.Int32)
	dial := e.owned.DialContext
	e.owned.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		assert.OK(t, err)
		return wholeConn{countedConn{conn.(wholeConn).Conn, writes}}, nil
	}
	for _, size := range []int{100, largeMessage} {
		writes.Store(0)
		finish(assert.Value(e.do(t.Context(), http.MethodPost, e.url, http.Header{}, text[:size]))(t))
		assert.Equal(t, int(writes.Load()), 1+size/largeMessage, "writes of %d bytes", size)
	}
}
