// Package database opens the database in which the processes of serve share what they keep.
package database

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lib/pq"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/session/keyringstore"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// EnvName is the variable of the environment that stands for a database.
	EnvName = "MCPBELT_DATABASE"
	// KeyEnvName is the variable that has its sealing key.
	KeyEnvName = "MCPBELT_DATABASE_KEY"
	// KeyringEnvName is the variable that, if it is not empty, has the sealing key kept in the keyring of the operating
	// system, and not in the state folder.
	KeyringEnvName = "MCPBELT_KEYRING"

	// Default is the database in the state folder.
	Default = "sqlite"

	// openWithin bounds how long a database may take to be opened.
	openWithin = 10 * time.Second
	// maxConns bounds the connections of one process.
	maxConns = 16
)

// Names of the namespaces that serve uses.
const (
	namespace = "serve" // what is kept as it is
	servers   = "servers"
	replicas  = "replicas"
	catalogs  = "catalogs"
	sessions  = "sessions" // those of an account have its name behind a slash
)

// A Database is one that is open, with its tables. Close it.
type Database struct {
	*sqlstore.Database

	pool    *sql.DB
	dialect sqlstore.Dialect
	keys    seal.KeySource
}

// Open opens a database: "sqlite", "sqlite:PATH" or a URL of PostgreSQL. What is sealed in it has the key in
// keyFile, which is made if there is none, or in the environment; a database in a file has the key of the
// logins in the state folder otherwise. The error is a [*cli.Error].
func Open(ctx context.Context, env *cli.Env, value, keyFile string) (*Database, error) {
	keys, err := keysOf(env, value, keyFile)
	if err != nil {
		return nil, err
	}
	pool, dialect, err := connect(env, value)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(maxConns)
	d := &Database{pool: pool, dialect: dialect, keys: keys}
	if d.Database, err = sqlstore.New(pool, dialect, nil); err == nil {
		ctx, cancel := context.WithTimeout(ctx, openWithin)
		defer cancel()
		err = d.Migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(Unusable(err), pool.Close())
	}
	return d, nil
}

// connect returns a pool, which connects later.
func connect(env *cli.Env, value string) (*sql.DB, sqlstore.Dialect, error) {
	path, isPath := strings.CutPrefix(value, "sqlite:")
	switch {
	case value == Default && env.StateDir == "":
		return nil, 0, &cli.Error{Exit: cli.Failed, Message: "there is no state folder to keep a database in", Cure: "set HOME or XDG_STATE_HOME, or name a file with --database=sqlite:PATH"}
	case value == Default:
		path = filepath.Join(env.StateDir, "serve.db")
		if err := os.MkdirAll(env.StateDir, 0o700); err != nil {
			return nil, 0, Unusable(err)
		}
	case isURL(value):
		c, err := pq.NewConnector(value)
		if err != nil { // whose text may have a part of the password
			return nil, 0, cli.UsageError("the URL of the database is not one of PostgreSQL: / and @ in its password are written %%2F and %%40")
		}
		return sql.OpenDB(c), sqlstore.PostgreSQL, nil
	case !isPath || path == "":
		return nil, 0, cli.UsageError("the database is none of sqlite, sqlite:PATH and postgres://USER@HOST/NAME") // it may have a password
	case !filepath.IsAbs(path):
		path = filepath.Join(env.Dir, path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // for its owner alone, as are the files beside it then
	if err == nil {
		err = errors.Join(ownfile.CheckOpen(f), f.Close())
	}
	if err != nil {
		return nil, 0, Unusable(err)
	}
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"}
	pool, err := sql.Open("sqlite", file.String())
	return pool, sqlstore.SQLite, Unusable(err)
}

// Remote reports whether the database is one of PostgreSQL, whose driver reads the variables PGPASSWORD and
// the like.
func (d *Database) Remote() bool { return d.dialect == sqlstore.PostgreSQL }

func isURL(value string) bool {
	return strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://")
}

// StateKeys returns where the sealing key of what is in the state folder comes from; nil: a file there.
func StateKeys(env *cli.Env) seal.KeySource {
	if env.Var(KeyringEnvName) == "" {
		return nil
	}
	return keyringstore.Key("mcpbelt")
}

// keysOf returns where the sealing keys come from.
func keysOf(env *cli.Env, value, keyFile string) (seal.KeySource, error) {
	_, set := env.Lookup(KeyEnvName)
	switch {
	case keyFile != "" && filepath.IsAbs(keyFile):
		return seal.KeyFile(keyFile), nil
	case keyFile != "":
		return seal.KeyFile(filepath.Join(env.Dir, keyFile)), nil
	case set:
		return seal.KeyEnv(KeyEnvName), nil
	case isURL(value), env.StateDir == "":
		return nil, nil // which is an error when a key is wanted
	case StateKeys(env) != nil:
		return StateKeys(env), nil
	}
	return seal.KeyFile(filepath.Join(env.StateDir, "sessions", "key")), nil
}

// Kept returns the store of what is kept as it is: accepted tools, allowed launches, statuses and API keys.
func (d *Database) Kept() storage.Store { return d.Store(namespace) }

// Catalogs returns the store of what servers have listed.
func (d *Database) Catalogs() storage.Store { return d.Store(catalogs) }

// Servers returns the sealed store of the servers.
func (d *Database) Servers(ctx context.Context) (*seal.Store, error) { return d.sealed(ctx, servers) }

// Replicas returns the sealed store of the replicas that run.
func (d *Database) Replicas(ctx context.Context) (*seal.Store, error) { return d.sealed(ctx, replicas) }

// Sessions returns the sealed store of the logins of an account; the empty one is that of the user.
func (d *Database) Sessions(ctx context.Context, account string) (*seal.Store, error) {
	if account != "" {
		account = "/" + account
	}
	return d.sealed(ctx, sessions+account)
}

func (d *Database) sealed(ctx context.Context, namespace string) (*seal.Store, error) {
	if d.keys == nil {
		return nil, &cli.Error{Exit: cli.Usage, Message: "the database needs a sealing key, the same for all who share it",
			Cure: "name its file with --database-key-file, or set " + KeyEnvName + " (openssl rand -base64 32 makes one)"}
	}
	s, err := seal.NewStore(ctx, d.Store(namespace), d.keys)
	return s, Unusable(err)
}

// Close closes all connections. All that uses the database ends before.
func (d *Database) Close() error { return d.pool.Close() }

// Unusable explains why a database cannot be used; nil if err is nil.
func Unusable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	e := &cli.Error{Exit: cli.DatabaseUnusable, Message: "the database cannot be used: " + err.Error(), Err: err}
	_, newer := errors.AsType[*sqlstore.VersionError](err)
	_, key := errors.AsType[*seal.KeyError](err)
	switch text := err.Error(); {
	case newer: // the text says what to do
	case key:
		e.Cure = "--database-key-file names the key, which is that of all who share the database"
	case strings.Contains(text, "database is locked"):
		e.Cure = "end the program that has locked it"
	case errors.Is(err, context.DeadlineExceeded):
		e.Message, e.Cure = "the database cannot be used: it did not answer in time", "see whether it runs, and what has locked it"
	case strings.Contains(text, "SSL"):
		e.Cure = "if the network is yours, add sslmode=disable to the query of the URL"
	default:
		e.Cure = "see whether it runs, and whether --database names it"
	}
	return e
}
