// Package trust has the commands by which people say what may be started and called.
package trust

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/mcpbelt/mcpbelt/internal/toolbrief"
	"github.com/mcpbelt/mcpbelt/registry"
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
	var yes, deny, all bool
	cmd := &cobra.Command{
		Use: "allow",
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			switch {
			case all && (len(args) > 0 || deny || b.Out.AsJSON):
				return cli.UsageError("--all allows all launches that wait, and goes with --yes alone")
			case len(args) == 0:
				return showLaunches(cmd.Context(), b, c, all, yes)
			}
			return decideLaunch(cmd.Context(), b, c, args[0], yes, deny)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow it without asking")
	cmd.Flags().BoolVar(&deny, "deny", false, "deny it")
	cmd.Flags().BoolVar(&all, "all", false, "decide about all that wait")
	return cmd
}

func launchOf(l *consent.Launch, v consent.Verdict) launch {
	return launch{l.Server, l.Source, l.String(), l.Fingerprint(), string(v)}
}

// Launches returns the launches that wait.
func Launches(ctx context.Context, b *belt.Belt, c *belt.Catalog) ([]launch, error) {
	enabled := slices.DeleteFunc(slices.Clone(c.Config.Servers), func(s *config.Server) bool { return s.Disabled })
	list, err := b.Blocked(ctx, c, enabled...)
	waiting := []launch{}
	for _, e := range list {
		if e.Verdict == consent.Pending {
			waiting = append(waiting, launchOf(e.Launch, e.Verdict))
		}
	}
	return waiting, err
}

// showLaunches shows the launches that wait, or decides about all of them.
func showLaunches(ctx context.Context, b *belt.Belt, c *belt.Catalog, decide, yes bool) error {
	waiting, err := Launches(ctx, b, c)
	if err != nil && !(decide && len(waiting) > 0) {
		return err
	}
	if len(waiting) == 0 {
		b.Out.Printf("No launch waits to be allowed.\n")
	}
	for _, l := range waiting {
		if !decide {
			b.Out.StyleLine(cli.Heading, l.Server)
			b.Out.Printf("%s\nTo let it start: mcpbelt allow %s\n", l.Launch, l.Server)
			continue
		}
		err := decideLaunch(ctx, b, c, l.Server, yes, false)
		if e, ok := errors.AsType[*cli.Error](err); err != nil && !(ok && e.Exit == cli.Declined) {
			return err // but those behind one that was declined are asked about
		}
	}
	return b.Out.Result(map[string]any{"launches": waiting})
}

// decideLaunch shows the launch of a server, asks, and keeps the answer.
func decideLaunch(ctx context.Context, b *belt.Belt, c *belt.Catalog, name string, yes, deny bool) error {
	s, err := c.FindLaunch(name)
	switch {
	case err != nil:
		return err
	case s.Err != nil:
		return belt.Explain(s, s.Err)
	case !s.Source.Scope.NeedsApproval():
		return &cli.Error{Exit: cli.Usage, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " stands in a file of yours, and starts without being allowed"}
	case b.Env.StateDir == "":
		return &cli.Error{Exit: cli.Failed, Message: "there is no state folder to keep the decision in", Cure: "set HOME or XDG_STATE_HOME"}
	}
	list, err := b.Blocked(ctx, c, s)
	if e, ok := errors.AsType[*cli.Error](err); err != nil && !(deny && ok && e.Exit == cli.NotSent) {
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
	if l == nil {
		b.Out.Printf("Server %s is allowed already.\n", s.Name)
		return b.Out.Result(launch{Server: s.Name, Source: s.Source.String(), Verdict: string(was)})
	}
	b.Out.StyleLine(cli.Heading, s.Name)
	b.Out.Printf("%s\n", l)
	if was != verdict {
		if err := b.Out.Agree(ctx, yes || deny, "Let it start?", "decided"); err != nil {
			return err
		}
		if err := book.Decide(ctx, b.User(), l, verdict); err != nil {
			return err
		}
		b.Out.Printf("%s %s\n", map[bool]string{false: "allowed", true: "denied"}[deny], s.Name)
	}
	return b.Out.Result(launchOf(l, verdict))
}

// forget takes back that a server was allowed: its next start asks.
func forget(ctx context.Context, b *belt.Belt, book *consent.Book, s *config.Server) error {
	records, err := book.Records(ctx)
	if err != nil {
		return err
	}
	var fingerprints []string
	for _, r := range records {
		if r.Server == s.Name && r.Project == s.Launch().Project {
			fingerprints = append(fingerprints, r.Fingerprint)
		}
	}
	if err := book.Forget(ctx, fingerprints...); err != nil {
		return err
	}
	b.Out.Printf("Server %s has to be allowed again before it starts.\n", s.Name)
	return b.Out.Result(launch{Server: s.Name, Source: s.Source.String(), Verdict: string(consent.Pending)})
}

// withLedger has a command read the config files and open their ledger.
func withLedger(b *belt.Belt, run func(cmd *cobra.Command, c *belt.Catalog, l *ledger.Ledger, args []string) error) belt.Run {
	return b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
		l, err := b.OpenLedger(cmd.Context(), c.Config.Servers)
		if err != nil {
			return err
		}
		if l == nil {
			return cli.UsageError("there is no ledger: nothing was accepted, and nothing is held back")
		}
		return run(cmd, c, l, args)
	})
}

// withOffers is withLedger for a command that asks the servers of its arguments, or all, what they offer.
func withOffers(b *belt.Belt, run func(l *ledger.Ledger, servers []*config.Server, offers []belt.Offer, named bool) error) belt.Run {
	return withLedger(b, func(cmd *cobra.Command, c *belt.Catalog, l *ledger.Ledger, args []string) error {
		servers, err := b.Servers(cmd.Context(), c, args, nil)
		if err != nil {
			return err
		}
		offers, err := b.Offers(cmd.Context(), c, servers...)
		if err != nil {
			return err
		}
		return run(l, servers, offers, len(args) > 0)
	})
}

func diffCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "diff",
		RunE: withOffers(b, func(l *ledger.Ledger, servers []*config.Server, offers []belt.Offer, named bool) error {
			changes := []ledger.Change{}
			var failed []error
			for i, s := range servers {
				changes = append(changes, waiting(l, s, offers[i])...)
				failed = append(failed, offers[i].Err)
			}
			showChanges(b, changes)
			if err := b.Out.Result(map[string]any{"changes": changes}); err != nil {
				return err
			}
			return b.Failed(failed, named)
		}),
	}
}

// waiting returns what waits of a server: what it offers otherwise than it was accepted, and what has
// waited before.
func waiting(l *ledger.Ledger, s *config.Server, o belt.Offer) []ledger.Change {
	var changes []ledger.Change
	if o.Err == nil {
		for _, c := range registry.Verify(l, host.Facts(s, &o.Instructions), o.Tools) {
			trusted := ledger.Mode(s.Ledger) == ledger.Trust && c.Kind != ledger.ToolRejected
			if c.Kind != ledger.ToolRemoved && !trusted {
				changes = append(changes, c)
			}
		}
	}
	for _, c := range pending(l, s) {
		// What is offered now takes the place of what waits of the same tool.
		if !slices.ContainsFunc(changes, func(now ledger.Change) bool { return now.Tool == c.Tool && (c.Tool != "" || now.Kind == c.Kind) }) {
			changes = append(changes, c)
		}
	}
	return changes
}

// A held says what the ledger holds back of a server.
type held struct{ Server, Why string }

// Held returns what waits in the ledger, by server.
func Held(ctx context.Context, b *belt.Belt, c *belt.Catalog) ([]held, error) {
	l, err := b.OpenLedger(ctx, c.Config.Servers)
	if err != nil || l == nil {
		return nil, err
	}
	var list []held
	for _, s := range c.Servers {
		changes := slices.DeleteFunc(pending(l, s), func(c ledger.Change) bool { return c.Kind == ledger.ToolRejected })
		if len(changes) == 0 || s.Disabled {
			continue
		}
		why := belt.WhyHeld(&changes[0])
		if n := len(changes) - 1; n > 0 {
			why += ", and " + strconv.Itoa(n) + " more"
		}
		list = append(list, held{s.Name, why})
	}
	return list, nil
}

// pending returns what waits of a server in the ledger.
func pending(l *ledger.Ledger, s *config.Server) []ledger.Change {
	place := placeOf(l, s)
	return slices.DeleteFunc(l.Pending(s.Name), func(c ledger.Change) bool { return c.Place != place })
}

// decided returns what was decided about a server.
func decided(l *ledger.Ledger, s *config.Server) []ledger.Entry {
	place := placeOf(l, s)
	return slices.DeleteFunc(l.Entries(s.Name), func(e ledger.Entry) bool { return e.Place != place })
}

// placeOf returns the place of the ledger that keeps a server.
func placeOf(l *ledger.Ledger, s *config.Server) string {
	place := s.Source.ProjectFolder()
	if part, _ := l.At(place); part == l {
		return ""
	}
	return place
}

// showChanges writes changes with their fields.
func showChanges(b *belt.Belt, changes []ledger.Change) {
	if len(changes) == 0 {
		b.Out.Printf("Nothing waits to be accepted.\n")
	}
	for i := range changes {
		writeChange(b, &changes[i], false)
	}
}

// writeChange writes a change, and its fields below it. Of a new tool brief is the beginning.
func writeChange(b *belt.Belt, c *ledger.Change, brief bool) {
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
	if len(c.Fields) > 0 || c.Surface == nil {
		return
	}
	var said struct {
		Description, Instructions string
		InputSchema               json.RawMessage
	}
	var all bytes.Buffer
	if json.Unmarshal(c.Surface, &said) != nil || json.Indent(&all, c.Surface, "  ", "  ") != nil {
		all.Write(c.Surface)
	}
	if c.Tool != "" {
		b.Out.Printf("  %s%s\n", c.Tool, toolbrief.Signature(said.InputSchema))
	}
	text, most := all.String(), 4000
	if brief {
		text, _, _ = strings.Cut(strings.TrimSpace(cmp.Or(said.Description, said.Instructions)), "\n")
		most = 200
	}
	b.Out.Printf("  %s\n", plain.Cut(text, most))
}

// decideCommand returns the command accept, or reject.
func decideCommand(b *belt.Belt, accept bool) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: map[bool]string{true: "accept", false: "reject"}[accept],
		RunE: withLedger(b, func(cmd *cobra.Command, c *belt.Catalog, l *ledger.Ledger, args []string) error {
			if len(args) == 0 {
				return cli.UsageError("%s needs the name of a server", cmd.Name())
			}
			d, err := decisionAbout(cmd.Context(), b, c, l, args[0], args[1:], accept)
			if err != nil {
				return err
			}
			showChanges(b, d.changes)
			if rejected := d.rejected(); len(d.changes) == 0 && accept && len(rejected) > 0 {
				b.Out.Printf("Rejected: %s. Name them to accept them.\n", strings.Join(rejected, ", "))
			}
			if len(d.changes) > 0 {
				if err := b.Out.Agree(cmd.Context(), yes, map[bool]string{true: "Accept it?", false: "Reject it?"}[accept], "decided"); err != nil {
					return err
				}
				if err := d.decide(cmd.Context(), b.User()); err != nil {
					return err
				}
				b.Out.Printf("%s %s of %s\n", map[bool]string{true: "accepted", false: "rejected"}[accept], plain.Number(len(d.changes), "change"), args[0])
			}
			return b.Out.Result(map[string]any{"changes": append([]ledger.Change{}, d.changes...)})
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "decide without asking")
	return cmd
}

// A decision is what accept or reject does when the user agrees.
type decision struct {
	ledger  *ledger.Ledger
	accept  bool
	changes []ledger.Change
	entries []ledger.Entry // of the server
	server  *config.Server // that was asked; nil: it was not needed
	offer   belt.Offer
}

// decisionAbout returns what there is to decide: about what waits of a server, or about the named tools
// of it. The server is asked only if the ledger does not know that.
func decisionAbout(ctx context.Context, b *belt.Belt, c *belt.Catalog, l *ledger.Ledger, name string, tools []string, accept bool) (*decision, error) {
	d := &decision{ledger: l, accept: accept}
	s, err := c.Find(name)
	if err != nil {
		s = &config.Server{Name: name} // the ledger may know it still
	}
	known := pending(l, s)
	d.entries = decided(l, s)
	missing, ok := d.choose(known, s, tools)
	whole := accept && len(tools) == 0 && slices.ContainsFunc(d.entries, func(e ledger.Entry) bool { return e.Rejected && e.Tool == "" })
	if ok && !whole || err != nil && len(known)+len(d.entries) > 0 {
		return d, missing
	}
	if err != nil {
		return nil, err
	}
	offers, err := b.Offers(ctx, c, s)
	if err = cmp.Or(err, offers[0].Err); err != nil {
		return nil, err
	}
	d.server, d.offer = s, offers[0]
	missing, _ = d.choose(waiting(l, s, d.offer), s, tools)
	return d, missing
}

// choose sets the changes that are decided about, and reports whether there are any. The error names a tool
// that is not known.
func (d *decision) choose(changes []ledger.Change, s *config.Server, tools []string) (missing error, ok bool) {
	d.changes = nil
	if len(tools) == 0 {
		for _, c := range changes {
			if c.Kind != ledger.ToolRejected || d.accept && c.Tool == "" {
				d.changes = append(d.changes, c)
			}
		}
		whole := slices.DeleteFunc(slices.Clone(d.changes), func(c ledger.Change) bool {
			return c.Tool != "" || c.Kind == ledger.InstructionsChanged
		})
		if !d.accept && len(whole) > 0 {
			d.changes = whole // which holds back all of its tools
		}
		return nil, len(d.changes) > 0
	}
	for _, tool := range tools {
		tool = strings.TrimPrefix(tool, s.Name+"__")
		if i := slices.IndexFunc(changes, func(c ledger.Change) bool {
			return c.Tool == tool && (d.accept || c.Kind != ledger.ToolRejected)
		}); i >= 0 {
			d.changes = append(d.changes, changes[i])
			continue
		}
		of := slices.DeleteFunc(slices.Clone(d.entries), func(e ledger.Entry) bool { return e.Tool != tool })
		if len(of) == 0 {
			return &cli.Error{Exit: cli.NotFound, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " has no tool " + strconv.Quote(tool) + " to decide about", Cure: "mcpbelt diff " + s.Name}, false
		}
		if i := slices.IndexFunc(of, func(e ledger.Entry) bool { return e.Rejected == d.accept }); i >= 0 {
			kind := ledger.ToolChanged
			if d.accept {
				kind = ledger.ToolRejected
			}
			d.changes = append(d.changes, ledger.Change{Server: s.Name, Place: of[i].Place, Tool: tool, Kind: kind, Hash: of[i].Hash})
		}
	}
	return nil, true
}

// rejected returns the names of the tools that were rejected.
func (d *decision) rejected() (names []string) {
	for _, e := range d.entries {
		if e.Rejected && e.Tool != "" {
			names = append(names, plain.Line(e.Tool))
		}
	}
	return names
}

// decide keeps the decision.
func (d *decision) decide(ctx context.Context, by string) error {
	if d.server != nil {
		// What is offered waits now, and is not accepted as the first list of the server.
		facts := host.Facts(d.server, &d.offer.Instructions)
		facts.Mode = ledger.Review
		if _, err := registry.New(&registry.Options{Ledger: d.ledger}).Replace(facts, d.offer.Tools); err != nil {
			return err
		}
	}
	decide := d.ledger.Reject
	if d.accept {
		decide = d.ledger.Accept
	}
	if err := decide(ctx, by, d.changes...); err != nil {
		return err
	}
	if err := d.ledger.Persistent(); err != nil {
		return &cli.Error{Exit: cli.Failed, Message: "the decision cannot be kept: " + err.Error(), Err: err}
	}
	return nil
}
