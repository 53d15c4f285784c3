package ledger

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/document"
)

// A process that holds the lock of the ledger's folder, for however long, does not keep
// others from reading, and from writing only until it can be told.
func TestLockHeld(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github"}
	mustRecord(t, openLedger(t, path, Pin), server, surfaceTool("a"))
	resolved := assert.Value(atomicfile.Resolve(path))(t)
	unlock := assert.Value(atomicfile.Lock(t.Context(), resolved))(t)
	l := openLedger(t, path, Pin)
	wantKind(t, l, server, surfaceTool("a"), "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.Is(t, l.Forget(ctx, "github"), context.DeadlineExceeded, "waiting with a deadline")
	l.store.(*document.File).Patience = 50 * time.Millisecond
	assert.Is(t, l.Record(t.Context(), Server{Name: "other"}, surfacesIn(surfaceTool("a"))), document.ErrLocked, "waiting without one")
	unlock()
	assert.OK(t, l.Forget(t.Context(), "github"))
}

// A list that was to be noted later does not become the first one of its server
// because the file is another one by then.
func TestNoteIsNoFirstUse(t *testing.T) {
	path, other := ledgerPath(t), ledgerPath(t)
	server := &Server{Name: "github"}
	mustRecord(t, openLedger(t, other, Pin), &Server{Name: "other"}, surfaceTool("a"))
	l := openLedger(t, path, Pin)
	mustRecord(t, l, server, surfaceTool("a"))
	var changed *Tool
	for i := range noteBurst + 1 {
		changed = surfaceTool("a", func(d *Tool) { d.Title = fmt.Sprint("title ", i) })
		mustRecord(t, l, server, changed)
	}
	if len(l.journal) != 1 {
		t.Fatalf("%d notes wait", len(l.journal))
	}
	branch, _ := readLedgerFile(t, other)
	assert.OK(t, os.WriteFile(path, branch, 0o600))
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, server, changed, ToolNew)
}
