package toolset

import (
	"context"

	"github.com/mcpbelt/mcpbelt/registry"
)

// warm begins to make the index one of s, unless it is already or another goroutine
// changes it now. The goroutine that it starts is the only one at a time, for it holds
// turn, and it ends when the tools of s are read, which takes some 30 us a tool the first
// time and what has changed the next. A search that comes meanwhile waits for turn.
func (ix *searchIndex) warm(s *registry.Snapshot) {
	ix.mu.RLock()
	current := ix.version >= s.Version()
	ix.mu.RUnlock()
	if current {
		return
	}
	select {
	case <-ix.turn:
		go func() {
			defer func() { ix.turn <- struct{}{} }()
			_ = ix.update(context.Background(), s) // it fails only if the context ends
		}()
	default:
	}
}
