package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// results calls a tool that reports progress, and one whose result is data.
func results(ctx context.Context, c *mcp.Client) error {
	err := call(ctx, c, "count", `{"to":3}`, &mcp.RequestOptions{Progress: func(p *mcp.ProgressParams) {
		fmt.Printf("  %v of %v: %s\n", p.Progress, p.Total, p.Message)
	}})
	if err != nil {
		return err
	}
	res, err := c.CallTool(ctx, "measure", json.RawMessage(`{"text":"one two\nthree"}`), nil)
	if err != nil {
		return err
	}
	fmt.Printf("  measure -> %s\n", res.StructuredContent)
	return nil
}

// questions calls tools that ask in the course of the call. Nothing here shows
// that they do: the handlers of the client answer. A user may refuse to, and
// then a call may have no result.
func questions(ctx context.Context, c *mcp.Client) error {
	for _, tool := range []string{"introduce", "connect_account", "summarize", "list_roots"} {
		if err := call(ctx, c, tool, `{}`, nil); err != nil {
			fmt.Printf("  %v\n", err)
		}
	}
	return ctx.Err()
}

// journal reads a resource whenever it has changed, and changes it.
func journal(ctx context.Context, c *mcp.Client) error {
	const uri = "journal://all"
	for r, err := range c.Resources(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("  resource %s: %s\n", r.URI, r.Description)
	}
	for r, err := range c.ResourceTemplates(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("  template %s: %s\n", r.URITemplate, r.Description)
	}
	entries := []string{"It rained.", "The sun came out."}
	// The first time is when the server has accepted the subscription.
	for changed, err := range c.ResourceUpdates(ctx, uri) {
		if err != nil {
			return err
		}
		text, err := read(ctx, c, changed)
		if err != nil {
			return err
		}
		fmt.Printf("  %s is now %q\n", changed, text)
		if len(entries) == 0 {
			break
		}
		args, err := json.Marshal(map[string]string{"text": entries[0]})
		if err != nil {
			return err
		}
		if err := call(ctx, c, "append", string(args), nil); err != nil {
			return err
		}
		entries = entries[1:]
	}
	text, err := read(ctx, c, "journal://entries/2")
	fmt.Printf("  journal://entries/2 is %q\n", text)
	return err
}

func read(ctx context.Context, c *mcp.Client, uri string) (string, error) {
	res, err := c.ReadResource(ctx, uri, nil)
	if err != nil {
		return "", err
	}
	text := ""
	for _, part := range res.Contents {
		text += part.Text
	}
	return text, nil
}

// prompt fills in a prompt, after asking what its argument can be.
func prompt(ctx context.Context, c *mcp.Client) error {
	for p, err := range c.Prompts(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("  prompt %s: %s\n", p.Name, p.Description)
	}
	params := &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "review"}}
	params.Argument.Name, params.Argument.Value = "language", "es"
	suggested, err := c.Complete(ctx, params, nil)
	if err != nil {
		return err
	}
	fmt.Printf("  language es... can be %q\n", suggested.Completion.Values)
	res, err := c.GetPrompt(ctx, "review", map[string]string{"topic": "the weather", "language": "Esperanto"}, nil)
	if err != nil {
		return err
	}
	for _, m := range res.Messages {
		fmt.Printf("  %s: %s\n", m.Role, show(m.Content))
	}
	return nil
}

// tasks calls tools that go on when their calls are answered, if the server speaks
// revision 2026-07-28. The client waits for them, and answers what they ask meanwhile.
func tasks(ctx context.Context, c *mcp.Client) error {
	opts := &mcp.RequestOptions{Task: &mcp.TaskOptions{Update: func(t *mcp.Task) {
		// Store t.ID to come back to the task, also from another process.
		fmt.Printf("  task %s %s\n", t.Status, t.StatusMessage)
	}}}
	if err := call(ctx, c, "research", `{"topic":"rain","steps":10}`, opts); err != nil {
		return err
	}
	return call(ctx, c, "publish", `{}`, opts)
}

// call calls a tool and prints what it answers.
func call(ctx context.Context, c *mcp.Client, tool, args string, opts *mcp.RequestOptions) error {
	res, err := c.CallTool(ctx, tool, json.RawMessage(args), opts)
	if err != nil {
		return err
	}
	var answer []string
	for _, content := range res.Content {
		answer = append(answer, show(content))
	}
	fmt.Printf("  %s %s -> %s\n", tool, args, strings.Join(answer, " "))
	return nil
}

func show(content mcp.Content) string {
	switch content := content.(type) {
	case *mcp.TextContent:
		return content.Text
	case *mcp.EmbeddedResource:
		return fmt.Sprintf("[%s] %s", content.Resource.URI, content.Resource.Text)
	default:
		return fmt.Sprintf("[%T]", content)
	}
}
