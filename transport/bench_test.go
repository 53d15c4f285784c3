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

func BenchmarkCallPipe(b *testing.B) {
	benchmark(b, &transport.Pipe{Serve: func(_ context.Context, t mcp.Transport) error {
		pipe := t.(*sdk.IOTransport)
		lines := bufio.NewReader(pipe.Reader)
		for {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				return nil
			}
			if _, err := pipe.Writer.Write(append(echo(line), '\n')); err != nil {
				return nil
			}
		}
	}})
}

func echo(request []byte) []byte {
	m, err := jsonscan.Scan(request)
	if err != nil {
		return nil
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...)
	out = append(append(out, `,"result":`...), m.Params...)
	return append(out, '}')
}

func BenchmarkCallCommand(b *testing.B) { benchmark(b, transporttest.Child("serve")) }

func BenchmarkCallHTTP(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(echo(body))
	}))
	defer server.Close()
	benchmark(b, &transport.HTTP{URL: server.URL})
}

// BenchmarkLargeResult gets a result of 15 MB. The servers are in this process, and
// allocate next to nothing for it.
func BenchmarkLargeResult(b *testing.B) {
	text := bytes.Repeat([]byte("abcdefghi "), 15<<20/10)
	result := func(id []byte) io.Reader {
		return io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"text":"`), bytes.NewReader(text), strings.NewReader(`"}}`))
	}
	b.Run("line", func(b *testing.B) {
		benchmark(b, &transport.Pipe{Serve: func(_ context.Context, t mcp.Transport) error {
			pipe := t.(*sdk.IOTransport)
			lines := bufio.NewReader(pipe.Reader)
			for {
				line, err := lines.ReadSlice('\n')
				if err != nil {
					return nil
				}
				m, err := jsonscan.Scan(line)
				if err != nil {
					return err
				}
				if _, err := io.Copy(pipe.Writer, io.MultiReader(result(m.ID), strings.NewReader("\n"))); err != nil {
					return nil
				}
			}
		}})
	})
	for name, sized := range map[string]bool{"HTTP with length": true, "HTTP without length": false} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				m, err := jsonscan.Scan(body)
				if err != nil {
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if sized {
					n := len(`{"jsonrpc":"2.0","id":,"result":{"text":""}}`) + len(m.ID) + len(text)
					w.Header().Set("Content-Length", strconv.Itoa(n))
				}
				_, _ = io.Copy(w, result(m.ID))
			}))
			defer server.Close()
			benchmark(b, &transport.HTTP{URL: server.URL})
		})
	}
}
