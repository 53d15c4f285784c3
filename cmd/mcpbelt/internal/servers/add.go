package servers

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// An addition is what the command line of add says.
type addition struct {
	scope     string
	command   string
	transport string
	env       []string
	headers   []string
}

func addCommand(b *belt.Belt) *cobra.Command {
	a := &addition{}
	cmd := &cobra.Command{
		Use:   "add NAME (URL | JSON | -) | add NAME -- COMMAND ARG...",
		Short: "Add a server to a config file",
		Long: `Add writes a server into a config file: the user's own, or with --scope the .mcp.json or
the .mcprc of the folder, or the file of --config. Nothing is started.

A local server is a command behind --, or all of it as one text with --command. A remote
one is a URL. JSON is an entry as it stands in a file; - reads it from standard input.
Write a secret as a reference to a variable, such as '${TOKEN}', not as itself.`,
		Example: `  mcpbelt add files -- npx -y @modelcontextprotocol/server-filesystem .
  mcpbelt add myserver --command="python -m my_mcp_server"
  mcpbelt add tracker https://example.com/mcp --header 'Authorization:${TRACKER_AUTH}'
  mcpbelt add local '{"command":"server","lazy":true}' --scope project`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.record(b, cmd, args)
			if err != nil {
				return err
			}
			scope, err := cli.Scope(a.scope)
			if err != nil {
				return err
			}
			file, err := b.WrittenFile(scope)
			if err != nil {
				return err
			}
			note := ""
			if b.ConfigFile != "" {
				scope = ""
			}
			if _, err := record.Add(cmd.Context(), openStore(b, file, scope, ""), r); err != nil {
				return explain(r.Name, err)
			}
			if scope.NeedsApproval() {
				note = "Before it starts its launch has to be allowed: mcpbelt allow " + r.ServerName()
			}
			return changed{"added", r.ServerName(), file, note}.show(b)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.scope, "scope", "user", "whose file: local (the user's, for this folder), project, rc or user")
	f.StringVar(&a.command, "command", "", "the command with its arguments as one text")
	f.StringVar(&a.transport, "transport", "", "stdio, http, sse, auto or unix (default: as the entry shows)")
	f.StringArrayVar(&a.env, "env", nil, "a variable of the server's environment, `NAME=value`; can be repeated")
	f.StringArrayVar(&a.headers, "header", nil, "a header of each request, `Name:value`; can be repeated")
	cli.FixedFlag(cmd, "scope", "local", "project", "rc", "user")
	cli.FixedFlag(cmd, "transport", "stdio", "http", "sse", "auto", "unix")
	return cmd
}

// record returns the server that the command line describes.
func (a *addition) record(b *belt.Belt, cmd *cobra.Command, args []string) (*record.Record, error) {
	var command []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, command = args[:dash], args[dash:]
	}
	r := &record.Record{}
	var err error
	switch both := command != nil && a.command != ""; {
	case len(args) == 0:
		return nil, cli.UsageError("add needs the name of the server")
	case len(args) > 2:
		return nil, cli.UsageError("there is more than a name and a URL: write a command behind --")
	case both || (len(args) == 2) == (command != nil || a.command != ""):
		return nil, cli.UsageError("add needs one of a URL, JSON, --command, and a command behind --")
	case a.command != "":
		command, err = cli.SplitWords(a.command)
	case command != nil:
	case args[1] == "-" || strings.HasPrefix(args[1], "{"):
		r, err = a.readJSON(cmd.Context(), b, args[0], args[1])
	default:
		r.URL = args[1]
	}
	if err != nil {
		return nil, err
	}
	if len(command) > 0 {
		r.Command, r.Args = command[0], command[1:]
	}
	r.Name = args[0]
	if a.transport != "" {
		r.Transport = a.transport
	}
	if r.Env, err = pairs(r.Env, a.env, "="); err != nil {
		return nil, err
	}
	r.Headers, err = pairs(r.Headers, a.headers, ":")
	return r, err
}

// readJSON reads an entry as it stands in a file of any program, or a whole file with one server.
func (a *addition) readJSON(ctx context.Context, b *belt.Belt, name, text string) (*record.Record, error) {
	data := []byte(text)
	if text == "-" {
		const most = 1 << 20
		var err error
		if data, err = io.ReadAll(io.LimitReader(b.Env.Stdin, most)); err != nil {
			return nil, err
		}
	}
	s, err := b.ParseEntry(ctx, name, data)
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		(&cli.Error{Message: w.Error()}).Print(b.Env.Stderr, b.Out.AsJSON)
	}
	return record.Of(s), nil
}

// pairs adds what was given as NAME=value or Name:value to a map.
func pairs(to map[string]config.Secret, texts []string, separator string) (map[string]config.Secret, error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, separator)
		if !ok || name == "" {
			return nil, cli.UsageError("%q has no name and value with %q between them", name, separator)
		}
		if to == nil {
			to = map[string]config.Secret{}
		}
		to[strings.TrimSpace(name)] = config.Secret(strings.TrimLeft(value, " "))
	}
	return to, nil
}
