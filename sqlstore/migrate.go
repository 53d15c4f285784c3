package sqlstore

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"fmt"
	"strings"
)

// schemaVersion is the version of the tables that this release makes.
const schemaVersion = 1

// schema has the statements that make the tables of schemaVersion, with semicolons between them.
//
//go:embed schema.sql
var schema string

// A VersionError reports tables that a newer release of this package has made. They
// are left as they are.
//
//cure:use the newer release that made the tables
type VersionError struct{ found int }

// Error says what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the tables have version %d, and this program knows no later one than %d: use a newer release of it", e.found, schemaVersion)
}

// Migrate makes the tables, in one transaction: all or nothing. Any number of processes may call it at once; each
// returns when the tables are ready. Tables of a newer release are left alone, with a
// [*VersionError]. Call it before anything else, when the program starts.
func (d *Database) Migrate(ctx context.Context) error {
	return fail(ctx, "make the tables", d.retry(ctx, func() error { return d.migrate(ctx) }))
}

func (d *Database) migrate(ctx context.Context) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if d.dialect == PostgreSQL {
		// Others wait here. In SQLite the second of two that write fails, and tries again.
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, d.hash()); err != nil {
			return err
		}
	}
	if err := d.execAll(ctx, tx, `CREATE TABLE IF NOT EXISTS {p}version (version INTEGER NOT NULL)`); err != nil {
		return err
	}
	var version int
	if err := tx.QueryRowContext(ctx, d.sql(`SELECT COALESCE(MAX(version), 0) FROM {p}version`)).Scan(&version); err != nil {
		return err
	}
	switch {
	case version > schemaVersion:
		return &VersionError{version}
	case version == schemaVersion:
		return nil
	}
	if err := d.execAll(ctx, tx, strings.Split(schema, ";")...); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, d.sql(`INSERT INTO {p}version (version) VALUES (?)`), schemaVersion); err != nil {
		return err
	}
	return tx.Commit()
}

// execAll runs statements that make tables. An index has no schema: it is in that of its table.
func (d *Database) execAll(ctx context.Context, tx *sql.Tx, statements ...string) error {
	names := strings.NewReplacer("{i}", d.prefix[strings.IndexByte(d.prefix, '.')+1:])
	for _, ddl := range statements {
		if _, err := tx.ExecContext(ctx, d.sql(d.dialect.types(names.Replace(ddl)))); err != nil {
			return err
		}
	}
	return nil
}
