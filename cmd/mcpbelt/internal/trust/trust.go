// Package trust has the commands by which people say what may be started and called.
package trust

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// Commands returns the commands about trust.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{allowCommand(b), diffCommand(b), decideCommand(b, true), decideCommand(b, false), verifyCommand(b)}
}

// A launch is one that a user decides about, in the output of allow.
type launch struct {
	Server      string `json:"server"`
	Source      string `json:"source"`
	Launch      string `json:"launch"` // exactly what would be started
	Fingerprint string `json:"fingerprint"`
	Verdict     string `json:"verdict"` // pending, approved or rejected
}

func allowCommand(b *belt.Belt) *cobra.Command {
	var yes, deny bool
	cmd := &cobra.Command{
		Use:   "allow [SERVER]",
		Short: "Let a server of a project's file start",
		Long: `The servers of a file in a project, and those that a client of serve has added, start when you
have allowed exactly what would be run. Allow shows that for a server and asks, or for all servers that wait if none is named. With
--deny the server is not started, or has to be allowed again. If anything of the launch changes it has to be allowed
again.`,
		Example:           "  mcpbelt allow",
		Args:              cli.Args(0, 1),
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := b.Load(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return showLaunches(cmd.Context(), b, c)
			}
			s, err := c.Find(args[0])
			if err != nil {
				return err
			}
			return decideLaunch(cmd.Context(), b, c, s, yes, deny)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow it without asking")
	cmd.Flags().BoolVar(&deny, "deny", false, "deny it")
	return cmd
}

func launchOf(l *consent.Launch, v consent.Verdict) launch {
	return launch{l.Server, l.Source, l.String(), l.Fingerprint(), string(v)}
}

// blocked returns the launches of servers that are not allowed. Nothing is started for it.
func blocked(ctx context.Context, b *belt.Belt, c *belt.Catalog, servers ...*config.Server) ([]*host.LaunchNotAllowedError, error) {
	h, err := b.Open(ctx, c, servers, &belt.OpenOptions{Cold: true})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var list []*host.LaunchNotAllowedError
	for _, s := range servers {
		if s.Err != nil || !s.Source.Scope.NeedsApproval() {
			continue
		}
		err := h.Try(ctx, s, nil, func(context.Context, mcp.Transport, *mcp.ClientOptions) error { return nil })
		if e, ok := errors.AsType[*host.LaunchNotAllowedError](err); ok {
			if e.Err != nil {
				return nil, belt.Explain(s, e)
			}
			list = append(list, e)
		}
	}
	return list, ctx.Err()
}

// showLaunches shows the launches that wait.
func showLaunches(ctx context.Context, b *belt.Belt, c *belt.Catalog) error {
	var enabled []*config.Server
	for _, s := range c.Servers {
		if s.Enabled {
			enabled = append(enabled, s)
		}
	}
	list, err := blocked(ctx, b, c, enabled...)
	if err != nil {
		return err
	}
	waiting := []launch{}
	for _, e := range list {
		if e.Verdict == consent.Pending {
			waiting = append(waiting, launchOf(e.Launch, e.Verdict))
		}
	}
	if b.Out.AsJSON {
		return b.Out.JSON(map[string]any{"launches": waiting})
	}
	if len(waiting) == 0 {
		b.Out.Printf("No launch waits to be allowed.\n")
	}
	for _, l := range waiting {
		b.Out.Style(cli.Heading, l.Server)
		b.Out.Printf("\n%s\nTo let it start: mcpbelt allow %s\n", l.Launch, l.Server)
	}
	return nil
}

// decideLaunch shows the launch of a server, asks, and keeps the answer.
func decideLaunch(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, yes, deny bool) error {
	switch {
	case s.Err != nil:
		return belt.Explain(s, s.Err)
	case !s.Source.Scope.NeedsApproval():
		return &cli.Error{Exit: cli.Usage, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " stands in a file of yours, and starts without being allowed"}
	case b.Env.StateDir == "":
		return &cli.Error{Exit: cli.Failed, Message: "there is no state folder to keep the decision in", Cure: "set HOME or XDG_STATE_HOME"}
	}
	list, err := blocked(ctx, b, c, s)
	if err != nil {
		return err
	}
	book, err := b.Consents(ctx)
	if err != nil {
		return err
	}
	var l *consent.Launch
	was, verdict := consent.Approved, consent.Approved
	if deny {
		verdict = consent.Rejected
	}
	if len(list) > 0 {
		l, was = list[0].Launch, list[0].Verdict
	} else if deny {
		return forget(ctx, b, book, s)
	}
	switch {
	case b.Out.AsJSON:
	case l == nil:
		b.Out.Printf("Server %s is allowed already.\n", s.Name)
	default:
		b.Out.Printf("%s\n", l)
		if l.Accepted != "" {
			b.Out.Printf("%s\n", l.Accepted)
		}
	}
	if was != verdict {
		if err := b.Out.Agree(ctx, yes || deny, "Let it start?", "decided"); err != nil {
			return err
		}
		if err := book.Decide(ctx, b.User(), l, verdict); err != nil {
			return err
		}
	}
	if b.Out.AsJSON && l != nil {
		return b.Out.JSON(launchOf(l, verdict))
	}
	if b.Out.AsJSON {
		return b.Out.JSON(launch{Server: s.Name, Source: s.Source.String(), Verdict: string(was)})
	}
	return nil
}

// forget takes back that a server was allowed: its next start asks.
func forget(ctx context.Context, b *belt.Belt, book *consent.Book, s *config.Server) error {
	records, err := book.Records(ctx)
	if err != nil {
		return err
	}
	var prints []string
	for _, r := range records {
		if r.Server == s.Name && r.Project == s.Launch().Project {
			prints = append(prints, r.Fingerprint)
		}
	}
	if err := book.Forget(ctx, prints...); err != nil {
		return err
	}
	if b.Out.AsJSON {
		return b.Out.JSON(launch{Server: s.Name, Source: s.Source.String(), Verdict: string(consent.Pending)})
	}
	b.Out.Printf("Server %s has to be allowed again before it starts.\n", s.Name)
	return nil
}

// openLedger reads the config files and opens their ledger.
func openLedger(ctx context.Context, b *belt.Belt) (*belt.Catalog, *ledger.Ledger, error) {
	c, err := b.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err := b.OpenLedger(ctx, c)
	if err == nil && l == nil {
		err = cli.UsageError("there is no ledger: nothing was accepted, and nothing is held back")
	}
	return c, l, err
}

func diffCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:   "diff [SERVER...]",
		Short: "Show what waits to be accepted",
		Long: `Diff starts the named servers, or all that are configured and switched on, and shows what
they offer otherwise than it was accepted, field by field. These are the servers' words.`,
		Example:           "  mcpbelt diff\n  mcpbelt diff notes --json",
		ValidArgsFunction: b.CompleteServers(-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, l, err := openLedger(cmd.Context(), b)
			if err != nil {
				return err
			}
			servers, err := b.Servers(cmd.Context(), c, args, nil)
			if err != nil {
				return err
			}
			var failed []error
			err = b.Visit(cmd.Context(), c, servers, &belt.OpenOptions{Cold: true}, "asking for tools", func(_ *belt.Opened, _ *config.Server, _ host.Status, err error) {
				if err != nil {
					failed = append(failed, err)
				}
			})
			if err == nil {
				err = l.Reload(context.WithoutCancel(cmd.Context()))
			}
			if err != nil {
				return err
			}
			changes := []ledger.Change{}
			for _, s := range servers {
				changes = append(changes, l.Pending(s.Name)...)
			}
			if err := showChanges(b, changes); err != nil {
				return err
			}
			return b.Failed(failed, len(args) > 0)
		},
	}
}

// showChanges writes changes with their fields.
func showChanges(b *belt.Belt, changes []ledger.Change) error {
	if b.Out.AsJSON {
		return b.Out.JSON(map[string]any{"changes": append([]ledger.Change{}, changes...)})
	}
	if len(changes) == 0 {
		b.Out.Printf("Nothing waits to be accepted.\n")
	}
	for i := range changes {
		writeChange(b, &changes[i])
	}
	return nil
}

// writeChange writes a change, and its fields below it.
func writeChange(b *belt.Belt, c *ledger.Change) {
	b.Out.StyleLine(cli.Heading, belt.WhyHeld(c))
	for _, f := range c.Fields {
		b.Out.Printf("  %s\n", f.Field)
		if f.Before != "" {
			b.Out.StyleLine(cli.Bad, "    - "+f.Before)
		}
		if f.After != "" {
			b.Out.StyleLine(cli.Good, "    + "+f.After)
		}
	}
	if c.More > 0 {
		b.Out.Printf("  and %d more\n", c.More)
	}
	if len(c.Fields) == 0 && c.Surface != nil {
		b.Out.Printf("  %s\n", plain.Cut(string(c.Surface), 2000))
	}
}

// decideCommand returns the command accept, or reject.
func decideCommand(b *belt.Belt, accept bool) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "accept SERVER [TOOL...]",
		Short: "Accept what a server offers now",
		Long: `Accept shows what waits of a server, as diff has found it last, and accepts all of it, or
the named tools, when you agree. What the server changes again after that is held back.`,
		Example:           "  mcpbelt diff notes\n  mcpbelt accept notes --yes",
		ValidArgsFunction: b.CompleteServers(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageError("%s needs the name of a server", cmd.Name())
			}
			_, l, err := openLedger(cmd.Context(), b)
			if err != nil {
				return err
			}
			changes, err := chosen(l, args[0], args[1:], accept)
			if err != nil {
				return err
			}
			if !b.Out.AsJSON {
				if err := showChanges(b, changes); err != nil {
					return err
				}
			}
			if len(changes) > 0 {
				if err := b.Out.Agree(cmd.Context(), yes, map[bool]string{true: "Accept it?", false: "Reject it?"}[accept], "decided"); err != nil {
					return err
				}
				decide := l.Reject
				if accept {
					decide = l.Accept
				}
				if err := decide(cmd.Context(), b.User(), changes...); err != nil {
					return err
				}
				if err := l.Persistent(); err != nil {
					return &cli.Error{Exit: cli.Failed, Message: "the decision cannot be kept: " + err.Error(), Err: err}
				}
			}
			if b.Out.AsJSON {
				return showChanges(b, changes)
			}
			return nil
		},
	}
	if !accept {
		cmd.Use, cmd.Short, cmd.Example = "reject SERVER [TOOL...]", "Refuse what a server offers now", "  mcpbelt diff notes\n  mcpbelt reject notes write --yes"
		cmd.Long = `Reject shows what waits of a server, as diff has found it last, and refuses all of it, or
the named tools, when you agree. A named tool that was accepted is refused as well.`
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "decide without asking")
	return cmd
}

// chosen returns what is decided about: what waits of a server, or the named tools of it.
// A tool that was decided about can be rejected.
func chosen(l *ledger.Ledger, server string, tools []string, accept bool) ([]ledger.Change, error) {
	pending := l.Pending(server)
	entries := l.Entries(server)
	if len(pending) == 0 && len(entries) == 0 {
		return nil, &cli.Error{Exit: cli.NotFound, Server: server, Message: "the ledger knows nothing of server " + strconv.Quote(server), Cure: "mcpbelt diff " + server}
	}
	if len(tools) == 0 {
		return pending, nil
	}
	var changes []ledger.Change
	for _, tool := range tools {
		tool = strings.TrimPrefix(tool, server+"__")
		if i := slices.IndexFunc(pending, func(c ledger.Change) bool { return c.Tool == tool }); i >= 0 {
			changes = append(changes, pending[i])
			continue
		}
		i := slices.IndexFunc(entries, func(e ledger.Entry) bool { return e.Tool == tool })
		switch {
		case i < 0:
			return nil, &cli.Error{Exit: cli.NotFound, Server: server, Message: "the ledger knows no tool " + strconv.Quote(tool) + " of server " + strconv.Quote(server), Cure: "mcpbelt diff " + server}
		case entries[i].Rejected != accept:
			// It is so already.
		default:
			kind := ledger.ToolChanged
			if accept {
				kind = ledger.ToolRejected
			}
			changes = append(changes, ledger.Change{Server: server, Tool: tool, Kind: kind, Hash: entries[i].Hash})
		}
	}
	return changes, nil
}
