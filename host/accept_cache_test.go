package host_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What one server calls public is not the answer of the server that replaces it,
// although both have the same name and a program lets all clients share a cache.
func TestAcceptCacheDoesNotOutliveAServer(t *testing.T) {
	house := func(tool string) func(context.Context, mcp.Transport) error {
		return mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, ""), mcptest.Script{
			"tools/list": mcptest.Result(fmt.Sprintf(
				`{"resultType":"complete","tools":[{"name":%q,"inputSchema":{"type":"object"}}],"ttlMs":600000,"cacheScope":"public"}`, tool)),
		}).Serve
	}
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{"a": house("a"), "b": house("b")}}
	opts := town.options()
	opts.Client.Cache = mcp.NewCache(1 << 20)
	h := acceptNew(t, opts, acceptParse(t, "s", `{"command": "a"}`))
	if got := names(h); got != "s__a" {
		t.Fatalf("tools: %s", got)
	}
	assert.Value(h.Apply(watchdog(t), acceptParse(t, "s", `{"command": "b"}`)))(t)
	assert.Equal(t, names(h), "s__b", "tools of the replaced server")
}
