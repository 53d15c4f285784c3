package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// benchmark measures calls to a server that answers with their own params.
func benchmark(b *testing.B, tr mcp.Transport) {
	conn := assert.Value(tr.Connect(context.Background()))(b)
	defer func() { _ = conn.Close() }()
	params := json.RawMessage(`{"name":"echo","arguments":{"text":"hello"}}`)
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(conn.(mcp.Caller).Call(context.Background(), "tools/call", params, nil))(b)
	}
}

// echoPipe answers each request on a line by write.
func echoPipe(write func(w io.Writer, request []byte) error) *transport.Pipe {
	return &transport.Pipe{Serve: func(_ context.Context, t mcp.Transport) error {
		pipe := t.(*sdk.IOTransport)
		for lines := bufio.NewReader(pipe.Reader); ; {
			line, err := lines.ReadSlice('\n')
			if err == nil {
				err = write(pipe.Writer, line)
			}
			if err != nil {
				return nil
			}
		}
	}}
}

// benchmarkHTTP measures calls to a server that answers by write.
func benchmarkHTTP(b *testing.B, write func(w io.Writer, request []byte) error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if body, err := io.ReadAll(r.Body); err == nil {
			_ = write(w, body)
		}
	}))
	defer server.Close()
	benchmark(b, &transport.HTTP{URL: server.URL})
}

// echo answers a request with its own params.
func echo(w io.Writer, request []byte) error {
	m, err := jsonscan.Scan(request)
	if err != nil {
		return err
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...)
	out = append(append(out, `,"result":`...), m.Params...)
	_, err = w.Write(append(out, "}\n"...))
	return err
}

func BenchmarkCallPipe(b *testing.B)    { benchmark(b, echoPipe(echo)) }
func BenchmarkCallCommand(b *testing.B) { benchmark(b, transporttest.Child("serve")) }
func BenchmarkCallHTTP(b *testing.B)    { benchmarkHTTP(b, echo) }

// BenchmarkLargeResult gets a result of 15 MB. The servers are in this process, and
// allocate next to nothing for it.
func BenchmarkLargeResult(b *testing.B) {
	text := bytes.Repeat([]byte("abcdefghi "), 15<<20/10)
	sized := true // HTTP answers have a Content-Length
	large := func(w io.Writer, request []byte) error {
		m, err := jsonscan.Scan(request)
		if err != nil {
			return err
		}
		head, tail := `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"text":"`, "\"}}\n"
		if h, ok := w.(http.ResponseWriter); ok && sized {
			h.Header().Set("Content-Length", strconv.Itoa(len(head)+len(text)+len(tail)))
		}
		_, err = io.Copy(w, io.MultiReader(strings.NewReader(head), bytes.NewReader(text), strings.NewReader(tail)))
		return err
	}
	b.Run("line", func(b *testing.B) { benchmark(b, echoPipe(large)) })
	b.Run("HTTP with length", func(b *testing.B) { benchmarkHTTP(b, large) })
	sized = false
	b.Run("HTTP without length", func(b *testing.B) { benchmarkHTTP(b, large) })
}
