// Tests of what calls, lists, checks and tracers allocate.

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
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A call of a tool with a few words costs no more than this. Over HTTP that is
// mostly net/http, on both of its ends.
func TestCallCost(t *testing.T) {
	counts(t)
	args := json.RawMessage(`{"text":"hello"}`)
	small := func(t *testing.T, tr mcp.Transport) cost {
		c := newClient(t, tr, nil)
		ctx := context.Background()
		return costOf(func() { assert.Value(c.CallTool(ctx, "small", args, nil))(t) })
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
		c := newReady(t, cannedChild(t, mcp.Revision20251125), nil)
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
			assert.Between(t, max(heap()-before, 0), 0, size/8, "bytes kept")
			runtime.KeepAlive(c)
		})
	}
}

// A schema that results are checked against is compiled once.
func TestOutputCost(t *testing.T) {
	counts(t)
	server := newCanned(mcp.Revision20251125)
	server["tools/list"] = withOutput(`{"properties":{"n":{"type":"integer"}}}`)
	server[`"t"`], server[`"free"`] = structured(`{"n":1}`), structured(`{"n":1}`)
	of := func(tool string) cost {
		c := newClient(t, &transport.Pipe{Serve: server.serve}, nil)
		wantTools(t, c, "t free")
		return costOf(func() { mustCall(t, c, tool) })
	}
	free := of("free")
	of("t").within(t, cost{free.count + 30, free.bytes + 3<<10})
}

// An OutputError that is kept keeps the result alive, and not the whole message that it
// came in.
func TestOutputErrorLetsItsMessageGo(t *testing.T) {
	counts(t)
	const junk = 4 << 20
	result := strings.TrimSuffix(structured(`{"n":"x"}`), "}") + `,"more":"` + strings.Repeat("x", junk) + `"}`
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(withOutput(`{"type":"object","properties":{"n":{"type":"integer"}}}`)),
		"tools/call": mcptest.Result(result),
	})
	c := newClient(t, &transport.Pipe{Serve: server.Serve}, nil)
	call := func() error {
		_, err := c.CallTool(t.Context(), "t", nil, nil)
		return err
	}
	assert.As[*mcp.OutputError](t, call())
	before := heap()
	var kept [4]error
	for i := range kept {
		kept[i] = call()
	}
	assert.Between(t, max(heap()-before, 0), 0, 2*junk, "bytes kept")
	for _, err := range kept {
		assert.Equal(t, string(assert.As[*mcp.OutputError](t, err).Result.StructuredContent.(json.RawMessage)), `{"n":"x"}`)
	}
}

// Without a tracer nothing is allocated for one; see TestCallCost. With one that
// does nothing a call allocates no more than this.
func TestTracerCost(t *testing.T) {
	counts(t)
	args := json.RawMessage(`{"text":"hello"}`)
	child := cannedChild(t, mcp.Revision20251125)
	of := func(tracer mcp.Tracer) cost {
		c := newClient(t, child, &mcp.ClientOptions{Tracer: tracer})
		return costOf(func() { assert.Value(c.CallTool(context.Background(), "small", args, nil))(t) })
	}
	off, on := of(nil), of(nopTracer{})
	t.Logf("without: %+v, with: %+v", off, on)
	(cost{on.count - off.count, on.bytes - off.bytes}).within(t, cost{4, 1 << 10})
}

type nopTracer struct{}

func (nopTracer) RequestStart(ctx context.Context, _ *mcp.RequestInfo) context.Context { return ctx }

func (nopTracer) RequestEnd(context.Context, *mcp.RequestInfo) {}

// BenchmarkTracer compares calls without and with a tracer that does nothing.
func BenchmarkTracer(b *testing.B) {
	server := newCanned(mcp.Revision20251125)
	for name, tracer := range map[string]mcp.Tracer{"off": nil, "on": nopTracer{}} {
		b.Run(name, func(b *testing.B) {
			c := newClient(b, &transport.Pipe{Serve: server.serve}, &mcp.ClientOptions{Tracer: tracer})
			ready(b, c)
			b.ReportAllocs()
			for b.Loop() {
				assert.Value(c.CallTool(b.Context(), "small", nil, nil))(b)
			}
		})
	}
}
