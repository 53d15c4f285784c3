package servers

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// A shown is a server in the output of get.
type shown struct {
	*listing
	Entry json.RawMessage `json:"entry"` // with secrets masked
}

func getCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "get",
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			s, err := c.Find(args[0])
			if err != nil {
				return err
			}
			entry, err := s.Masked().Entry()
			if err != nil {
				return err
			}
			row := listingOf(c, s)
			remember(b, []*listing{row})
			status := statusCell(b, row)
			var text bytes.Buffer
			if err := json.Indent(&text, entry, "", "  "); err != nil {
				return err
			}
			b.Out.Style(cli.Heading, row.Name)
			b.Out.Printf("\nstatus: ")
			b.Out.Style(status.Style, status.Text)
			b.Out.Printf("\nfrom:   %s", s.Source)
			if row.Client != "" {
				b.Out.Printf(" (%s, %s)", row.Client, row.Scope)
			}
			b.Out.Printf("\nentry:  %s\n", text.String())
			if row.Error != "" {
				b.Out.StyleLine(cli.Bad, row.Error)
			}
			for _, w := range s.Warnings {
				b.Out.StyleLine(cli.Warning, s.MaskError(w))
			}
			return b.Out.Result(shown{row, entry})
		}),
	}
}
