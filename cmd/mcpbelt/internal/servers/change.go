package servers

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// changeCommands returns the commands that change the entry of a server.
func changeCommands(b *belt.Belt) []*cobra.Command {
	remove := func(ctx context.Context, store record.Store, name string, _ []string) error {
		_, err := record.Remove(ctx, store, name)
		return err
	}
	update := func(name, action string, n int, patch func(args []string) *record.Patch) *cobra.Command {
		return changeCommand(b, name, action, n, n, func(ctx context.Context, store record.Store, name string, args []string) error {
			_, _, err := record.Update(ctx, store, name, patch(args))
			return err
		})
	}
	return []*cobra.Command{
		setCommand(b), changeCommand(b, "remove", "removed", 1, 1, remove),
		update("rename", "renamed", 2, func(args []string) *record.Patch {
			return &record.Patch{Keys: []string{"name"}, Values: config.Server{Title: args[1]}}
		}),
		update("enable", "enabled", 1, func([]string) *record.Patch { return record.Switch(true) }),
		update("disable", "disabled", 1, func([]string) *record.Patch { return record.Switch(false) }),
	}
}

// changeCommand returns a command with least to most arguments that does something to the entry of a server, and tells of it.
func changeCommand(b *belt.Belt, name, action string, least, most int, do func(context.Context, record.Store, string, []string) error) *cobra.Command {
	return &cobra.Command{Use: name, Args: cli.Args(least, most), RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
		s, err := c.Find(args[0])
		if err != nil {
			return err
		}
		store, err := storeOf(b, c, s)
		if err != nil {
			return err
		}
		if err := do(cmd.Context(), store, s.Title, args); err != nil {
			return explain(s.Name, err)
		}
		return changed{Action: action, Server: s.Name, File: s.Source.File}.show(cmd.Context(), b)
	})}
}

// A changed is the output of the commands that change a config file.
type changed struct {
	Action string `json:"action"` // added, removed, renamed, enabled or disabled
	Server string `json:"server"`
	File   string `json:"file"`
	Note   string `json:"note,omitempty"`
}

// show tells of the change, and of what in the entry has no effect.
func (c changed) show(ctx context.Context, b *belt.Belt) error {
	b.Out.Printf("%s %s in %s\n", c.Action, c.Server, c.File)
	if all, err := b.Load(ctx); err == nil {
		for _, s := range all.Config.Servers {
			if s.Name != c.Server || s.Source.File != c.File {
				continue
			}
			for _, w := range s.Warnings {
				(&cli.Error{Message: s.MaskError(w)}).Print(b.Env.Stderr, b.Out.AsJSON)
			}
		}
	}
	if c.Note != "" {
		b.Out.Printf("%s\n", c.Note)
	}
	return b.Out.Result(c)
}

// storeOf returns the records of the file that a server stands in, if it is a file of
// mcpbelt: those of other programs are not changed.
func storeOf(b *belt.Belt, c *belt.Catalog, s *config.Server) (record.Store, error) {
	file := s.Source.File
	base := filepath.Base(file)
	own := b.ConfigFile != "" || file == b.UserFile() || base == ".mcp.json" || base == ".mcprc"
	if !own {
		return nil, &cli.Error{
			Exit: cli.Usage, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " stands in a file of " + cmp.Or(c.Client(file), "another program") + ", " + file,
			Cure: "change it there, or take it over with mcpbelt import",
		}
	}
	return openStore(b, file, s.Source.Scope, s.Source.Format), nil
}

func openStore(b *belt.Belt, file string, scope config.Scope, format string) record.Store {
	return edit.OpenFileStore(file, &config.Options{Scope: scope, Project: b.Env.Dir, Format: format, Formats: belt.Formats()})
}

// explain returns an error of a store with its exit.
func explain(server string, err error) error {
	if _, ok := errors.AsType[*cli.Error](err); ok || err == nil {
		return err
	}
	e := &cli.Error{Exit: cli.Failed, Server: server, Message: err.Error(), Err: err}
	if r, ok := errors.AsType[*record.Error](err); ok {
		e.Exit = cli.Usage
		if r.Code == record.CodeNotFound {
			e.Exit = cli.NotFound
		}
		if r.Code == record.CodeNameTaken {
			e.Cure = "mcpbelt set " + r.Name
		}
	} else if _, ok := errors.AsType[*config.Error](err); ok {
		e.Exit = cli.InvalidConfig
	}
	return e
}
