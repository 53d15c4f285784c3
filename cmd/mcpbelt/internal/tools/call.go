package tools

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
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
	var task bool
	var a approver
	var idle, limit time.Duration
	var out, model string
	cmd := &cobra.Command{
		Use:               "call",
		ValidArgsFunction: completeCall(b),
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			t, err := findTarget(b, c, cmd, args)
			if err != nil {
				return err
			}
			talk, err := b.NewTalk("calling "+t.tool+" of "+t.server.Name, model, a.yes)
			if err != nil {
				return err
			}
			defer talk.End()
			o := &mcp.RequestOptions{IdleTimeout: idle, CallTimeout: limit}
			if task {
				o.Task = &mcp.TaskOptions{Update: func(t *mcp.Task) { talk.Say(strings.TrimSpace("task " + string(t.Status) + " " + t.StatusMessage)) }}
			}
			a.belt, a.talk, a.server = b, talk, t.server
			res, err := t.call(cmd.Context(), b, c, &a, o)
			talk.End()
			if err != nil {
				return err
			}
			return showResult(b, t, res, out)
		}),
	}
	f := cmd.Flags()
	f.BoolVarP(&a.yes, "yes", "y", false, "call it without asking")
	f.BoolVar(&a.ask, "ask", false, "ask about it, whatever was answered before")
	f.BoolVar(&task, "task", false, "make it a task if the tool can be one")
	f.DurationVar(&idle, "idle", 0, "how `long` the server may be silent (default 1m, negative: for ever)")
	f.DurationVar(&limit, "limit", 0, "how `long` the call may take in all (default 10m, negative: for ever)")
	f.StringVar(&out, "out", ".", "write images and other files into this `folder`")
	f.StringVar(&model, "model", "", "answer sampling requests that you agree to, or all with --yes, by this `command`: it gets JSON and writes text (default: you type it)")
	return cmd
}

// call starts the server and calls the tool.
func (t *target) call(ctx context.Context, b *belt.Belt, c *belt.Catalog, a *approver, o *mcp.RequestOptions) (*mcp.CallToolResult, error) {
	h, err := b.Use(ctx, c, t.server, a.talk, registry.Options{Approver: a})
	if err != nil {
		return nil, err
	}
	defer func() {
		a.talk.Say("ending " + t.server.Name)
		_ = h.Close()
	}()
	d, err := t.definition(h.Registry())
	if err != nil {
		return nil, err
	}
	args, err := readArguments(b, d, t.rest)
	if err != nil {
		return nil, err
	}
	ctx = registry.WithProgress(registry.WithCallOptions(ctx, o), a.talk.Progress)
	res, err := h.Registry().Call(ctx, d.Name, args)
	if wanted := a.talk.Wanted(); wanted != "" && ctx.Err() == nil {
		return nil, belt.InputNeeded(t.server, wanted)
	}
	if err != nil {
		return nil, belt.ExplainCall(t.server, err)
	}
	return res, h.LostAt(t.server, res)
}

// An approver asks the user about calls that may destroy something, as the tool says. Whoever types
// another call has agreed to it.
type approver struct {
	belt     *belt.Belt
	talk     *belt.Talk
	server   *config.Server
	yes, ask bool // the flags
}

// Approve implements registry.Approver.
func (a *approver) Approve(ctx context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	allow, kept := approval.Decision{Verdict: approval.Allow}, a.belt.ApprovalOf(a.server, r.Tool)
	if a.ask {
		kept.Forget()
	}
	if a.yes || !a.ask && (!r.Hints.Annotated || !r.Hints.Destructive || kept.IsKept()) {
		return allow, nil
	}
	refused := &cli.Error{Exit: cli.ApprovalNeeded, Server: a.server.Name, Message: "tool " + strconv.Quote(r.Tool.Name) + " may destroy something", Cure: "call it with --yes, or at a terminal"}
	if !a.belt.Out.CanAsk() {
		return approval.Decision{}, refused
	}
	answer, err := a.talk.Ask(ctx, "Call "+r.Tool.Name+" with "+string(r.Args)+"? [y/N/always]")
	switch {
	case err != nil:
		return approval.Decision{}, err
	case answer == "always":
		return allow, kept.Keep()
	case cli.IsYes(answer):
		return allow, nil
	}
	refused.Exit, refused.Message, refused.Cure = cli.Declined, "the tool was not called: the user said no", ""
	return approval.Decision{}, refused
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
