package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/session/driver"
)

// pageOfNames is how many names are read at a time.
const pageOfNames = 500

// Sessions returns a driver that keeps sessions in the table "sessions". It is no
// [driver.Locker]. Each call returns another driver over the same records.
func (d *Database) Sessions() driver.Store { return &sessions{db: d} }

type sessions struct {
	db     *Database
	closed atomic.Bool
}

var _ driver.Store = (*sessions)(nil)

// begin checks what all calls have in common.
func (s *sessions) begin(ctx context.Context, op, name string) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Err: err}
	}
	if err := driver.CheckName(name); err != nil {
		return &Error{Op: op, Err: err}
	}
	if s.closed.Load() {
		return &Error{Op: op, Err: driver.ErrClosed}
	}
	return nil
}

// Load implements driver.Store.
func (s *sessions) Load(ctx context.Context, name string) (driver.Record, error) {
	const op = "load a session"
	if err := s.begin(ctx, op, name); err != nil {
		return driver.Record{}, err
	}
	var r driver.Record
	err := s.db.row(ctx, `SELECT data, revision FROM {p}sessions WHERE name = ?`, []any{name}, &r.Data, &r.Revision)
	if errors.Is(err, sql.ErrNoRows) {
		return driver.Record{}, &Error{Op: op, Err: fmt.Errorf("%w: %q", driver.ErrNotFound, name)}
	}
	if err != nil {
		return driver.Record{}, fail(ctx, op, err)
	}
	return r, nil
}

// Save implements driver.Store.
func (s *sessions) Save(ctx context.Context, name string, data []byte, old driver.Revision) (driver.Revision, error) {
	const op = "save a session"
	if err := s.begin(ctx, op, name); err != nil {
		return "", err
	}
	if len(data) > driver.MaxData {
		return "", &Error{Op: op, Err: fmt.Errorf("%w: %d bytes", driver.ErrTooLarge, len(data))}
	}
	if data == nil {
		data = []byte{} // not NULL
	}
	revision := driver.Revision(rand.Text())
	var n int64
	var err error
	if old == "" {
		n, err = s.db.exec(ctx, `INSERT INTO {p}sessions (name, data, revision) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			name, data, string(revision))
	} else {
		n, err = s.db.exec(ctx, `UPDATE {p}sessions SET data = ?, revision = ? WHERE name = ? AND revision = ?`,
			data, string(revision), name, string(old))
	}
	switch {
	case err != nil:
		return "", fail(ctx, op, err)
	case n == 0:
		return "", &Error{Op: op, Err: fmt.Errorf("%w: %q", driver.ErrConflict, name)}
	}
	return revision, nil
}

// Delete implements driver.Store.
func (s *sessions) Delete(ctx context.Context, name string, old driver.Revision) error {
	const op = "delete a session"
	if err := s.begin(ctx, op, name); err != nil {
		return err
	}
	n, err := s.db.exec(ctx, `DELETE FROM {p}sessions WHERE name = ? AND revision = ?`, name, string(old))
	if err != nil {
		return fail(ctx, op, err)
	}
	if n > 0 {
		return nil
	}
	var there int
	err = s.db.row(ctx, `SELECT COUNT(*) FROM {p}sessions WHERE name = ?`, []any{name}, &there)
	switch {
	case err != nil:
		return fail(ctx, op, err)
	case there == 0:
		return &Error{Op: op, Err: fmt.Errorf("%w: %q", driver.ErrNotFound, name)}
	}
	return &Error{Op: op, Err: fmt.Errorf("%w: %q", driver.ErrConflict, name)}
}

// Names implements driver.Store. It holds no connection while the loop runs.
func (s *sessions) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		const op = "list the sessions"
		last := ""
		for {
			if err := s.begin(ctx, op, "any"); err != nil {
				yield("", err)
				return
			}
			var page []string
			err := s.db.rows(ctx, `SELECT name FROM {p}sessions WHERE name > ? AND SUBSTR(name, 1, CAST(? AS INTEGER)) = ? ORDER BY name LIMIT ?`,
				[]any{last, len(prefix), prefix, pageOfNames}, func(rows *sql.Rows) error {
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
					yield("", &Error{Op: op, Err: err})
					return
				}
				if !yield(name, nil) {
					return
				}
			}
			if len(page) < pageOfNames {
				return
			}
			last = page[len(page)-1]
		}
	}
}

// Close implements driver.Store. The database stays open.
func (s *sessions) Close() error {
	s.closed.Store(true)
	return nil
}
