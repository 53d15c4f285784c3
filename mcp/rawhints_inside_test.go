package mcp

import (
	"encoding/json"
	"runtime"
	"testing"
)

// The annotations of tools that nobody holds are forgotten with the next list.
func TestRawHintsAreForgotten(t *testing.T) {
	var hints rawHints
	list := func(raw string) *Tool {
		tool := &Tool{Name: "a", Title: raw}
		hints = hints.with([]*Tool{tool}, map[*Tool]json.RawMessage{tool: json.RawMessage(raw)})
		return tool
	}
	held := list("{}")
	for range 5 {
		list("[]")
		runtime.GC()
	}
	last := list("null")
	if len(hints) < 2 || len(hints) > 3 {
		t.Errorf("the annotations of %d tools are kept, want those of 2 that are held", len(hints))
	}
	runtime.KeepAlive(held)
	runtime.KeepAlive(last)
}
