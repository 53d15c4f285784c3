package ask

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
)

var errNoAnswer = errors.New("ask: the model gave no answer")

// Sample returns a handler of sampling requests. It shows the request to the user,
// calls model if they agree, shows them the answer, and asks again before the answer
// goes to the server. The model must respect MaxTokens, and end with its context. If they do not agree the error is [mcp.ErrRejected]. A nil model is
// the user, who types the answer.
//
// Other questions can be asked while the model works.
//
// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
// with older servers, and with newer ones that still use it.
func (c *Console) Sample(model func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error)) func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
	if model == nil {
		return c.sampleByHand
	}
	return func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
		err := c.agreed(ctx, func(d *dialog) error {
			d.showSample(r)
			return d.agree("Let the model answer?", "y")
		})
		if err != nil {
			return nil, err
		}
		reply, err := model(ctx, r)
		if err == nil && reply == nil {
			err = errNoAnswer
		}
		if err != nil {
			return nil, err
		}
		err = c.agreed(ctx, func(d *dialog) error {
			server := strconv.Quote(line(r.Server))
			d.say("\nThe model answers what server %s wanted to know:\n", server)
			d.contents(reply.Content)
			return d.agree(fmt.Sprintf("Send this to %s?", server), "y")
		})
		if err != nil {
			return nil, err
		}
		return reply, nil
	}
}

// sampleByHand has the user answer in the place of a model.
func (c *Console) sampleByHand(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
	var text string
	err := c.agreed(ctx, func(d *dialog) (err error) {
		d.showSample(r)
		text, err = d.ask("You are the model. Type the answer, or /decline: ")
		return err
	})
	if err != nil {
		return nil, err
	}
	return &mcp.SampleResult{Model: "user", Role: "assistant", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

// agreed holds a dialog, and returns [mcp.ErrRejected] if the user does not agree.
func (c *Console) agreed(ctx context.Context, talk func(*dialog) error) error {
	action, err := c.hold(ctx, talk)
	if err == nil && action != accept {
		return mcp.ErrRejected
	}
	return err
}

// showSample shows a sampling request.
func (d *dialog) showSample(r *mcp.SampleRequest) {
	d.say("\nServer %s wants your model to answer:\n", strconv.Quote(line(r.Server)))
	if r.Params == nil {
		return
	}
	if r.Params.SystemPrompt != "" {
		d.say(" instructions:\n%s", quoted(r.Params.SystemPrompt))
	}
	for _, m := range r.Params.Messages {
		d.say(" %s:\n", line(string(m.Role)))
		d.contents(m.Content)
	}
	for _, tool := range r.Params.Tools {
		d.say(" The model can use the server's tool %s.\n", strconv.Quote(line(tool.Name)))
	}
	if include := r.Params.IncludeContext; include != "" && include != "none" {
		d.say(" The server would like the model to see more of your data (%s).\n", line(include))
	}
	d.say(" The answer can have up to %d tokens.\n", r.Params.MaxTokens)
}

func (d *dialog) contents(contents []mcp.Content) {
	for _, content := range contents {
		d.say("%s", quoted(readable(content)))
	}
}

// readable is a block of content in words.
func readable(content mcp.Content) string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("(an image, %s, %d bytes)", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("(a sound, %s, %d bytes)", c.MIMEType, len(c.Data))
	case *mcp.ToolUseContent:
		input, err := json.Marshal(c.Input)
		if err != nil {
			return fmt.Sprintf("(uses the tool %q)", c.Name)
		}
		return fmt.Sprintf("(uses the tool %q with %s)", c.Name, input)
	case *mcp.ToolResultContent:
		parts := []string{"(result of a tool)"}
		for _, part := range c.Content {
			parts = append(parts, readable(part))
		}
		if c.StructuredContent != nil {
			if raw, err := json.Marshal(c.StructuredContent); err == nil {
				parts = append(parts, string(raw))
			}
		}
		return strings.Join(parts, "\n")
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return "(content that cannot be shown)"
	}
	return string(raw)
}
