package sqlstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
)

// Statuses returns the store of the last status of the servers of a catalogue, see
// [Database.Servers].
func (d *Database) Statuses(catalogue string) record.StatusStore {
	return &statuses{db: d, catalogue: catalogue}
}

type statuses struct {
	db        *Database
	catalogue string
}

// Statuses implements record.StatusStore.
func (s *statuses) Statuses(ctx context.Context) (map[string]record.LastStatus, error) {
	all := map[string]record.LastStatus{}
	err := s.db.rows(ctx, `SELECT name, status, error, connected_ns, tools FROM {p}statuses WHERE catalogue = ?`, []any{s.catalogue},
		func(rows *sql.Rows) error {
			var name string
			var last record.LastStatus
			var connected int64
			err := rows.Scan(&name, &last.Status, &last.Error, &connected, &last.Tools)
			if connected != 0 {
				last.Connected = time.Unix(0, connected).UTC()
			}
			all[name] = last
			return err
		})
	if err != nil {
		return nil, fail(ctx, "read the statuses", err)
	}
	return all, nil
}

// SaveStatuses implements record.StatusStore: all changes are kept, or none.
func (s *statuses) SaveStatuses(ctx context.Context, changes map[string]record.LastStatus) error {
	return fail(ctx, "save the statuses", s.db.retry(ctx, func() error { return s.save(ctx, changes) }))
}

func (s *statuses) save(ctx context.Context, changes map[string]record.LastStatus) error {
	tx, err := s.db.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	// In one order, so that two writers do not wait for each other.
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		last := changes[name]
		if last == (record.LastStatus{}) {
			_, err = tx.ExecContext(ctx, s.db.sql(`DELETE FROM {p}statuses WHERE catalogue = ? AND name = ?`), s.catalogue, name)
		} else {
			connected := int64(0)
			if !last.Connected.IsZero() {
				connected = nanoseconds(last.Connected)
			}
			_, err = tx.ExecContext(ctx, s.db.sql(`INSERT INTO {p}statuses (catalogue, name, status, error, connected_ns, tools) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (catalogue, name) DO UPDATE SET status = excluded.status, error = excluded.error,
				connected_ns = excluded.connected_ns, tools = excluded.tools`),
				s.catalogue, name, column(last.Status), column(last.Error), connected, last.Tools)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}
