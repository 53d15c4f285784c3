//go:build !race

package registry_test

import "testing"

// TestUnknownNameAllocates bounds what a name that no tool has costs, however many tools
// there are: whoever calls may try one name after the other.
func TestUnknownNameAllocates(t *testing.T) {
	r := verbThings(t, 10_000)
	for name, most := range map[string]float64{"server7__delte_invioces": 17, "no_such_tool_at_all": 12, "invoice": 9} {
		_, _ = r.Call(t.Context(), name, nil)
		allocs := testing.AllocsPerRun(5, func() { _, _ = r.Call(t.Context(), name, nil) })
		if allocs > most {
			t.Errorf("%s: got %v allocations, want at most %v", name, allocs, most)
		}
	}
}
