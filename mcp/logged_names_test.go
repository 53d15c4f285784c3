package mcp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// guarded is a buffer that several goroutines write to.
type guarded struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *guarded) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Len()
}

// A server cannot fill the log with what it calls things.
func TestLoggedNamesAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": func(c *mcptest.Call) {
				go func() { _, _ = c.Ask(long, "") }()
				c.Result(`{"tools":[{"name":"` + long + `","inputSchema":7}]}`)
			},
			"tools/call": mcptest.Result(`{"content":[],"resultType":"` + long + `"}`),
		})
		var log guarded
		c := newClient(t, p.to(server), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		assert.Value(c.Tools(t.Context()))(t)
		if _, err := call(t, c, "x"); err == nil || len(err.Error()) > 1<<10 {
			t.Error("an error of", len(err.Error()), "bytes")
		}
		_ = c.Close()
		if n := log.Len(); n == 0 || n > 20<<10 {
			t.Errorf("%d bytes were logged", n)
		}
	})
}
