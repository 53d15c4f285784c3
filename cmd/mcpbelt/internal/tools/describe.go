package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/toolbrief"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A described is a tool in the output of describe.
type described struct {
	tool
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Hints        registry.Hints  `json:"hints"`
}

func describeCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:               "describe",
		ValidArgsFunction: b.CompleteTools,
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			t, err := findTarget(b, c, cmd, args)
			if err != nil {
				return err
			}
			if len(t.rest) > 0 {
				return cli.UsageError("the command is: mcpbelt describe SERVER TOOL")
			}
			d, err := describe(cmd.Context(), b, c, t)
			if err != nil {
				return err
			}
			showDescribed(b, d)
			return b.Out.Result(d)
		}),
	}
}

func describe(ctx context.Context, b *belt.Belt, c *belt.Catalog, t *target) (*described, error) {
	var d *registry.Definition
	var why error
	state := "listed"
	err := b.Visit(ctx, c, []*config.Server{t.server}, nil, "asking "+t.server.Name, func(h *belt.Opened, _ *config.Server, _ host.Status, failed error) {
		if why = failed; failed != nil {
			return
		}
		if d, why = t.definition(h.Registry()); why != nil {
			state = "quarantined"
		}
	})
	if d == nil || err != nil {
		return nil, cmp.Or(err, why)
	}
	return &described{tool: toolOf(d, state, ""), OutputSchema: d.OutputSchema, Hints: d.Hints()}, nil
}

func showDescribed(b *belt.Belt, d *described) {
	b.Out.Style(cli.Heading, d.Name+toolbrief.Signature(d.InputSchema))
	b.Out.Printf("%s\n", d.held(" "))
	if d.Title != "" {
		b.Out.Printf("%s\n", d.Title)
	}
	if text := strings.TrimSpace(d.Description); text != "" {
		b.Out.Printf("\n%s\n", strings.ReplaceAll(text, "\t", "    "))
	}
	var says []string
	for _, hint := range []struct {
		is   bool
		text string
	}{
		{d.Hints.ReadOnly, "only reads"}, {d.Hints.Destructive && d.Hints.Annotated, "may destroy"},
		{d.Hints.Idempotent && !d.Hints.ReadOnly, "can be repeated"}, {!d.Hints.OpenWorld, "works in a closed world"},
	} {
		if hint.is {
			says = append(says, hint.text)
		}
	}
	b.Out.Printf("\nThe server says of its effects: %s\n", cmp.Or(strings.Join(says, ", "), "nothing"))
	for _, schema := range []struct {
		name string
		text json.RawMessage
	}{{"takes", d.InputSchema}, {"returns", d.OutputSchema}} {
		var indented bytes.Buffer
		if schema.text != nil && json.Indent(&indented, schema.text, "", "  ") == nil {
			b.Out.Printf("\n")
			b.Out.Style(cli.Heading, schema.name)
			b.Out.Printf("\n%s\n", strings.ReplaceAll(indented.String(), "\t", "    "))
		}
	}
}

func searchCommand(b *belt.Belt) *cobra.Command {
	var names []string
	var limit int
	cmd := &cobra.Command{
		Use: "search",
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			words, command, err := belt.SplitArgs(cmd, args)
			if err != nil {
				return err
			}
			if len(words) == 0 {
				return cli.UsageError("search needs words that say what the tool is to do")
			}
			servers, err := b.Servers(cmd.Context(), c, names, command)
			if err != nil {
				return err
			}
			return search(cmd, b, c, servers, strings.Join(words, " "), limit, len(names) > 0)
		}),
	}
	cmd.Flags().StringArrayVar(&names, "server", nil, "ask this `server` only; can be repeated")
	cmd.Flags().IntVar(&limit, "limit", 10, "show at most this `number` of tools, up to 100")
	return cmd
}

// search shows the tools of the servers that fit a text.
func search(cmd *cobra.Command, b *belt.Belt, c *belt.Catalog, servers []*config.Server, text string, limit int, named bool) error {
	all := registry.New(nil) // Visit takes the tools of each server away again
	var failed []error
	err := b.Visit(cmd.Context(), c, servers, nil, "asking for tools", func(h *belt.Opened, s *config.Server, _ host.Status, err error) {
		if err != nil {
			failed = append(failed, err)
			return
		}
		var tools []registry.Tool
		for _, t := range h.Registry().Snapshot().Tools() {
			if t.Definition().Origin.Server == s.Name {
				tools = append(tools, t)
			}
		}
		_, _ = all.Replace(registry.Server{Name: s.Name}, tools)
	})
	if err != nil {
		return err
	}
	finder, err := toolset.New(all, nil)
	if err != nil {
		return err
	}
	matches, err := finder.Search(context.WithoutCancel(cmd.Context()), toolset.Query{Text: text, Limit: limit})
	if err != nil {
		return err
	}
	found := []tool{}
	table := toolTable()
	table.Empty = "None of " + plain.Number(len(all.Snapshot().Tools()), "tool") + " fits."
	for _, m := range matches {
		t := toolOf(m.Tool.Definition(), "listed", "")
		found = append(found, t)
		t.addTo(table)
	}
	if err := b.Out.Found(table, map[string]any{"tools": found}); err != nil {
		return err
	}
	return b.Failed(failed, named)
}
