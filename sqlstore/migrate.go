package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A VersionError reports tables that a newer release of this package has made. They
// are left as they are.
type VersionError struct {
	// Found is the version of the tables.
	Found int
	// Known is the newest version that this release knows.
	Known int
}

// Error says what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the tables have version %d, and this program knows no later one than %d: use a newer release of it", e.Found, e.Known)
}

// A migration leads from one version to the next. The release before goes on working with the
// tables of one that is additive: it may start, and run, while others have the next release already.
type migration struct {
	additive   bool
	statements []string
	move       func(ctx context.Context, d *Database, tx *sql.Tx) error // nil: nothing to do; called behind the statements
	drop       []string                                                 // tables that go then
}

// migrations returns what leads to version 1, 2 and so on. Those that were released are
// never changed.
func migrations() []migration {
	return []migration{{statements: []string{
		`CREATE TABLE {p}sessions (
			name {name} NOT NULL PRIMARY KEY,
			data {bytes} NOT NULL,
			revision TEXT NOT NULL
		)`,
		`CREATE TABLE {p}documents (
			kind {name} NOT NULL,
			name {name} NOT NULL,
			data {bytes} NOT NULL,
			revision TEXT NOT NULL,
			PRIMARY KEY (kind, name)
		)`,
		`CREATE TABLE {p}servers (
			seq {serial},
			catalogue {name} NOT NULL,
			name {name} NOT NULL,
			data {bytes} NOT NULL,
			revision TEXT NOT NULL,
			UNIQUE (catalogue, name)
		)`,
		`CREATE TABLE {p}statuses (
			catalogue {name} NOT NULL,
			name {name} NOT NULL,
			status TEXT NOT NULL,
			error TEXT NOT NULL,
			connected_ns BIGINT NOT NULL,
			tools BIGINT NOT NULL,
			PRIMARY KEY (catalogue, name)
		)`,
		`CREATE TABLE {p}activity (
			seq {serial},
			at_ns BIGINT NOT NULL,
			event_id TEXT NOT NULL,
			parent TEXT NOT NULL,
			kind TEXT NOT NULL,
			user_name TEXT NOT NULL,
			server TEXT NOT NULL,
			tool TEXT NOT NULL,
			outcome TEXT NOT NULL,
			error TEXT NOT NULL,
			duration_ns BIGINT NOT NULL,
			argument_bytes BIGINT NOT NULL,
			result_bytes BIGINT NOT NULL,
			argument_hash TEXT NOT NULL,
			arguments TEXT NOT NULL,
			detail TEXT NOT NULL
		)`,
		`CREATE INDEX {i}activity_at ON {p}activity (at_ns)`,
		`CREATE INDEX {i}activity_event ON {p}activity (event_id)`,
		`CREATE INDEX {i}activity_user ON {p}activity (user_name, seq)`,
		`CREATE INDEX {i}activity_server ON {p}activity (server, seq)`,
	}}, {statements: []string{
		`ALTER TABLE {p}servers ADD COLUMN created_ns BIGINT NOT NULL DEFAULT 0`,
		`ALTER TABLE {p}servers ADD COLUMN updated_ns BIGINT NOT NULL DEFAULT 0`,
		`ALTER TABLE {p}servers ADD COLUMN deleted_ns BIGINT NOT NULL DEFAULT 0`,
	}}, {statements: []string{
		`CREATE TABLE {p}records (
			namespace {name} NOT NULL,
			name {name} NOT NULL,
			data {bytes} NOT NULL,
			revision TEXT NOT NULL,
			PRIMARY KEY (namespace, name)
		)`,
		`INSERT INTO {p}records (namespace, name, data, revision) SELECT 'sessions', name, data, revision FROM {p}sessions`,
		`INSERT INTO {p}records (namespace, name, data, revision) SELECT name, 'consents', data, revision FROM {p}documents WHERE kind = 'consent'`,
		`INSERT INTO {p}records (namespace, name, data, revision) SELECT name, 'ledger', data, revision FROM {p}documents WHERE kind = 'ledger'`,
	}, move: moveServers, drop: []string{"sessions", "documents", "servers", "statuses"}}, {additive: true, statements: []string{
		`CREATE TABLE {p}leases (
			namespace {name} NOT NULL,
			name {name} NOT NULL,
			number BIGINT NOT NULL,
			until_ms BIGINT NOT NULL,
			PRIMARY KEY (namespace, name)
		)`,
	}}}
}

// Migrate makes the tables, or brings those of an older release up to date, in one
// transaction: all or nothing. Any number of processes may call it at once; each
// returns when the tables are ready. Tables of a newer release are left alone; a
// [*VersionError] is returned if this release cannot work with them. Call it before anything else, when the
// program starts.
func (d *Database) Migrate(ctx context.Context) error {
	const op = "make the tables"
	if d.dialect == SQLite {
		// The row that is locked below. PostgreSQL has another lock, under which it is
		// made.
		for _, query := range versionTable() {
			if _, err := d.exec(ctx, query); err != nil {
				return fail(ctx, op, err)
			}
		}
	}
	return fail(ctx, op, d.retry(ctx, func() error { return d.migrate(ctx, len(migrations())) }))
}

// versionTable makes the table of versions. The row 1 has the oldest one whose release can
// work with the tables, and is the only one that releases before version 4 know; the row 2
// has that of the tables, if it is another.
func versionTable() []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS {p}version (id INTEGER NOT NULL PRIMARY KEY, version INTEGER NOT NULL)`,
		`INSERT INTO {p}version (id, version) VALUES (1, 0) ON CONFLICT DO NOTHING`,
	}
}

// migrate brings the tables to a version.
func (d *Database) migrate(ctx context.Context, to int) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := d.lockVersion(ctx, tx); err != nil {
		return err
	}
	var oldest, version int
	query := d.sql(`SELECT MIN(CASE id WHEN 1 THEN version END), MAX(version) FROM {p}version`)
	if err := tx.QueryRowContext(ctx, query).Scan(&oldest, &version); err != nil {
		return err
	}
	switch {
	case oldest > to:
		return &VersionError{Found: version, Known: to}
	case version > to:
		return nil
	}
	for i, m := range migrations()[version:to] {
		if err := d.apply(ctx, tx, m); err != nil {
			return err
		}
		if !m.additive {
			oldest = version + i + 1
		}
	}
	for id, at := range []int{oldest, to} {
		if _, err := tx.ExecContext(ctx, d.sql(`INSERT INTO {p}version (id, version) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET version = EXCLUDED.version`), id+1, at); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (d *Database) apply(ctx context.Context, tx *sql.Tx, m migration) error {
	for _, ddl := range m.statements {
		ddl = strings.ReplaceAll(d.dialect.types(ddl), "{i}", d.bare())
		if _, err := tx.ExecContext(ctx, d.sql(ddl)); err != nil {
			return err
		}
	}
	if m.move != nil {
		if err := m.move(ctx, d, tx); err != nil {
			return err
		}
	}
	for _, table := range m.drop {
		if _, err := tx.ExecContext(ctx, d.sql("DROP TABLE {p}"+table)); err != nil {
			return err
		}
	}
	return nil
}

// lockVersion keeps others from migrating until the transaction ends. It is the first
// that the transaction does, so that SQLite waits here and not later, where it could
// not.
func (d *Database) lockVersion(ctx context.Context, tx *sql.Tx) error {
	if d.dialect == SQLite {
		_, err := tx.ExecContext(ctx, d.sql(`UPDATE {p}version SET version = version WHERE id = 1`))
		return err
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, d.hash()); err != nil {
		return err
	}
	for _, query := range versionTable() {
		if _, err := tx.ExecContext(ctx, d.sql(query)); err != nil {
			return err
		}
	}
	return nil
}

// bare returns the prefix without the schema: an index is in that of its table.
func (d *Database) bare() string {
	return d.prefix[strings.IndexByte(d.prefix, '.')+1:]
}
