package registry

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// Whoever holds the lock of the ledger's folder, for as long as he likes, keeps
// nobody from reading, and from writing only until it can be told.
func TestLockHeld(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github"}
	mustRecord(t, openLedger(t, path, LedgerPin), server, surfaceTool("a"))
	resolved, err := atomicfile.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := atomicfile.Lock(t.Context(), resolved)
	if err != nil {
		t.Fatal(err)
	}
	l := openLedger(t, path, LedgerPin)
	wantKind(t, l, server, surfaceTool("a"), "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Forget(ctx, "github"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting with a deadline: %v", err)
	}
	l.store.(*ledgerFile).patience = 50 * time.Millisecond
	if err := l.record(t.Context(), &Server{Name: "other"}, entriesOf(surfaceTool("a"))); !errors.Is(err, errLockHeld) {
		t.Errorf("waiting without one: %v", err)
	}
	unlock()
	if err := l.Forget(t.Context(), "github"); err != nil {
		t.Error(err)
	}
}
