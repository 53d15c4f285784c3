package belt

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/storage"
)

// databaseFlags are the flags of [Belt.OpenDatabase].
type databaseFlags struct{ value, keyFile string }

// AddDatabaseFlags gives a command, and those below it, the flags of a database, for
// [Belt.WithDatabase].
func (b *Belt) AddDatabaseFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&b.shared.value, "database", "", "use this `database`: sqlite (if none is named), sqlite:PATH or postgres://USER@HOST/NAME; or "+database.EnvName)
	f.Lookup("database").NoOptDefVal = database.Default
	f.StringVar(&b.shared.keyFile, "database-key-file", "", "seal secrets in the database with the key in this `file`, which is made if it is not there; or "+database.KeyEnvName)
}

// OpenDatabase opens the database of --database or the environment, if one is named. From then on the servers,
// the ledger, the decisions about launches and the logins are those in the database. It is closed by [Belt.End].
func (b *Belt) OpenDatabase(ctx context.Context) error {
	value := cmp.Or(b.shared.value, b.Env.Var(database.EnvName))
	if value == "" {
		return nil
	}
	d, err := database.Open(ctx, b.Env, value, b.shared.keyFile)
	if err != nil {
		return err
	}
	b.Database = d
	b.ends = append(b.ends, func() { _ = d.Close() })
	return nil
}

// WithDatabase has a command open the database first.
func (b *Belt) WithDatabase(run Run) Run {
	return func(cmd *cobra.Command, args []string) error {
		if err := b.OpenDatabase(cmd.Context()); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// Records returns the store of the servers in the database.
func (b *Belt) Records(ctx context.Context) (record.Store, error) {
	s, err := b.Database.Servers(ctx)
	if err != nil {
		return nil, err
	}
	return record.NewStore(s, recordsName), nil
}

// recordsName is the name of the record that has the servers.
const recordsName = "servers"

// loadRecords returns the servers in the database.
func (b *Belt) loadRecords(ctx context.Context) (*Catalog, error) {
	store, err := b.Records(ctx)
	if err != nil {
		return nil, err
	}
	c, err := record.Read(ctx, store, b.Reading())
	if err != nil {
		return nil, database.Unusable(err)
	}
	c = WithoutGateway(c)
	return &Catalog{Config: c, Servers: c.Servers}, nil
}

// OwnFile returns the config file of --config or the user's own one, with the options that read it.
// The error has no file to name.
func (b *Belt) OwnFile() (file string, read *config.Options, err error) {
	file, read = b.UserFile(), b.Reading()
	read.Scope = config.ScopeUser
	if b.ConfigFile != "" {
		file, read.Scope = b.Abs(b.ConfigFile), ""
	}
	if file == "" {
		return "", nil, &cli.Error{Exit: cli.Failed, Message: "there is no config file", Cure: "set HOME, or name a file with --config"}
	}
	return file, read, nil
}

// ImportServers puts the servers of the config file into the database if it never had any, and returns their
// number: all of them, or none if another process was faster.
func (b *Belt) ImportServers(ctx context.Context) (int, error) {
	sealed, err := b.Database.Servers(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := sealed.Load(ctx, recordsName, ""); !errors.Is(err, storage.ErrNotFound) {
		return 0, database.Unusable(err)
	}
	file, read, err := b.OwnFile()
	if err != nil {
		return 0, nil // there is nothing to import
	}
	all, err := edit.OpenFileStore(file, read).Records(ctx)
	if err != nil {
		return 0, &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Cure: "mend the file, whose servers go into the database", Err: err}
	}
	if len(all) == 0 {
		return 0, nil
	}
	// Made elsewhere first, they are there at once or not at all.
	draft := storage.NewMemory()
	store := record.NewStore(draft, recordsName)
	for _, s := range all {
		r := *s.Record
		if r.Cwd != "" && !filepath.IsAbs(r.Cwd) && !strings.HasPrefix(r.Cwd, "$") {
			r.Cwd = filepath.Join(filepath.Dir(file), r.Cwd)
		}
		if _, err := store.Save(ctx, "", &r, ""); err != nil {
			return 0, err
		}
	}
	made, err := draft.Load(ctx, recordsName, "")
	if err == nil {
		_, err = sealed.Save(ctx, recordsName, made.Data, "")
	}
	if errors.Is(err, storage.ErrConflict) {
		return 0, nil
	}
	return len(all), database.Unusable(err)
}
