package develop

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// skill is what an agent that can run commands needs to know.
//
//go:embed skill.md
var skill string

func agentHelpCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "agent-help",
		RunE: func(*cobra.Command, []string) error {
			b.Out.Printf("%s%s", skill, cli.ExitTable())
			return b.Out.Result(map[string]string{"skill": skill + cli.ExitTable()})
		},
	}
}
