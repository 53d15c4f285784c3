package goopenai_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/goopenai"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A conversation is a loop as users of go-openai write it.
type conversation struct {
	client   *openai.Client
	registry *registry.Registry
	opts     *belt.Options
	messages []openai.ChatCompletionMessage

	tools   *belt.Turn // of the request that was answered last
	waiting *profile.WaitingError
}

func start(opts *belt.Options) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		config := openai.DefaultConfig("key")
		config.BaseURL = url
		return &conversation{client: openai.NewClientWithConfig(config), registry: r, opts: opts}
	}
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: message})
	return c.run(ctx)
}

func (c *conversation) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		tools, err := belt.Tools(ctx, c.registry, c.opts)
		if err != nil {
			return nil, err
		}
		c.tools = tools
		response, err := c.client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: "scripted", Messages: c.messages, Tools: tools.Params()})
		if err != nil {
			return nil, err
		}
		message := response.Choices[0].Message
		c.messages = append(c.messages, message)
		results, err := tools.Run(ctx, message)
		c.messages = append(c.messages, results...)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case results == nil:
			return &adaptertest.Turn{Text: message.Content}, nil
		}
	}
}

func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.tools.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	c.messages = append(c.messages, c.tools.Results(answers...)...)
	return c.run(ctx)
}

func TestChat(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "goopenai", Runtime: "Chat", Framework: "github.com/sashabaranov/go-openai",
		Wire: adaptertest.OpenAIChat{}, Start: start(nil), Interrupt: "`WaitingError`",
	})
}
