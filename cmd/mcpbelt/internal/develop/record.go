// Package develop has the commands for those who write programs with the tools of servers.
package develop

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/cassette"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// Commands returns the commands for developers.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{recordCommand(b), replayCommand(b), genCommand(b), agentHelpCommand(b)}
}

func recordCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "record",
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) (err error) {
			var s *config.Server
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) < 2 || dash == 0:
				return cli.UsageError("the command is: mcpbelt record FILE SERVER")
			case dash == 1:
				s, err = b.CommandTarget(cmd.Context(), args[1:])
			case len(args) > 2:
				return cli.UsageError("record takes one server")
			default:
				s, err = b.Target(cmd.Context(), c, args[1])
			}
			if err != nil {
				return err
			}
			return record(cmd.Context(), b, c, s, b.Abs(args[0]))
		}),
	}
}

// record serves a server and writes what has passed into a file.
func record(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, file string) error {
	h, err := b.Open(ctx, c, []*config.Server{s}, &belt.OpenOptions{Cold: true})
	if err != nil {
		return err
	}
	defer h.Close()
	err = h.Try(ctx, s, nil, func(ctx context.Context, t mcp.Transport, _ *mcp.ClientOptions) error {
		recorder := cassette.Record(t, redaction(s))
		err := serve(ctx, b, c, s, recorder)
		return errors.Join(err, recorder.Save(file))
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return belt.Explain(s, err)
}

// redaction returns what replaces secrets in a recording.
func redaction(servers ...*config.Server) *cassette.Options {
	hide := belt.Redact(servers...)
	return &cassette.Options{Redact: func(_, text string) string { return hide(text) }}
}

// serve is a server over standard input and output, by a transport to it.
func serve(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, t mcp.Transport) (err error) {
	h, err := b.Open(ctx, c, []*config.Server{s}, &belt.OpenOptions{Cold: true, Client: &mcp.ClientOptions{}, Prepare: func(o *host.Options) {
		gateway.Prepare(o)
		o.StateDir, o.Transport = host.NoState, func(session.Key, *config.Server) (mcp.Transport, error) { return t, nil }
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := belt.Start(ctx, h.Host, s); err != nil {
		return err
	}
	h.Registry().Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			res, err := next(ctx, call)
			if missing, ok := errors.AsType[*cassette.UnrecordedError](err); ok {
				text := strings.TrimPrefix(missing.Error(), "cassette: ")
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			}
			return res, err
		}
	})
	g, err := gateway.New(h.Host, &gateway.Options{Mode: "direct"}) // a client of the server itself has all its tools
	if err != nil {
		return err
	}
	defer g.Close()
	err = g.ServeStdio(ctx, "/s/"+s.Name+"/mcp", b.Env.Stdin, b.Env.Stdout)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func replayCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "replay",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := cassette.Replay(b.Abs(args[0]), redaction())
			if err != nil {
				return &cli.Error{Exit: cli.InvalidConfig, Message: strings.TrimPrefix(err.Error(), "cassette: "), Err: err}
			}
			s, err := b.CommandTarget(cmd.Context(), []string{"recording"})
			if err != nil {
				return err
			}
			return serve(cmd.Context(), b, nil, s, t)
		},
	}
}
