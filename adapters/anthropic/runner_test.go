package anthropic_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A running conversation is that of the SDK's tool runner, a runner for each message
// of the user.
type running struct {
	client   anthropic.Client
	registry *registry.Registry
	opts     *belt.Options
	betas    []anthropic.AnthropicBeta

	tools  *belt.RunnerTools
	runner *anthropic.BetaToolRunner
}

func (c *running) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	var messages []anthropic.BetaMessageParam
	if c.runner != nil {
		messages = c.runner.Messages()
	}
	tools, err := belt.NewRunnerTools(ctx, c.registry, c.opts)
	if err != nil {
		return nil, err
	}
	c.tools = tools
	c.runner = c.client.Beta.Messages.NewToolRunner(tools.List(), anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "scripted", MaxTokens: 1024, Betas: c.betas,
			Messages: append(messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(message))),
		},
	})
	return c.Resume(ctx)
}

func (c *running) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		var waiting *profile.WaitingError
		err := c.tools.Prepare(ctx, c.runner)
		switch {
		case errors.As(err, &waiting):
			return adaptertest.Waiting(waiting), nil
		case err != nil:
			return nil, err
		}
		message, err := c.runner.NextMessage(ctx)
		if err != nil {
			return nil, err
		}
		if message == nil {
			return &adaptertest.Turn{Text: c.runner.LastMessage().Content[0].Text}, nil
		}
	}
}

func TestToolRunner(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "anthropic", Runtime: "ToolRunner", Framework: framework,
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError` of `Prepare`",
		Without: map[string]string{"mistakes": "the runner itself answers a call of an unknown tool, and does not say what is alike"},
		Start: func(_ *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &running{client: newClient(url), registry: r, betas: []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}}
		},
	})
}
