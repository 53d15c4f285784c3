package anthropic_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const framework = "github.com/anthropics/anthropic-sdk-go/v2"

func newClient(url string) anthropic.Client { return newThreadClient(url, &threads{}) }

// A conversation is a loop as users of the SDK write it.
type conversation struct {
	client   anthropic.Client
	registry *registry.Registry
	opts     *belt.Options
	stream   bool
	messages []anthropic.MessageParam

	tools   *belt.Turn // of the request that was answered last
	waiting *profile.WaitingError
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.messages = belt.Append(c.messages, anthropic.NewUserMessage(anthropic.NewTextBlock(message)))
	return c.run(ctx)
}

func (c *conversation) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		tools, err := belt.Tools(ctx, c.registry, c.opts)
		if err != nil {
			return nil, err
		}
		c.tools = tools
		message, err := c.request(ctx, anthropic.MessageNewParams{
			Model: "scripted", MaxTokens: 1024, Messages: c.messages, Tools: tools.Params(c.messages...),
		})
		if err != nil {
			return nil, err
		}
		c.messages = belt.Append(c.messages, message.ToParam())
		results, err := tools.Run(ctx, message)
		c.messages = belt.Append(c.messages, results...)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case results == nil && message.StopReason != anthropic.StopReasonPauseTurn:
			return &adaptertest.Turn{Text: message.Content[len(message.Content)-1].Text}, nil
		}
	}
}

func (c *conversation) request(ctx context.Context, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	if !c.stream {
		return c.client.Messages.New(ctx, params)
	}
	stream := c.client.Messages.NewStreaming(ctx, params)
	defer func() { _ = stream.Close() }()
	message := &anthropic.Message{}
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	return message, stream.Err()
}

func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.tools.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	c.messages = belt.Append(c.messages, c.tools.Results(answers...)...)
	return c.run(ctx)
}

func TestMessages(t *testing.T) {
	//report: Models | BerriAI/litellm#5747 | the last tool is gone while the conversation has calls, and Anthropic wants tools then | one tool says that there are none
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "anthropic", Runtime: "Messages", Framework: framework,
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError`",
		Start: func(_ *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{client: newClient(url), registry: r}
		},
	})
}

func TestMessagesStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "anthropic", Runtime: "MessagesStream", Framework: framework,
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError`",
		Start: func(_ *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{client: newClient(url), registry: r, stream: true}
		},
	})
}
