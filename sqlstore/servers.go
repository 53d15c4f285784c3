package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
)

// Servers returns the store of the records of servers that belong to the catalogue of
// that name, see the package on names: one for each host, or for each tenant. Their
// secrets are kept as the records have them, in clear, also those of deleted records,
// which stay in their table: delete rows whose deleted_ns is not 0 to be rid of them.
func (d *Database) Servers(catalogue string) record.Archive {
	return &servers{db: d, catalogue: catalogue}
}

type servers struct {
	db        *Database
	catalogue string
}

// Records implements record.Store.
func (s *servers) Records(ctx context.Context) ([]record.Stored, error) {
	all, err := s.list(ctx, `deleted_ns = 0 ORDER BY seq`)
	return all, fail(ctx, "list the servers", err)
}

// Deleted implements record.Archive.
func (s *servers) Deleted(ctx context.Context) ([]record.Stored, error) {
	all, err := s.list(ctx, `deleted_ns <> 0 ORDER BY deleted_ns, seq`)
	return all, fail(ctx, "list the deleted servers", err)
}

// list returns the records of which a condition holds.
func (s *servers) list(ctx context.Context, condition string) ([]record.Stored, error) {
	var all []record.Stored
	err := s.db.rows(ctx, `SELECT seq, data, revision, created_ns, updated_ns, deleted_ns FROM {p}servers WHERE catalogue = ? AND `+condition,
		[]any{s.catalogue}, func(rows *sql.Rows) error {
			var data []byte
			var seq, created, updated, deleted int64
			var stored record.Stored
			if err := rows.Scan(&seq, &data, &stored.Revision, &created, &updated, &deleted); err != nil {
				return err
			}
			stored.ID = idOf(seq)
			stored.Created, stored.Updated, stored.Deleted = timeOf(created), timeOf(updated), timeOf(deleted)
			var err error
			stored.Record, err = record.Decode(data)
			all = append(all, stored)
			return err
		})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// idOf returns the ID of a row, and seqOf what it was made of, or 0.
func idOf(seq int64) string { return "~" + strconv.FormatInt(seq, 10) }

func seqOf(id string) int64 {
	digits, _ := strings.CutPrefix(id, "~")
	seq, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || idOf(seq) != id {
		return 0
	}
	return seq
}

// timeOf reads a time that is kept; zero is none.
func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// Save implements record.Store.
func (s *servers) Save(ctx context.Context, name string, r *record.Record, old record.Revision) (record.Revision, error) {
	const op = "save a server"
	data, err := r.Encode()
	if err != nil {
		return "", &Error{Op: op, Err: err}
	}
	revision, now := record.Revision(rand.Text()), nanoseconds(time.Now())
	var n int64
	if name == "" && old == "" {
		n, err = s.db.exec(ctx, `INSERT INTO {p}servers (catalogue, name, data, revision, created_ns, updated_ns) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			s.catalogue, r.Name, data, string(revision), now, now)
		if err == nil && n == 0 {
			return "", &record.Error{Code: record.CodeNameTaken, Name: r.Name}
		}
	} else {
		n, err = s.db.exec(ctx, `UPDATE {p}servers SET name = ?, data = ?, revision = ?, updated_ns = ? WHERE catalogue = ? AND name = ? AND revision = ?
			AND (name = ? OR NOT EXISTS (SELECT 1 FROM {p}servers AS other WHERE other.catalogue = ? AND other.name = ?))`,
			r.Name, data, string(revision), now, s.catalogue, name, string(old), r.Name, s.catalogue, r.Name)
		if err != nil || n == 0 {
			// Two writers that take one name at the same moment get an error.
			err = s.why(ctx, name, r.Name, old, err)
		}
	}
	if err != nil {
		return "", fail(ctx, op, err)
	}
	return revision, nil
}

// Delete implements record.Store.
func (s *servers) Delete(ctx context.Context, name string, old record.Revision) error {
	// The row keeps its number, and gives its name free: no name of a record begins so.
	n, err := s.db.exec(ctx, `UPDATE {p}servers SET name = ?, deleted_ns = ? WHERE catalogue = ? AND name = ? AND revision = ? AND deleted_ns = 0`,
		deletedName+rand.Text(), nanoseconds(time.Now()), s.catalogue, name, string(old))
	if err != nil || n == 0 {
		return fail(ctx, "delete a server", s.why(ctx, name, name, old, err))
	}
	return nil
}

// deletedName begins what stands in the place of the name of a deleted record.
const deletedName = "\x01deleted "

// Restore implements record.Archive.
func (s *servers) Restore(ctx context.Context, id string) error {
	const op = "restore a server"
	deleted, err := s.Deleted(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(deleted, func(d record.Stored) bool { return d.ID == id })
	if i < 0 {
		return &record.Error{Code: record.CodeNotFound, Name: id}
	}
	name := deleted[i].Record.Name
	n, err := s.db.exec(ctx, `UPDATE {p}servers SET name = ?, revision = ?, updated_ns = ?, deleted_ns = 0 WHERE catalogue = ? AND seq = ? AND deleted_ns <> 0
		AND NOT EXISTS (SELECT 1 FROM {p}servers AS other WHERE other.catalogue = ? AND other.name = ?)`,
		name, rand.Text(), nanoseconds(time.Now()), s.catalogue, seqOf(id), s.catalogue, name)
	if err == nil && n > 0 {
		return nil
	}
	all, failed := s.Records(ctx)
	switch {
	case failed != nil:
		return failed
	case slices.ContainsFunc(all, func(d record.Stored) bool { return d.ID == id }):
		return &record.Error{Code: record.CodeNotFound, Name: id} // somebody has just restored it
	case slices.ContainsFunc(all, func(d record.Stored) bool { return d.Record.Name == name }):
		return &record.Error{Code: record.CodeNameTaken, Name: name}
	case err == nil:
		return &record.Error{Code: record.CodeConflict, Name: name}
	}
	return fail(ctx, op, err)
}

// why returns why a record could not be changed.
func (s *servers) why(ctx context.Context, name, next string, old record.Revision, cause error) error {
	found := map[string]record.Revision{}
	err := s.db.rows(ctx, `SELECT name, revision FROM {p}servers WHERE catalogue = ? AND name IN (?, ?)`, []any{s.catalogue, name, next},
		func(rows *sql.Rows) error {
			var name string
			var revision record.Revision
			err := rows.Scan(&name, &revision)
			found[name] = revision
			return err
		})
	revision, there := found[name]
	_, taken := found[next]
	switch {
	case err != nil:
		return err
	case !there:
		return &record.Error{Code: record.CodeNotFound, Name: name}
	case revision != old:
		return &record.Error{Code: record.CodeConflict, Name: name}
	case next != name && taken:
		return &record.Error{Code: record.CodeNameTaken, Name: next}
	case cause != nil:
		return cause
	}
	return &record.Error{Code: record.CodeConflict, Name: name} // it was, a moment ago
}
