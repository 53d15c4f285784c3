// Package tools has the commands about the tools of servers.
package tools

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/toolbrief"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Commands returns the commands about tools.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{toolsCommand(b), searchCommand(b), describeCommand(b), callCommand(b), whyCommand(b), lintCommand(b)}
}

// An offer is what a server offers, in the output of tools.
type offer struct {
	Server string `json:"server"`
	Tools  []tool `json:"tools"`
	Error  string `json:"error,omitempty"` // why the server could not be asked
	Exit   string `json:"exit,omitempty"`  // the code of that
	err    error
}

// A tool is one of them.
type tool struct {
	Name        string          `json:"name"`           // what it is called here
	Tool        string          `json:"tool,omitempty"` // what its server calls it
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	ReadOnly    bool            `json:"readOnly"`         // the server says that it changes nothing
	State       string          `json:"state"`            // listed, quarantined or rejected
	Reason      string          `json:"reason,omitempty"` // why it is not listed
}

func toolsCommand(b *belt.Belt) *cobra.Command {
	var brief bool
	cmd := &cobra.Command{
		Use: "tools",
		RunE: b.WithServers(func(cmd *cobra.Command, c *belt.Catalog, servers []*config.Server, named bool) error {
			offers, err := read(cmd, b, c, servers)
			if err != nil {
				return err
			}
			if err := show(b, offers, brief); err != nil {
				return err
			}
			var failed []error
			for _, o := range offers {
				failed = append(failed, o.err)
			}
			return b.Failed(failed, named)
		}),
	}
	cmd.Flags().BoolVar(&brief, "brief", false, "one line for each tool, with its parameters")
	return cmd
}

// read asks the servers for their tools, and returns the answers in the order of the
// servers.
func read(cmd *cobra.Command, b *belt.Belt, c *belt.Catalog, servers []*config.Server) ([]*offer, error) {
	offers := make([]*offer, len(servers))
	err := b.Visit(cmd.Context(), c, servers, nil, "asking for tools", func(h *belt.Opened, s *config.Server, status host.Status, err error) {
		o := &offer{Server: s.Name, Tools: []tool{}, err: err}
		offers[slices.Index(servers, s)] = o
		if err != nil {
			o.Error, o.Exit = err.Error(), cli.Explain(cmd.Context(), err).Exit.Code()
			return
		}
		o.add(h.Registry().Snapshot(), status)
	})
	return offers, err
}

// add adds what the registry has of the server.
func (o *offer) add(snapshot *registry.Snapshot, status host.Status) {
	for _, t := range snapshot.Tools() {
		if d := t.Definition(); d.Origin.Server == o.Server {
			o.Tools = append(o.Tools, toolOf(d, "listed", ""))
		}
	}
	for _, q := range snapshot.Quarantined() {
		if q.Tool.Origin.Server == o.Server {
			o.Tools = append(o.Tools, toolOf(q.Tool, "quarantined", string(q.Change.Kind)))
		}
	}
	for _, r := range status.Rejected {
		o.Tools = append(o.Tools, tool{Name: r.Name, State: "rejected", Reason: r.Err.Error()})
	}
}

func toolOf(d *registry.Definition, state, reason string) tool {
	return tool{
		Name: d.Name, Tool: d.Origin.Tool, Title: d.Title, Description: d.Description, InputSchema: d.InputSchema,
		ReadOnly: d.Hints().ReadOnly, State: state, Reason: reason,
	}
}

// show writes the offers.
func show(b *belt.Belt, offers []*offer, brief bool) error {
	first := true
	for _, o := range offers {
		switch {
		case o.err != nil:
		case brief:
			for _, t := range o.Tools {
				b.Out.Printf("%s%s%s\n", t.Name, toolbrief.Signature(t.InputSchema), t.held(" "))
			}
		default:
			if !first {
				b.Out.Printf("\n")
			}
			first = false
			b.Out.StyleLine(cli.Heading, o.Server+": "+plain.Number(len(o.Tools), "tool"))
			table := toolTable()
			for _, t := range o.Tools {
				t.addTo(table)
			}
			b.Out.Table(table)
		}
	}
	return b.Out.Result(map[string]any{"servers": append([]*offer{}, offers...)})
}

func toolTable() *cli.Table { return &cli.Table{Headings: []string{"NAME", "DESCRIPTION"}} }

// addTo adds a row with the beginning of the description.
func (t tool) addTo(table *cli.Table) {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	table.Add(t.Name, strings.TrimSpace(t.held("")+" "+line))
}

// held says behind a text why the tool is not listed; it is empty if it is.
func (t tool) held(before string) string {
	if t.State == "listed" {
		return ""
	}
	return before + "(" + t.State + ": " + t.Reason + ")"
}
