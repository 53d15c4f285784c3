package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// defaultPrefix is what the names of tables begin with if Options do not say.
const defaultPrefix = "mcpbelt_"

// Options configure a [Database]. The zero value, and nil, mean the defaults.
type Options struct {
	// Prefix is what the names of all tables and indexes begin with: at most 32 of
	// a-z, 0-9 and _, the first no digit. Databases of one prefix are one. For
	// PostgreSQL it may begin with a schema and a dot; that schema must be there.
	// Default: "mcpbelt_".
	Prefix string
	// WaitForNotification waits for the next notification on a connection of the driver, as
	// sql.Conn.Raw gives it, and returns its payload. It must return soon after ctx ends. With it, which is
	// for PostgreSQL alone, changes are told by NOTIFY, and those who watch a store learn of
	// them at once. One connection of the pool listens as long as any store is watched: a pool that
	// is bounded needs two at least.
	// Default: they look every 3 seconds.
	WaitForNotification func(ctx context.Context, driverConn any) (payload string, err error)
}

// A Database keeps things in the tables of one prefix. It holds nothing open of its
// own but while a store is watched, and leaves the *sql.DB open. All methods, and those of
// what it returns, are safe for concurrent use.
type Database struct {
	db                  *sql.DB
	dialect             Dialect
	prefix              string
	waitForNotification func(ctx context.Context, driverConn any) (payload string, err error)
	poll                time.Duration // how often what is watched is looked at
	patience            time.Duration // replaces retryFor, for tests on busy machines; zero: not
	watches             watches
}

var prefixForm = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,31}\.)?[a-z_][a-z0-9_]{0,31}$`)

// New returns a Database over db, which stays the caller's. It does not connect.
func New(db *sql.DB, dialect Dialect, opts *Options) (*Database, error) {
	o := *cmp.Or(opts, new(Options))
	d := &Database{
		db: db, dialect: dialect, prefix: cmp.Or(o.Prefix, defaultPrefix), waitForNotification: o.WaitForNotification, poll: pollServer,
		watches: watches{all: map[*watch]bool{}, notified: map[string]time.Time{}},
	}
	if dialect == SQLite {
		d.poll = pollFile
	}
	switch {
	case db == nil:
		return nil, &databaseError{"open the database", errors.New("there is no *sql.DB")}
	case dialect != SQLite && dialect != PostgreSQL:
		return nil, &databaseError{"open the database", fmt.Errorf("unknown dialect %d: choose sqlstore.SQLite or sqlstore.PostgreSQL", dialect)}
	case !prefixForm.MatchString(d.prefix), dialect == SQLite && strings.Contains(d.prefix, "."):
		return nil, &databaseError{"open the database", fmt.Errorf("prefix %q: it has to be 1 to 32 of a-z, 0-9 and _, the first no digit", d.prefix)}
	}
	return d, nil
}

// An databaseError reports what could not be done in the database.
type databaseError struct {
	op string // what was to be done, such as "load a session"
	// err is the driver's error, or that of the context. Drivers put no values of
	// columns into their errors, but may name the database.
	err error
}

// Error says what could not be done, and why.
func (e *databaseError) Error() string { return fmt.Sprintf("sqlstore: %s: %v", e.op, e.err) }

// Unwrap returns the error of the driver, of the context or of package storage.
func (e *databaseError) Unwrap() error { return e.err }

// fail wraps the error of a driver. If ctx has ended that is the reason, whatever the
// driver calls it.
func fail(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	return &databaseError{op, err}
}

// sql returns a statement of the dialect, with {p} for the prefix and {now} for the time.
func (d *Database) sql(query string) string {
	return d.dialect.bind(strings.NewReplacer("{p}", d.prefix, "{now}", d.dialect.now()).Replace(query))
}

// exec runs a statement and returns how many rows it changed. While SQLite is locked
// by others it tries again.
func (d *Database) exec(ctx context.Context, query string, args ...any) (int64, error) {
	query = d.sql(query)
	var n int64
	err := d.retry(ctx, func() error {
		res, err := d.db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}

// row runs a query for one row. The error is sql.ErrNoRows if there is none.
func (d *Database) row(ctx context.Context, query string, args []any, into ...any) error {
	query = d.sql(query)
	return d.retry(ctx, func() error { return d.db.QueryRowContext(ctx, query, args...).Scan(into...) })
}

// rows runs a query and has scan read each row. It is not to use the database.
func (d *Database) rows(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	query = d.sql(query)
	var rows *sql.Rows
	err := d.retry(ctx, func() (err error) {
		rows, err = d.db.QueryContext(ctx, query, args...)
		return err
	})
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// retryFor is how long others may keep SQLite locked, beyond the busy timeout of the connection.
const retryFor = 10 * time.Second

// retry does something again while SQLite is locked by others. It has changed nothing
// then. The random waits grow from 4 to 100 ms.
func (d *Database) retry(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	for longest := 4 * time.Millisecond; ; longest = min(2*longest, 100*time.Millisecond) {
		err := do()
		if err == nil || d.dialect != SQLite || !isBusy(err) || time.Since(began) > cmp.Or(d.patience, retryFor) {
			return err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(longest)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
