package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

const ledgerKind = "ledger"

// Ledger returns the store of the ledger of that name, for ledger.Load.
// Programs that have the same servers can share one; see the package on names.
func (d *Database) Ledger(name string) ledger.Store {
	return &document{db: d, kind: ledgerKind, name: name, conflict: ledger.ErrConflict}
}

// A document is a row that is replaced as a whole.
type document struct {
	db         *Database
	kind, name string
	conflict   error
}

// Load implements ledger.Store. Of a revision that is known
// it does not read the data.
func (d *document) Load(ctx context.Context, known string) ([]byte, string, error) {
	var data []byte
	var revision string
	err := d.db.row(ctx, `SELECT revision, CASE WHEN revision = ? THEN NULL ELSE data END FROM {p}documents WHERE kind = ? AND name = ?`,
		[]any{known, d.kind, d.name}, &revision, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fail(ctx, "load the "+d.kind, err)
	}
	return data, revision, nil
}

// Save implements ledger.Store.
func (d *document) Save(ctx context.Context, data []byte, old string) (string, error) {
	op := "save the " + d.kind
	if data == nil {
		data = []byte{} // not NULL
	}
	revision := rand.Text()
	var n int64
	var err error
	if old == "" {
		n, err = d.db.exec(ctx, `INSERT INTO {p}documents (kind, name, data, revision) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			d.kind, d.name, data, revision)
	} else {
		n, err = d.db.exec(ctx, `UPDATE {p}documents SET data = ?, revision = ? WHERE kind = ? AND name = ? AND revision = ?`,
			data, revision, d.kind, d.name, old)
	}
	switch {
	case err != nil:
		return "", fail(ctx, op, err)
	case n == 0:
		return "", &Error{Op: op, Err: fmt.Errorf("%w: %q", d.conflict, d.name)}
	}
	return revision, nil
}
