package tools

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A called is the result of a call, in the output of call.
type called struct {
	Server            string      `json:"server"`
	Tool              string      `json:"tool"`
	IsError           bool        `json:"isError"`
	Content           []belt.Part `json:"content"`
	StructuredContent any         `json:"structuredContent,omitempty"`
}

func callCommand(b *belt.Belt) *cobra.Command {
	var yes, task bool
	var idle, limit time.Duration
	var out, model string
	cmd := &cobra.Command{
		Use:   "call SERVER|URL TOOL [ARG...] | call TOOL [ARG...] -- COMMAND ARG...",
		Short: "Call a tool",
		Long: `Call calls a tool and writes what it returns. A tool can be named SERVER TOOL,
SERVER.TOOL or as mcpbelt tools lists it. The arguments of the tool are

  key=value   a value of the type that the tool wants for key
  key=@file   such a value, read from a file
  key:=json   a value as JSON; key:=@file reads it from a file
  {"k": 1}    an object of many; @file and - read one from a file or standard input

They are checked before anything is sent. A tool that is not known to be read-only, since
it does not say so or its server is not trusted ("trust" in its entry), is called when you
agree at the terminal, or with --yes; without either the exit is 8. Images, sounds and
files in the result are written into files.

Ctrl-C cancels the call, a second one ends the program at once. The exit says whether the
call was not sent (4), failed (5) or may have run (6).`,
		Example: `  mcpbelt call notes echo text=hello --yes
  mcpbelt call notes.echo '{"text": "hello"}' --yes
  mcpbelt call notes__echo text:='"hello"' --yes --json`,
		ValidArgsFunction: b.CompleteTools,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, err := findTarget(b, cmd, args)
			if err != nil {
				return err
			}
			talk, err := b.NewTalk("calling "+t.tool+" of "+t.server.Name, model)
			if err != nil {
				return err
			}
			defer talk.End()
			o := &mcp.RequestOptions{IdleTimeout: idle, CallTimeout: limit}
			if task {
				o.Task = &mcp.TaskOptions{Update: func(t *mcp.Task) { talk.Say(strings.TrimSpace("task " + string(t.Status) + " " + t.StatusMessage)) }}
			}
			res, err := t.call(cmd.Context(), b, c, talk, o, yes)
			talk.End()
			if err != nil {
				return err
			}
			return showResult(b, t, res, out)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "call it without asking")
	f.BoolVar(&task, "task", false, "make it a task if the tool can be one")
	f.DurationVar(&idle, "idle", 0, "how `long` the server may be silent (default 1m, negative: for ever)")
	f.DurationVar(&limit, "limit", 0, "how `long` the call may take in all (default 10m, negative: for ever)")
	f.StringVar(&out, "out", ".", "write images and other files into this `folder`")
	f.StringVar(&model, "model", "", "answer sampling requests that you agree to by this `command`: it gets JSON and writes text")
	return cmd
}

// call starts the server and calls the tool.
func (t *target) call(ctx context.Context, b *belt.Belt, c *belt.Catalog, talk *belt.Talk, o *mcp.RequestOptions, yes bool) (*mcp.CallToolResult, error) {
	listed := b.WasListed(t.server, t.tool)
	h, err := b.Use(ctx, c, t.server, talk, registry.Options{Approver: &approver{belt: b, talk: talk, server: t.server.Name, yes: yes}})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	d, err := t.definition(h.Registry())
	if e, ok := errors.AsType[*cli.Error](err); ok && e.Exit == cli.NotFound && listed {
		e.Message, e.Cure = e.Message+", or not for a client that cannot ask", "call it at a terminal, or with --model"
	}
	if err != nil {
		return nil, err
	}
	args, err := readArguments(b, d, t.rest)
	if err != nil {
		return nil, err
	}
	ctx = registry.WithProgress(registry.WithCallOptions(ctx, o), talk.Progress)
	res, err := h.Registry().Call(ctx, d.Name, args)
	if err != nil {
		return nil, belt.ExplainCall(t.server, err)
	}
	return res, h.LostAt(t.server, res)
}

// An approver asks the user about calls that are not known to change nothing.
type approver struct {
	belt   *belt.Belt
	talk   *belt.Talk
	server string
	yes    bool
}

// Approve implements registry.Approver.
func (a *approver) Approve(ctx context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	d := policy.Cautious().Decide(r)
	if a.yes || d.Verdict == approval.Allow {
		return approval.Decision{Verdict: approval.Allow}, nil
	}
	if !a.belt.Out.CanAsk() {
		return d, &cli.Error{Exit: cli.ApprovalNeeded, Server: a.server, Message: "tool " + strconv.Quote(r.Tool.Name) + " is not known to be read-only", Cure: "call it with --yes, or at a terminal"}
	}
	agreed, err := a.talk.Confirm(ctx, "Call "+r.Tool.Name+" with "+string(r.Args)+"?")
	if err != nil {
		return d, err
	}
	if !agreed {
		return d, &cli.Error{Exit: cli.Declined, Server: a.server, Message: "the tool was not called: the user said no"}
	}
	return approval.Decision{Verdict: approval.Allow}, nil
}

// showResult writes what a tool has returned.
func showResult(b *belt.Belt, t *target, res *mcp.CallToolResult, out string) error {
	r := &called{Server: t.server.Name, Tool: t.tool, IsError: res.IsError, Content: []belt.Part{}, StructuredContent: res.StructuredContent}
	for _, p := range result.Pieces(res) {
		part, err := b.Save(out, t.tool, p.Text, p.Data, p.Media, p.URI)
		if err != nil {
			return err
		}
		r.Content = append(r.Content, *part)
	}
	b.Show(r.Content)
	if err := b.Out.Result(r); err != nil {
		return err
	}
	if res.IsError {
		return &cli.Error{Exit: cli.ToolError, Server: t.server.Name, Message: "tool " + strconv.Quote(t.tool) + " reported an error", Shown: true}
	}
	return nil
}
