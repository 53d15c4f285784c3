// Tests of stream.go and line.go: messages that are begun and not continued.

package transport_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// newWriter returns a server that writes pieces, with a pause after each, reads all
// that it is sent, and does nothing else.
func newWriter(pause time.Duration, pieces ...string) *transport.Pipe {
	return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
		raw := t.(*sdk.IOTransport)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for buf := make([]byte, 1<<10); ; {
				if _, err := raw.Reader.Read(buf); err != nil {
					return
				}
			}
		}()
		for _, piece := range pieces {
			if _, err := raw.Writer.Write([]byte(piece)); err != nil {
				return err
			}
			select {
			case <-time.After(pause):
			case <-gone:
			}
		}
		<-gone
		return nil
	}}
}

// A message that is begun and not continued ends the connection, whoever reads it and
// however often that changes.
func TestHalfAMessageEndsTheConnection(t *testing.T) {
	for name, text := range map[string]string{
		"one byte":           "{",
		"half":               `{"jsonrpc":"2.0","id":1`,
		"after a whole one":  `{"jsonrpc":"2.0","method":"x"}` + "\n" + `{"jsonrpc"`,
		"after noise":        "Listening\n\r\n {",
		"batch":              ` [ {"jsonrpc":"2.0"`,
		"byte order mark":    "\ufeff{",
		"longer than a read": `{"a":"` + strings.Repeat("a", 100<<10),
	} {
		for _, calling := range []time.Duration{0, 5 * time.Second} {
			t.Run(name+"/"+calling.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := dial(t, newWriter(0, text))
					begin := time.Now()
					for calling > 0 && l.Info().Err == nil && time.Since(begin) < time.Hour {
						ctx, stop := context.WithTimeout(t.Context(), calling)
						_, err := l.Call(ctx, "tools/call", nil, nil)
						stop()
						assert.Fails(t, err, "a call")
					}
					ctx, stop := context.WithTimeout(t.Context(), time.Hour)
					defer stop()
					for {
						if _, err := l.Read(ctx); err != nil {
							break
						}
					}
					assert.OK(t, ctx.Err(), "the wait for the end of the connection")
					got := time.Since(begin)
					assert.True(t, 20*time.Second <= got && got <= 40*time.Second, "the end came after about 30 s: %v", got)
					assert.Contains(t, l.Info().Err.Error(), "nothing more for 30s")
				})
			})
		}
	}
}

// What goes on, however slowly, or has not begun, ends nothing.
func TestSlowMessageIsWaitedFor(t *testing.T) {
	message := `{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"` + strings.Repeat("a", 64) + `"}}` + "\n"
	for name, pieces := range map[string][]string{
		"byte by byte":        strings.Split(message, ""),
		"in the end":          {message, "\n", message},
		"noise without end":   {"Loading the model: 10%", "\n", message},
		"blanks":              {message, "  \r", "\n", message},
		"log line in between": {"[INFO] it takes", " long", "\n", message},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pause := 25 * time.Second
				if len(pieces) < len(message) {
					pause = 10 * time.Minute
				}
				l := dial(t, newWriter(pause, pieces...))
				for want := strings.Count(strings.Join(pieces, ""), message); want > 0; want-- {
					assert.Value(l.Read(t.Context()))(t)
				}
				time.Sleep(time.Hour)
				assert.OK(t, l.Info().Err, "connection")
			})
		})
	}
}
