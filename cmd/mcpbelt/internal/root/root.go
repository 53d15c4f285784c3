// Package root puts the commands of mcpbelt together and runs them.
package root

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/clients"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/content"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/develop"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/people"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/serve"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/servers"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/skills"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/tools"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/trust"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
)

// Main runs the command line of this process and returns its exit. The first SIGINT,
// SIGTERM or SIGHUP cancels the command, the second ends the process at once.
func Main() int {
	cli.CollectAt(400) // to collect garbage once in a short command costs a sixth of it
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // so that writes fail, and servers are ended in order
	go func() {
		for n := 0; ; n++ {
			s, _ := (<-signals).(syscall.Signal)
			if n > 0 {
				os.Exit(128 + int(s))
			}
			cancel(&cli.SignalError{Signal: s})
		}
	}()
	return Run(ctx, cli.Process(), os.Args[1:])
}

// Run runs a command line in an environment and returns its exit.
func Run(ctx context.Context, env *cli.Env, args []string) int {
	out := &cli.Writer{To: env.Stdout}
	watched := *env
	watched.Stdout = out
	b := belt.New(&watched)
	defer b.End()
	cmd := Command(b)
	cmd.SetArgs(args)
	cmd.SetIn(env.Stdin)
	cmd.SetOut(out)
	cmd.SetErr(env.Stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		err = out.Err
	}
	if err == nil {
		return int(cli.OK)
	}
	e := cli.Explain(ctx, err)
	e.Print(env.Stderr, b.Out.AsJSON || slices.Contains(args, "--json"))
	return int(e.Exit)
}

// Command returns the root command with all others below it.
func Command(b *belt.Belt) *cobra.Command {
	root := &cobra.Command{
		Use:               "mcpbelt",
		Version:           cli.Version(),
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknown(root, args[0])
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &cli.Error{Exit: cli.Usage, Message: err.Error(), Cure: cmd.CommandPath() + " --help", Err: err}
	})
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say how a command is used",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root && len(rest) > 0 {
				return unknown(root, args[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	})
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text strings.Builder
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		b.Out.Fitted(text.String())
	})
	b.AddFlags(root)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { cmd.SetContext(b.Begin(cmd.Context())) }
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Servers:", servers.Commands(b)}, {"Other programs:", clients.Commands(b)}, {"Logins:", people.Commands(b)},
		{"Tools:", slices.Concat(tools.Commands(b), content.Commands(b), skills.Commands(b))}, {"Trust:", append(trust.Commands(b), inboxCommand(b))}, {"Long-lived:", serve.Commands(b)},
		{"For programs:", develop.Commands(b)},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(completionCommand(root))
	fold(b, root)
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What the exit of a command says", Long: "Exit codes:\n\n" + cli.ExitHelp()})
	return root
}

// unknown returns the error of a command that does not exist.
func unknown(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	e := cli.UsageError("there is no command %q", name)
	e.Cure = "mcpbelt help lists them"
	if near := nearest.Names(name, names, 3); len(near) > 0 {
		e.Cure = "did you mean " + strings.Join(near, ", ") + "?"
	}
	e.Err = errors.ErrUnsupported
	return e
}
