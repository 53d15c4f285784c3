package registry_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
)

// Each definition of a snapshot has a cell of its own, in whatever order they come, and no
// other definition has one.
func TestSnapshotMemory(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "files", serverTool("files", "read", ""), serverTool("files", "stat", ""), serverTool("files", "write", ""))
	s := r.Snapshot()
	memory := s.Memory()
	for _, i := range []int{2, 0, 1, 2, 1, 1} {
		def := s.Tools()[i].Definition()
		cell, _ := memory(def)
		if cell == nil {
			t.Fatalf("%s: got no cell", def.Name)
		}
		cell.Put("name", def.Name)
		copied := *def
		if cell, _ := memory(&copied); cell != nil {
			t.Errorf("%s: got a cell for a copy of the definition, want none", def.Name)
		}
	}
	if cell, _ := memory(nil); cell != nil {
		t.Error("got a cell for nil, want none")
	}
	again := s.Memory()
	for _, tool := range s.Tools() {
		def := tool.Definition()
		if cell, _ := again(def); cell.Get("name") != def.Name {
			t.Errorf("got the cell of %v, want that of %s", cell.Get("name"), def.Name)
		}
	}
}
