package consent

import (
	"context"
	"errors"
)

// ErrConflict is wrapped by the error of [Store.Save] if what is kept has another
// revision than the caller knows.
var ErrConflict = errors.New("the consents were changed by somebody else")

// A Store is a place that keeps a [Book]: a row of a database, for instance. [Open]
// has one for files. It is safe for concurrent use, also by several processes, and
// returns soon after ctx ends. Package consenttest checks implementations.
type Store interface {
	// Load returns what is kept, and its revision: a text that is not empty, and
	// another one each time that something else is kept. If the revision is still
	// known, data is not looked at and may be nil. Nothing kept: the revision is
	// empty. The caller may keep data.
	Load(ctx context.Context, known string) (data []byte, revision string, err error)
	// Save replaces what is kept if its revision is still old, which is empty if
	// nothing is kept, and returns the new one; otherwise it changes nothing and
	// returns an error that wraps [ErrConflict]. When it returns, data would survive
	// a loss of power. It does not keep data.
	Save(ctx context.Context, data []byte, old string) (revision string, err error)
}
