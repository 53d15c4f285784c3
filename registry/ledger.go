package registry

import (
	"context"
)

// A LedgerMode says what the ledger does about tools that are new or changed.
type LedgerMode string

// The modes.
const (
	// LedgerTrust records what the server lists, and lets it be called.
	LedgerTrust LedgerMode = "trust"
	// LedgerPin is the default: the first list of a server is approved, what is
	// new or changed later waits.
	LedgerPin LedgerMode = "pin"
	// LedgerReview lets nothing be called before somebody approved it.
	LedgerReview LedgerMode = "review"
)

// A Ledger remembers which tools of servers were approved, by everything that a
// server says of them. All methods are safe for concurrent use, and several
// processes may share one file.
type Ledger struct{}

// record makes the ledger know what a server offers now: it pins, or notes what
// is pending, as the mode says, and returns when that is kept. Entries have their
// surface.
func (l *Ledger) record(ctx context.Context, s *Server, entries []*entry) error { return nil }

// judge returns why a tool may not be called, or nil if it may. It reads memory
// only.
func (l *Ledger) judge(s *Server, e *entry) *Change { return nil }

// generation grows whenever judge could answer differently than before, and
// changed is closed then.
func (l *Ledger) generation() (n uint64, changed <-chan struct{}) { return 0, nil }

// reload reads what other processes did, if they did anything.
func (l *Ledger) reload(ctx context.Context) error { return nil }
