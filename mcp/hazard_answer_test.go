package mcp_test

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A number in a structured result has the value that the server wrote.
func TestNumbersKeepTheirValue(t *testing.T) {
	const number = `9007199254740993` // 2^53 + 1
	server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(`{"content":[],"structuredContent":{"n":` + number + `}}`)})
	want := json.RawMessage(`{"n":` + number + `}`)
	got, ok := mustCall(t, newClient(t, server, nil), "x").StructuredContent.(json.RawMessage)
	assert.Equal(t, [...]any{ok, string(got)}, [...]any{true, string(want)})

	res := assert.Value(bare(t, server, nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "x"}))(t)
	if back, _ := json.Marshal(res.StructuredContent); string(back) == string(want) {
		mended(t, "mcp/decode.go")
	}
}

// A block of content of an unknown kind does not cost the others.
func TestUnknownContentIsKept(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(
		`{"content":[{"type":"text","text":"known"},{"type":"hologram"}]}`)})
	res := mustCall(t, newClient(t, server, nil), "x")
	assert.Equal(t, len(res.Content), 2, "content")
	assert.Equal(t, cast[*mcp.TextContent](t, res.Content[0]).Text, "known", "text")

	if _, err := bare(t, server, nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "x"}); err == nil {
		mended(t, "mcp/decode.go")
	}
}

// A list whose pages lead back to the first one is not read for ever.
func TestPagesEnd(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/list": mcptest.Result(
		`{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"again"}`)})
	assert.As[*mcp.ProtocolError](t, errOf(newClient(t, server, nil).Tools(t.Context())))

	const plenty = 100
	tools := 0
	for _, err := range bare(t, server, nil).Tools(t.Context(), nil) {
		if err != nil {
			break
		}
		if tools++; tools == plenty {
			break
		}
	}
	if tools < plenty {
		mended(t, "mcp/tools.go")
	}
}

// A call returns when its progress has been told, not before.
func TestProgressIsTold(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Progress(1)
		c.Result(`{"content":[]}`)
	}})
	told := false
	_, err := newClient(t, server, nil).CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{
		Progress: func(*mcp.ProgressParams) { told = true },
	})
	assert.OK(t, err, "error %v, told", err)
	assert.Equal(t, told, true, "error %v, told: told", err)

	// The handler of a bare client returns after the call.
	ctx := within(t, patience)
	returned := make(chan struct{})
	s := bare(t, server, &sdk.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { <-returned },
	})
	params := &sdk.CallToolParams{Name: "x"}
	params.SetProgressToken("x")
	_, err = s.CallTool(ctx, params)
	close(returned)
	if err != nil {
		mended(t, "internal/inflight/table.go")
	}
}

// What a caller passes is only read, so that calls can share it.
func TestCallersDataIsOnlyRead(t *testing.T) {
	server := modern(t, mcptest.Script{"tools/call": mcptest.Result(`{"resultType":"complete","content":[]}`)})
	c := newClient(t, server, nil)
	args := json.RawMessage(`{"a":1}`)
	opts := &mcp.CallToolOptions{Meta: mcp.Meta{"own": "value"}}
	before := maps.Clone(opts.Meta)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			assert.Is(t, errOf(c.CallTool(t.Context(), "x", args, opts)), nil)
		})
	}
	calls.Wait()
	assert.Equal(t, [...]any{string(args), maps.Equal(opts.Meta, before)}, [...]any{`{"a":1}`, true})

	params := &sdk.CallToolParams{Name: "x"}
	assert.Value(bare(t, server, nil).CallTool(t.Context(), params))(t)
	if params.Meta == nil && params.Arguments == nil {
		mended(t, "mcp/request.go")
	}
}
