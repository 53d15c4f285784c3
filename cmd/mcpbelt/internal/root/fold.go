package root

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/develop"
)

// hidden are the commands that help does not list: another one has what they do, and names them.
const hidden = "approve reject enable disable rename why lint sessions record replay gen agent-help resources logs completion"

//go:embed help.txt
var helpText string

// describe gives a command and those below it the texts of help.txt: behind "# PATH" the lines of its use and
// its short description, the long one, and examples.
func describe(b *belt.Belt, cmd *cobra.Command) {
	texts := map[string]string{}
	for _, text := range strings.Split("\n"+helpText, "\n# ")[1:] {
		path, rest, _ := strings.Cut(text, "\n")
		texts[path] = rest
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "mcpbelt"), " "), "dev ")
		if text, ok := texts[path]; ok {
			cmd.Use, text, _ = strings.Cut(text, "\n")
			cmd.Short, text, _ = strings.Cut(text, "\n")
			long, example, _ := strings.Cut(text, "\nExamples:\n")
			cmd.Long, cmd.Example = strings.Trim(long, "\n"), strings.TrimRight(example, "\n")
			take(b, cmd)
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(cmd)
}

// take has a command take the arguments that its use names, and completes servers among them.
func take(b *belt.Belt, cmd *cobra.Command) {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	first, optional := strings.CutPrefix(arguments, "[")
	if cmd.ValidArgsFunction == nil && strings.HasPrefix(first, "SERVER") {
		most := 1
		if optional && strings.Contains(first, "...]") {
			most = -1
		}
		cmd.ValidArgsFunction = b.CompleteServers(most)
	}
	if words := strings.Fields(arguments); cmd.Args == nil && !strings.Contains(arguments, "...") && !strings.Contains(arguments, " | ") {
		cmd.Args = cli.Args(len(words)-strings.Count(arguments, "["), len(words))
	}
}

// fold gives commands what hidden ones do, and hides those.
func fold(b *belt.Belt, root *cobra.Command) {
	describe(b, root)
	named := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		named[c.Name()] = c
		c.Hidden = c.Hidden || slices.Contains(strings.Fields(hidden), c.Name())
		own := c.Name() == "add" || c.Name() == "set"
		if !own && (strings.Contains(c.Use, "|URL") || strings.Contains(c.Use, "-- COMMAND")) {
			b.AddTargetFlags(c)
		}
	}
	var tool string
	var models, list bool
	doctor, login := named["doctor"], named["login"]
	doctor.Flags().StringVar(&tool, "tool", "", "say of this `tool` of the server why it is offered, or is not")
	doctor.Flags().BoolVar(&models, "models", false, "say what the providers of models lose of the tools")
	instead(doctor, func(cmd *cobra.Command, args []string) (*cobra.Command, []string) {
		switch {
		case tool != "":
			return named["why"], append(slices.Clone(args), tool)
		case models:
			return named["lint"], args
		}
		return nil, nil
	})
	login.Flags().BoolVar(&list, "list", false, "list the logins that are kept")
	login.Args = func(cmd *cobra.Command, args []string) error {
		if list {
			return cli.Args(0, 0)(cmd, args)
		}
		return cli.Args(1, 1)(cmd, args)
	}
	instead(login, func(*cobra.Command, []string) (*cobra.Command, []string) {
		if list {
			return named["sessions"], nil
		}
		return nil, nil
	})
	dev := &cobra.Command{Use: "dev", Short: "Record, replay and generate code, for those who write programs", GroupID: named["record"].GroupID}
	dev.AddCommand(develop.Commands(b)...)
	root.AddCommand(dev)
	describe(b, dev)
	for _, name := range []string{"ledger", "no-ledger", "as", "no-daemon"} {
		_ = root.PersistentFlags().MarkHidden(name) // they are there
	}
	for _, name := range []string{"login", "logout", "keys"} {
		for _, flag := range []string{"database", "database-key-file"} {
			_ = named[name].PersistentFlags().MarkHidden(flag)
		}
	}
}

// instead has a command run another one where that is chosen.
func instead(cmd *cobra.Command, choose func(*cobra.Command, []string) (*cobra.Command, []string)) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if other, args := choose(cmd, args); other != nil {
			return other.RunE(cmd, args)
		}
		return run(cmd, args)
	}
}
