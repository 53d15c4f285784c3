package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A cost is what something allocates.
type cost struct{ count, bytes uint64 }

// costOf returns what one run of f costs, on average over some and after others
// that fill caches and grow buffers.
func costOf(f func()) cost {
	const warm, runs = 50, 200
	for range warm {
		f()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return cost{(after.Mallocs - before.Mallocs) / runs, (after.TotalAlloc - before.TotalAlloc) / runs}
}

// within fails the test if something costs more than it may.
func (c cost) within(t *testing.T, most cost) {
	t.Helper()
	t.Logf("%d allocations, %d bytes", c.count, c.bytes)
	if c.count > most.count || c.bytes > most.bytes {
		t.Errorf("%d allocations and %d bytes, want at most %d and %d", c.count, c.bytes, most.count, most.bytes)
	}
}

// counts skips a test of costs where they cannot be counted.
func counts(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates as well")
	}
}

// A call of a tool with a few words costs no more than this. Over HTTP that is
// mostly net/http, on both of its ends.
func TestCallCost(t *testing.T) {
	counts(t)
	args := json.RawMessage(`{"text":"hello"}`)
	small := func(t *testing.T, tr mcp.Transport) cost {
		c := newClient(t, tr, nil)
		ctx := context.Background()
		return costOf(func() {
			assert.Value(c.CallTool(ctx, "small", args, nil))(t)
		})
	}
	for revision, most := range map[string]struct{ stdio, http cost }{
		mcp.Revision20251125: {cost{12, 2 << 10}, cost{130, 12 << 10}},
		mcp.Revision20260728: {cost{12, 2 << 10}, cost{150, 14 << 10}},
	} {
		t.Run(revision+"/stdio", func(t *testing.T) {
			child := cannedChild(t, revision)
			small(t, child).within(t, most.stdio)

			cmd := exec.Command(child.Path)
			cmd.Env = append(cmd.Environ(), child.Env...)
			s := bare(t, &sdk.CommandTransport{Command: cmd}, nil)
			got := costOf(func() {
				assert.Value(s.CallTool(context.Background(), &sdk.CallToolParams{Name: "small", Arguments: args}))(t)
			})
			if got.count <= most.stdio.count && got.bytes <= most.stdio.bytes {
				mended(t, "transport/stream.go")
			}
		})
		t.Run(revision+"/HTTP", func(t *testing.T) {
			listener := httptest.NewServer(newCanned(revision))
			t.Cleanup(listener.Close)
			small(t, &transport.HTTP{URL: listener.URL}).within(t, most.http)
		})
	}
}

// A list of a thousand tools, about 300 KB, costs no more than this. What a read
// buffer costs varies with how the list comes in, so the least of some is taken.
func TestToolsCost(t *testing.T) {
	counts(t)
	least := cost{count: 1 << 62, bytes: 1 << 62}
	for range 5 {
		c := newClient(t, cannedChild(t, mcp.Revision20251125), nil)
		ready(t, c)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list, err := c.Tools(t.Context())
		runtime.ReadMemStats(&after)
		assert.OK(t, err)
		assert.Equal(t, len(list), cannedTools, "list")
		least.count = min(least.count, after.Mallocs-before.Mallocs)
		least.bytes = min(least.bytes, after.TotalAlloc-before.TotalAlloc)
	}
	least.within(t, cost{5 * cannedTools, 4 << 20})
}

// What a big answer needed is given back after it.
func TestBigAnswerIsNotKept(t *testing.T) {
	const size = 4 << 20
	server := newCanned(mcp.Revision20251125)
	server[`"big"`] = `{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	for name, tr := range map[string]mcp.Transport{
		"pipe": &transport.Pipe{Serve: server.serve},
		"HTTP": &transport.HTTP{URL: listener.URL},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, tr, nil)
			mustCall(t, c, "small")
			before := heap()
			assert.Equal(t, len(textOf(t, mustCall(t, c, "big"))), size, "bytes")
			mustCall(t, c, "small")
			if kept := heap() - before; kept > size/8 {
				t.Errorf("%d bytes are kept", kept)
			}
			runtime.KeepAlive(c)
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what lies in pools survives one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
