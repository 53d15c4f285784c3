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

// do does something with a record, and says in an error what that was.
func (s *store) do(ctx context.Context, op, name string, do func() error) error {
	err := storage.CheckName(name)
	switch {
	case ctx.Err() != nil: // which fail returns
		err = ctx.Err()
	case err != nil:
	case s.closed.Load():
		err = storage.ErrClosed
	default:
		err = do()
	}
	return fail(ctx, op, err)
}

// Load implements storage.Store.
func (s *store) Load(ctx context.Context, name string, known storage.Revision) (r storage.Record, err error) {
	err = s.do(ctx, "load a record", name, func() error {
		err := s.db.row(ctx, `SELECT CASE WHEN revision = ? THEN NULL ELSE data END, revision FROM {p}records WHERE namespace = ? AND name = ?`,
			[]any{string(known), s.namespace, name}, &r.Data, &r.Revision)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: %q", storage.ErrNotFound, name)
		}
		return err
	})
	return r, err
}

// Save implements storage.Store.
func (s *store) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	revision := storage.Revision(rand.Text())
	err := s.do(ctx, "save a record", name, func() error {
		if len(data) > storage.MaxData {
			return fmt.Errorf("%w: %d bytes", storage.ErrTooLarge, len(data))
		}
		if data == nil {
			data = []byte{} // not NULL
		}
		query, args := `UPDATE {p}records SET data = ?, revision = ? WHERE namespace = ? AND name = ? AND revision = ?`, []any{data, string(revision), s.namespace, name, string(old)}
		if old == "" {
			query, args = `INSERT INTO {p}records (data, revision, namespace, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, args[:4]
		}
		n, err := s.db.exec(ctx, query, args...)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %q", storage.ErrConflict, name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	s.db.tell(ctx, s.namespace)
	return revision, nil
}

// Delete implements storage.Store.
func (s *store) Delete(ctx context.Context, name string, old storage.Revision) error {
	err := s.do(ctx, "delete a record", name, func() error {
		n, err := s.db.exec(ctx, `DELETE FROM {p}records WHERE namespace = ? AND name = ? AND revision = ?`, s.namespace, name, string(old))
		if err != nil || n > 0 {
			return err
		}
		if err := s.db.row(ctx, `SELECT COUNT(*) FROM {p}records WHERE namespace = ? AND name = ?`, []any{s.namespace, name}, &n); err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: %q", storage.ErrNotFound, name)
		}
		return fmt.Errorf("%w: %q", storage.ErrConflict, name)
	})
	if err == nil {
		s.db.tell(ctx, s.namespace)
	}
	return err
}

// Names implements storage.Store. It holds no connection while the loop runs.
func (s *store) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from := prefix; ; {
			var page []string
			err := s.do(ctx, "list the records", "any", func() error {
				return s.db.rows(ctx, `SELECT name FROM {p}records WHERE namespace = ? AND name >= ? AND name < ? ORDER BY name LIMIT ?`,
					[]any{s.namespace, from, prefix + behindNames, pageOfNames}, func(rows *sql.Rows) error {
						var name string
						err := rows.Scan(&name)
						page = append(page, name)
						return err
					})
			})
			if err != nil {
				yield("", err)
				return
			}
			for _, name := range page {
				if err := fail(ctx, "list the records", ctx.Err()); err != nil {
					yield("", err)
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
