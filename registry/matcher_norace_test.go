//go:build !race

// Tests of matcher.go that the race detector makes too slow or too large.

package registry_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

// TestUnknownNameAllocates bounds what a name that no tool has costs, however many tools
// there are: whoever calls may try one name after the other.
func TestUnknownNameAllocates(t *testing.T) {
	r := verbThings(t, 10_000)
	for name, most := range map[string]float64{"server7__delte_invioces": 20, "no_such_tool_at_all": 12, "invoice": 17} {
		_, _ = r.Call(t.Context(), name, nil)
		assert.Between(t, testing.AllocsPerRun(5, func() { _, _ = r.Call(t.Context(), name, nil) }), 0, most, "%s", name)
	}
}

// verbThings returns a registry with n tools of servers of 500 each, for a verb and a
// thing, such as delete_invoice.
func verbThings(t testing.TB, n int) *registry.Registry {
	t.Helper()
	verbs := []string{"create", "get", "list", "update", "delete", "search", "archive", "restore", "export", "import", "share", "copy", "approve", "assign", "count", "lock", "merge", "tag", "validate", "watch"}
	things := []string{"invoice", "ticket", "event", "customer", "contract", "repository", "folder", "message", "channel", "page", "report", "dataset", "branch", "campaign", "coupon", "device", "employee", "warehouse", "shipment", "quote", "meeting", "lead", "image", "playlist", "survey"}
	r := registry.New(nil)
	for s := 0; n > 0; s++ {
		server := fmt.Sprintf("server%d", s)
		var tools []registry.Tool
		for i := 0; i < len(verbs)*len(things) && n > 0; i++ {
			tools = append(tools, serverTool(server, verbs[i%len(verbs)]+"_"+things[i/len(verbs)], ""))
			n--
		}
		mustReplace(t, r, server, tools...)
	}
	return r
}
