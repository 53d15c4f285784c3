package servers

import (
	"cmp"
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

func removeCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:   "remove SERVER",
		Short: "Remove a server from its config file",
		Long: `Remove takes a server out of the config file that it stands in, with its comments. What
was accepted of its tools stays in the ledger.`,
		Example:           "  mcpbelt remove notes",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return change(b, cmd, args[0], "removed", func(store record.Store, s *config.Server) error {
				_, err := record.Remove(cmd.Context(), store, s.Title)
				return err
			})
		},
	}
}

func renameCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:   "rename SERVER NAME",
		Short: "Give a server another name",
		Long: `Rename changes the name of a server in its config file, at its place. Its tools are
called by the new name, have to be accepted again, and its logins are those of the old one.`,
		Example:           "  mcpbelt rename notes memos",
		Args:              cli.Args(2, 2),
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return update(b, cmd, args[0], "renamed", &record.Patch{Name: record.Some(args[1])})
		},
	}
}

// switchCommand returns the command enable, or disable.
func switchCommand(b *belt.Belt, off bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "enable SERVER",
		Short:             "Switch a server on",
		Long:              `Enable switches a server on in its config file. Nothing is started.`,
		Example:           "  mcpbelt enable docs",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: b.CompleteServers(1),
	}
	if off {
		cmd.Use, cmd.Short, cmd.Example = "disable SERVER", "Switch a server off", "  mcpbelt disable notes"
		cmd.Long = `Disable switches a server off in its config file, and leaves the entry as it is.`
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return update(b, cmd, args[0], cmd.Name()+"d", &record.Patch{Disabled: record.Some(off)})
	}
	return cmd
}

// update applies a patch to the entry of a server.
func update(b *belt.Belt, cmd *cobra.Command, name, action string, p *record.Patch) error {
	return change(b, cmd, name, action, func(store record.Store, s *config.Server) error {
		_, _, err := record.Update(cmd.Context(), store, s.Title, p)
		return err
	})
}

// change does something to the entry of a server, and tells of it.
func change(b *belt.Belt, cmd *cobra.Command, name, action string, do func(record.Store, *config.Server) error) error {
	c, err := b.Load(cmd.Context())
	if err != nil {
		return err
	}
	s, err := c.Find(name)
	if err != nil {
		return err
	}
	store, err := storeOf(b, c, s)
	if err != nil {
		return err
	}
	if err := do(store, s); err != nil {
		return explain(s.Name, err)
	}
	return changed{Action: action, Server: s.Name, File: s.Source.File}.show(b)
}

// A changed is the output of the commands that change a config file.
type changed struct {
	Action string `json:"action"` // added, removed, renamed, enabled or disabled
	Server string `json:"server"`
	File   string `json:"file"`
	Note   string `json:"note,omitempty"`
}

func (c changed) show(b *belt.Belt) error {
	b.Out.Printf("%s %s in %s\n", c.Action, c.Server, c.File)
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
	return openStore(file, s.Source.Scope, s.Source.Format), nil
}

func openStore(file string, scope config.Scope, format string) record.Store {
	return edit.OpenFileStore(file, &config.Options{Scope: scope, Format: format, Formats: belt.Formats()})
}

// explain returns an error of a store with its exit.
func explain(server string, err error) error {
	e := &cli.Error{Exit: cli.Failed, Server: server, Message: err.Error(), Err: err}
	if r, ok := errors.AsType[*record.Error](err); ok {
		e.Exit = cli.Usage
		if r.Code == record.CodeNotFound {
			e.Exit = cli.NotFound
		}
		if r.Code == record.CodeNameTaken {
			e.Cure = "mcpbelt get " + r.Name
		}
	} else if _, ok := errors.AsType[*config.Error](err); ok {
		e.Exit = cli.InvalidConfig
	}
	return e
}
