package transport_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// probed and greeted are what a child does of the handshake before its own
// steps: refuse the probe for the newest revision, and shake hands as older
// revisions do it.
func probed() []string {
	return []string{"read", `say:{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown method"}}`}
}

func greeted() []string {
	return []string{
		"read", `answer:{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}`,
		"read", // notifications/initialized
	}
}

// A line on stdout that is no message is not the end of the connection.
func TestCommandReadsOverNoise(t *testing.T) {
	child := transporttest.Child(slices.Concat(probed(), greeted(), []string{"read", "say:noise", "answer:{}", "serve"})...)
	client := ours(t, child)
	client.again(t)
	client.again(t)

	client = bare(t, bareCommand(child))
	if client.call(bounded(t), "x") == nil || !client.ends(t) {
		mended(t, "transport/stream.go")
	}
}

// A server that dies in a call is replaced before the next one.
func TestCommandDeadServerIsReplaced(t *testing.T) {
	t.Parallel()
	dying := []string{"read", "answer:{}", "read", "exit:3"}
	first := transporttest.Child(slices.Concat(probed(), greeted(), dying)...)
	later := transporttest.Child(slices.Concat(greeted(), dying)...) // the probe is not sent again
	lives := 0
	client := ours(t, connecting(func(ctx context.Context) (mcp.Conn, error) {
		if lives++; lives == 1 {
			return first.Connect(ctx)
		}
		return later.Connect(ctx)
	}))
	for life := range 3 {
		if err := client.call(bounded(t), "x"); err != nil {
			t.Errorf("process %d: %v", life, err)
		}
		wantOutcome(t, client.call(bounded(t), "x"), mcp.Unknown)
	}

	client = bare(t, bareCommand(first))
	answered, died := client.call(bounded(t), "x"), client.call(bounded(t), "x")
	if answered != nil || died == nil || !client.ends(t) {
		mended(t, "mcp/supervise.go")
	}
}
