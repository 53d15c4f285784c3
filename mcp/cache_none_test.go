package mcp_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What was asked with metadata of the caller's is not what is asked without.
func TestCacheMeta(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"resources":{}}`), mcptest.Script{
		"resources/read": mcptest.Result(`{"contents":[{"uri":"a:a","text":"x"}],"ttlMs":60000}`),
	})
	c := newClient(t, server, nil)
	special := &mcp.RequestOptions{Meta: mcp.Meta{"com.example/tenant": "a"}}
	for i, opts := range []*mcp.RequestOptions{special, nil, special, nil} {
		assert.Value(c.ReadResource(t.Context(), "a:a", opts))(t)
		wantCount(t, server, "resources/read", []int{1, 2, 3, 3}[i])
	}
}

// The zero Cache, and one without room, keep nothing.
func TestCacheZero(t *testing.T) {
	for name, cache := range map[string]*mcp.Cache{"zero": {}, "no room": mcp.NewCache(0), "less": mcp.NewCache(-1)} {
		t.Run(name, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"resources":{}}`), mcptest.Script{
				"resources/read": mcptest.Result(`{"contents":[{"uri":"a:a","text":"x"}],"ttlMs":60000}`),
			})
			c := newClient(t, server, &mcp.ClientOptions{Cache: cache})
			for range 2 {
				assert.Value(c.ReadResource(t.Context(), "a:a", nil))(t)
			}
			assert.OK(t, c.Reconnect(t.Context()))
			wantCount(t, server, "resources/read", 2)
		})
	}
}
