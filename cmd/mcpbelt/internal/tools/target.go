package tools

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A target is a tool that the arguments of a command name.
type target struct {
	server *config.Server
	tool   string   // its name, at its server or here
	rest   []string // the arguments behind it
}

// findTarget reads SERVER TOOL, URL TOOL, SERVER__TOOL, SERVER.TOOL or, with a command
// behind --, TOOL.
func findTarget(b *belt.Belt, c *belt.Catalog, cmd *cobra.Command, args []string) (*target, error) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == 0 || dash == len(args) {
			return nil, cli.UsageError("the command is: mcpbelt %s TOOL [...] -- COMMAND ARG...", cmd.Name())
		}
		s, err := b.CommandTarget(cmd.Context(), args[dash:])
		return &target{server: s, tool: args[0], rest: args[1:dash]}, err
	}
	return namedTarget(cmd, b, c, args)
}

// namedTarget is findTarget without a command.
func namedTarget(cmd *cobra.Command, b *belt.Belt, c *belt.Catalog, args []string) (*target, error) {
	named := len(args) > 0 && strings.Contains(args[0], "://")
	if len(args) > 0 && !named {
		_, err := c.Find(args[0])
		named = err == nil
	}
	switch {
	case len(args) == 0 || named && len(args) == 1:
		return nil, cli.UsageError("the command is: mcpbelt %s SERVER TOOL [...]", cmd.Name())
	case named:
		s, err := b.Target(cmd.Context(), c, args[0])
		return &target{server: s, tool: args[1], rest: args[2:]}, err
	}
	if server, tool, ok := splitName(args[0]); ok {
		s, err := c.Find(server)
		return &target{server: s, tool: tool, rest: args[1:]}, err
	}
	_, err := c.Find(args[0])
	return nil, err
}

// splitName splits the name of a tool that names its server, too: SERVER__TOOL, SERVER:TOOL or
// SERVER.TOOL.
func splitName(name string) (server, tool string, ok bool) {
	for _, separator := range []string{"__", ":", "."} {
		if server, tool, ok = strings.Cut(name, separator); ok && tool != "" {
			return server, tool, true
		}
	}
	return "", "", false
}

// definition returns the tool of the target, listed or held back by the ledger.
func (t *target) definition(r *registry.Registry) (*registry.Definition, error) {
	var names []string
	snapshot := r.Snapshot()
	for _, listed := range snapshot.Tools() {
		if d := listed.Definition(); d.Origin.Server == t.server.Name {
			if d.Origin.Tool == t.tool || d.Name == t.tool {
				return d, nil
			}
			names = append(names, d.Origin.Tool)
		}
	}
	for _, q := range snapshot.Quarantined() {
		if o := q.Tool.Origin; o.Server == t.server.Name && (o.Tool == t.tool || q.Tool.Name == t.tool) {
			return q.Tool, belt.Explain(t.server, &registry.QuarantinedError{Name: q.Tool.Name, Change: q.Change})
		}
	}
	return nil, &cli.Error{
		Exit: cli.NotFound, Server: t.server.Name, Message: "server " + strconv.Quote(t.server.Name) + " has no tool " + strconv.Quote(t.tool),
		Cure: cli.DidYouMean(t.tool, names, "mcpbelt tools "+t.server.Name),
	}
}
