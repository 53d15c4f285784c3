package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// pageOfNames is how many names are read at a time.
	pageOfNames = 500
	// behindNames comes behind all that a name may go on with, and beforeNames before it.
	behindNames = "~"
	beforeNames = "-"
)

// Store returns the store of the records of a namespace: any text of at most 1 KB, in
// UTF-8 and without NUL, which is an error in PostgreSQL. It is a [storage.Watcher] and a
// [storage.Leaser], and no [storage.Locker]. Each call returns another store over the same
// records; closing it leaves the database open.
//
// Give what is sealed a namespace of its own: seal.NewStore takes all records of its store for
// sealed ones.
func (d *Database) Store(namespace string) storage.Store { return &store{db: d, namespace: namespace} }

type store struct {
	db        *Database
	namespace string
	closed    atomic.Bool
}

var (
	_ storage.Watcher = (*store)(nil)
	_ storage.Leaser  = (*store)(nil)
)

// begin checks what all calls have in common.
func (s *store) begin(ctx context.Context, op, name string) error {
	if err := ctx.Err(); err != nil {
		return &Error{op, err}
	}
	if err := storage.CheckName(name); err != nil {
		return &Error{op, err}
	}
	if s.closed.Load() {
		return &Error{op, storage.ErrClosed}
	}
	return nil
}

// Load implements storage.Store.
func (s *store) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	const op = "load a record"
	if err := s.begin(ctx, op, name); err != nil {
		return storage.Record{}, err
	}
	var r storage.Record
	err := s.db.row(ctx, `SELECT CASE WHEN revision = ? THEN NULL ELSE data END, revision FROM {p}records WHERE namespace = ? AND name = ?`,
		[]any{string(known), s.namespace, name}, &r.Data, &r.Revision)
	if errors.Is(err, sql.ErrNoRows) {
		return storage.Record{}, &Error{op, fmt.Errorf("%w: %q", storage.ErrNotFound, name)}
	}
	if err != nil {
		return storage.Record{}, fail(ctx, op, err)
	}
	return r, nil
}

// Save implements storage.Store.
func (s *store) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	const op = "save a record"
	if err := s.begin(ctx, op, name); err != nil {
		return "", err
	}
	if len(data) > storage.MaxData {
		return "", &Error{op, fmt.Errorf("%w: %d bytes", storage.ErrTooLarge, len(data))}
	}
	if data == nil {
		data = []byte{} // not NULL
	}
	revision := storage.Revision(rand.Text())
	var n int64
	var err error
	if old == "" {
		n, err = s.db.exec(ctx, `INSERT INTO {p}records (namespace, name, data, revision) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			s.namespace, name, data, string(revision))
	} else {
		n, err = s.db.exec(ctx, `UPDATE {p}records SET data = ?, revision = ? WHERE namespace = ? AND name = ? AND revision = ?`,
			data, string(revision), s.namespace, name, string(old))
	}
	switch {
	case err != nil:
		return "", fail(ctx, op, err)
	case n == 0:
		return "", &Error{op, fmt.Errorf("%w: %q", storage.ErrConflict, name)}
	}
	s.db.tell(ctx, s.namespace)
	return revision, nil
}

// Delete implements storage.Store.
func (s *store) Delete(ctx context.Context, name string, old storage.Revision) error {
	const op = "delete a record"
	if err := s.begin(ctx, op, name); err != nil {
		return err
	}
	n, err := s.db.exec(ctx, `DELETE FROM {p}records WHERE namespace = ? AND name = ? AND revision = ?`, s.namespace, name, string(old))
	if err != nil {
		return fail(ctx, op, err)
	}
	if n > 0 {
		s.db.tell(ctx, s.namespace)
		return nil
	}
	var there int
	err = s.db.row(ctx, `SELECT COUNT(*) FROM {p}records WHERE namespace = ? AND name = ?`, []any{s.namespace, name}, &there)
	switch {
	case err != nil:
		return fail(ctx, op, err)
	case there == 0:
		return &Error{op, fmt.Errorf("%w: %q", storage.ErrNotFound, name)}
	}
	return &Error{op, fmt.Errorf("%w: %q", storage.ErrConflict, name)}
}

// Names implements storage.Store. It holds no connection while the loop runs.
func (s *store) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		const op = "list the records"
		for from := prefix; ; {
			if err := s.begin(ctx, op, "any"); err != nil {
				yield("", err)
				return
			}
			var page []string
			err := s.db.rows(ctx, `SELECT name FROM {p}records WHERE namespace = ? AND name >= ? AND name < ? ORDER BY name LIMIT ?`,
				[]any{s.namespace, from, prefix + behindNames, pageOfNames}, func(rows *sql.Rows) error {
					var name string
					err := rows.Scan(&name)
					page = append(page, name)
					return err
				})
			if err != nil {
				yield("", fail(ctx, op, err))
				return
			}
			for _, name := range page {
				if err := ctx.Err(); err != nil {
					yield("", &Error{op, err})
					return
				}
				if !yield(name, nil) {
					return
				}
			}
			if len(page) < pageOfNames {
				return
			}
			from = page[len(page)-1] + beforeNames // the next one
		}
	}
}

// Close implements storage.Store. The database stays open.
func (s *store) Close() error {
	s.closed.Store(true)
	s.db.ring(s.namespace) // the watches of this store end
	return nil
}
