package trust

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A finding is what is wrong with a server, in the output of verify.
type finding struct {
	Server  string          `json:"server"`
	Status  string          `json:"status"` // clean, changed, not_accepted or unreachable
	Tools   []string        `json:"tools"`  // that the server offers
	Changes []ledger.Change `json:"changes"`
	Error   string          `json:"error,omitempty"`

	entry *config.Server
	exit  cli.Exit
}

func verifyCommand(b *belt.Belt) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "verify",
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.Out.AsJSON && format == "text" {
				format = "json"
			}
			write, ok := map[string]func(*belt.Belt, []*finding) error{"text": writeText, "json": writeJSON, "sarif": writeSARIF, "junit": writeJUnit}[format]
			if !ok {
				return cli.UsageError("the format %q is none of text, json, sarif and junit", format)
			}
			return withOffers(b, func(l *ledger.Ledger, servers []*config.Server, offers []belt.Offer, _ bool) error {
				findings := verify(l, servers, offers)
				if err := write(b, findings); err != nil {
					return err
				}
				return verdict(findings)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "write it in this `format`: text, json, sarif or junit")
	cli.FixedFlag(cmd, "format", "text", "json", "sarif", "junit")
	return cmd
}

// verify compares what servers offer with the ledger.
func verify(l *ledger.Ledger, servers []*config.Server, offers []belt.Offer) []*finding {
	findings := make([]*finding, len(servers))
	for i, s := range servers {
		f, offered := &finding{Server: s.Name, Status: "clean", Tools: []string{}, Changes: []ledger.Change{}, entry: s}, &offers[i]
		findings[i] = f
		if offered.Err != nil {
			f.Status, f.Error, f.exit = "unreachable", offered.Err.Error(), cli.Unreachable
			continue
		}
		for _, t := range offered.Tools {
			f.Tools = append(f.Tools, t.Definition().Origin.Tool)
		}
		f.Changes = append(f.Changes, registry.Verify(l, host.Facts(s, &offered.Instructions), offered.Tools)...)
		known := len(decided(l, s)) > 0
		for _, change := range f.Changes {
			switch {
			case !known, change.Kind == ledger.ToolNew, change.Kind == ledger.ToolRejected:
				if f.exit != cli.Changed {
					f.Status, f.exit = "not_accepted", cli.NotAccepted
				}
			default:
				f.Status, f.exit = "changed", cli.Changed
			}
		}
		if !known && f.exit == cli.OK && len(offered.Tools) > 0 {
			f.Status, f.exit = "not_accepted", cli.NotAccepted
		}
	}
	return findings
}

// verdict returns the error of the command.
func verdict(findings []*finding) error {
	for _, exit := range []cli.Exit{cli.Changed, cli.NotAccepted, cli.Unreachable} {
		i := slices.IndexFunc(findings, func(f *finding) bool { return f.exit == exit })
		if i < 0 {
			continue
		}
		e := &cli.Error{Exit: exit, Server: findings[i].Server, Message: findings[i].Error}
		if offers := map[cli.Exit]string{cli.Changed: "something else than was accepted", cli.NotAccepted: "what was never accepted"}[exit]; offers != "" {
			e.Message, e.Cure = "server "+strconv.Quote(e.Server)+" offers "+offers, "mcpbelt diff "+e.Server
		}
		return e
	}
	return nil
}

func writeText(b *belt.Belt, findings []*finding) error {
	styles := map[string]cli.Style{"clean": cli.Good, "changed": cli.Bad, "not_accepted": cli.Warning, "unreachable": cli.Warning}
	for _, f := range findings {
		b.Out.Style(cli.Heading, f.Server)
		b.Out.Printf(": ")
		b.Out.StyleLine(styles[f.Status], f.Status)
		for i := range f.Changes {
			writeChange(b, &f.Changes[i], true)
		}
	}
	return nil
}

func writeJSON(b *belt.Belt, findings []*finding) error {
	return b.Out.JSON(map[string]any{"servers": append([]*finding{}, findings...)})
}
