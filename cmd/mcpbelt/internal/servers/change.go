package servers

import (
	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
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
called by the new name, are accepted anew, and its logins are those of the old one.`,
		Example:           "  mcpbelt rename notes memos",
		Args:              cli.Args(2, 2),
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return update(b, cmd, args[0], "renamed", &record.Patch{Name: record.Some(args[1])})
		},
	}
}

func enableCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:               "enable SERVER",
		Short:             "Switch a server on",
		Long:              `Enable switches a server on in its config file. Nothing is started.`,
		Example:           "  mcpbelt enable docs",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return update(b, cmd, args[0], "enabled", &record.Patch{Disabled: record.Some(false)})
		},
	}
}

func disableCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:               "disable SERVER",
		Short:             "Switch a server off",
		Long:              `Disable switches a server off in its config file, and leaves the entry as it is.`,
		Example:           "  mcpbelt disable notes",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return update(b, cmd, args[0], "disabled", &record.Patch{Disabled: record.Some(true)})
		},
	}
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
