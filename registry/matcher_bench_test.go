package registry_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
)

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

// BenchmarkUnknownName is a call of a name that no tool has, among so many tools.
func BenchmarkUnknownName(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 50_000} {
		r := verbThings(b, n)
		for _, name := range []string{"server7__delte_invioces", "no_such_tool_at_all", "invoice"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				_, _ = r.Call(b.Context(), name, nil)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.Call(b.Context(), name, nil); err == nil {
						b.Fatal("got no error, want an *UnknownToolError")
					}
				}
			})
		}
	}
}
