package belt

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// UserFile returns the path of the user's own config file of mcpbelt, empty if there is
// no place for it.
func (b *Belt) UserFile() string {
	folder := b.userFolder()
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "mcp.json")
}

// ledgerName is the name of a ledger's file.
const ledgerName = "mcp.lock.json"

// WrittenFile returns the file into which servers are written: that of --config, or that of a scope, .mcp.json of
// the project, .mcprc of the rc scope, and the user's own file.
func (b *Belt) WrittenFile(scope config.Scope) (string, error) {
	switch {
	case b.ConfigFile != "":
		return b.Abs(b.ConfigFile), nil
	case scope == config.ScopeProject:
		return filepath.Join(b.Env.Dir, ".mcp.json"), nil
	case scope == config.ScopeRC:
		return filepath.Join(b.Env.Dir, ".mcprc"), nil
	}
	file := b.UserFile()
	if file == "" {
		return "", &cli.Error{Exit: cli.Failed, Message: "there is no folder for the user's config file", Cure: "set HOME, or name a file with --config"}
	}
	return file, nil
}

// OpenLedger opens the ledger of some servers, or that in the database; nil if there is none. Its file is that of
// --ledger, or mcp.lock.json beside the file of --config or in the user's folder.
// Without --ledger and --config the servers of a project's file have one beside that file. If that
// is not sound they are held back, which is said; it is an error if there are no other servers.
func (b *Belt) OpenLedger(ctx context.Context, servers []*config.Server) (*ledger.Ledger, error) {
	path := filepath.Join(b.userFolder(), ledgerName)
	switch {
	case b.NoLedger:
		return nil, nil
	case b.LedgerFile != "":
		path = b.Abs(b.LedgerFile)
	case b.Database != nil:
		l, err := ledger.Load(ctx, b.Database.Kept(), "ledger", nil)
		return l, database.Unusable(err)
	case b.ConfigFile != "":
		path = filepath.Join(filepath.Dir(b.Abs(b.ConfigFile)), ledgerName)
	case b.userFolder() == "":
		return nil, nil
	}
	o := &ledger.Options{}
	if b.LedgerFile == "" && b.ConfigFile == "" {
		o.Open = func(project string) (*ledger.Ledger, error) {
			return ledger.Open(filepath.Join(project, ledgerName), nil)
		}
	}
	unsound := func(err error) *cli.Error {
		return &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Cure: "mend the file, or name another one with --ledger", Err: err}
	}
	l, err := ledger.Open(path, o)
	if err != nil {
		return nil, unsound(err)
	}
	failed := map[string]error{}
	others := false
	for _, s := range servers {
		place := s.Source.ProjectFolder()
		if _, err := l.At(place); err != nil {
			failed[place] = err
		} else {
			others = true
		}
	}
	for _, err := range failed {
		if !others {
			return nil, unsound(err)
		}
		unsound(err).Print(b.Env.Stderr, b.Out.AsJSON)
	}
	return l, nil
}

// Consents opens the decisions about launches, which are kept in the state folder or the database.
func (b *Belt) Consents(ctx context.Context) (*consent.Book, error) {
	if b.Database != nil {
		book, err := consent.Load(ctx, b.Database.Kept(), "consents")
		return book, database.Unusable(err)
	}
	if b.Env.StateDir == "" {
		return consent.New(), nil
	}
	book, err := consent.Open(filepath.Join(b.Env.StateDir, "consents.json")) // where a host keeps them by default
	if err != nil {
		return nil, &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Err: err}
	}
	return book, nil
}

// User returns the name under which decisions of the user are kept.
func (b *Belt) User() string {
	return cmp.Or(b.Env.Var("USER"), b.Env.Var("LOGNAME"), b.Env.Var("USERNAME"), "mcpbelt")
}

// userFolder returns the folder of the user's files of mcpbelt, empty if there is none.
func (b *Belt) userFolder() string {
	if dir := b.Env.Var("APPDATA"); runtime.GOOS == "windows" && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpbelt")
	}
	if dir := b.Env.Var("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpbelt")
	}
	home := b.home()
	switch {
	case home == "":
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "mcpbelt")
	}
	return filepath.Join(home, ".config", "mcpbelt")
}

// home returns the user's folder, empty if the environment does not say it.
func (b *Belt) home() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if dir := b.Env.Var(name); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// Abs returns a path of the command line as an absolute one.
func (b *Belt) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.Env.Dir, path)
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func quote(name string) string { return strconv.Quote(name) }
