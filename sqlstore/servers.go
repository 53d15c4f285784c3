package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// Servers returns the store of the records of servers that belong to the catalogue of
// that name, see the package on names: one for each host, or for each tenant. Their
// secrets are kept as the records have them, in clear.
func (d *Database) Servers(catalogue string) config.Store {
	return &servers{db: d, catalogue: catalogue}
}

type servers struct {
	db        *Database
	catalogue string
}

// Records implements config.Store.
func (s *servers) Records(ctx context.Context) ([]config.Stored, error) {
	const op = "list the servers"
	var all []config.Stored
	err := s.db.rows(ctx, `SELECT data, revision FROM {p}servers WHERE catalogue = ? ORDER BY seq`, []any{s.catalogue},
		func(rows *sql.Rows) error {
			var data []byte
			var stored config.Stored
			if err := rows.Scan(&data, &stored.Revision); err != nil {
				return err
			}
			var err error
			stored.Record, err = config.DecodeRecord(data)
			all = append(all, stored)
			return err
		})
	if err != nil {
		return nil, fail(ctx, op, err)
	}
	return all, nil
}

// Save implements config.Store.
func (s *servers) Save(ctx context.Context, name string, r *config.Record, old config.Revision) (config.Revision, error) {
	const op = "save a server"
	data, err := r.Encode()
	if err != nil {
		return "", &Error{Op: op, Err: err}
	}
	revision := config.Revision(rand.Text())
	var n int64
	if name == "" && old == "" {
		n, err = s.db.exec(ctx, `INSERT INTO {p}servers (catalogue, name, data, revision) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			s.catalogue, r.Name, data, string(revision))
		if err == nil && n == 0 {
			return "", &config.RecordError{Code: config.CodeNameTaken, Name: r.Name}
		}
	} else {
		n, err = s.db.exec(ctx, `UPDATE {p}servers SET name = ?, data = ?, revision = ? WHERE catalogue = ? AND name = ? AND revision = ?
			AND (name = ? OR NOT EXISTS (SELECT 1 FROM {p}servers AS other WHERE other.catalogue = ? AND other.name = ?))`,
			r.Name, data, string(revision), s.catalogue, name, string(old), r.Name, s.catalogue, r.Name)
		if err != nil || n == 0 {
			// Two who take one name at the same moment see each other as an error.
			err = s.why(ctx, name, r.Name, old, err)
		}
	}
	if err != nil {
		return "", fail(ctx, op, err)
	}
	return revision, nil
}

// Delete implements config.Store.
func (s *servers) Delete(ctx context.Context, name string, old config.Revision) error {
	n, err := s.db.exec(ctx, `DELETE FROM {p}servers WHERE catalogue = ? AND name = ? AND revision = ?`, s.catalogue, name, string(old))
	if err != nil || n == 0 {
		return fail(ctx, "delete a server", s.why(ctx, name, name, old, err))
	}
	return nil
}

// why returns why a record could not be changed.
func (s *servers) why(ctx context.Context, name, next string, old config.Revision, cause error) error {
	found := map[string]config.Revision{}
	err := s.db.rows(ctx, `SELECT name, revision FROM {p}servers WHERE catalogue = ? AND name IN (?, ?)`, []any{s.catalogue, name, next},
		func(rows *sql.Rows) error {
			var name string
			var revision config.Revision
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
		return &config.RecordError{Code: config.CodeNotFound, Name: name}
	case revision != old:
		return &config.RecordError{Code: config.CodeConflict, Name: name}
	case next != name && taken:
		return &config.RecordError{Code: config.CodeNameTaken, Name: next}
	case cause != nil:
		return cause
	}
	return &config.RecordError{Code: config.CodeConflict, Name: name} // it was, a moment ago
}
