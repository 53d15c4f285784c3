package anthropic_test

import (
	"context"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const framework = "github.com/anthropics/anthropic-sdk-go/v2"

func newClient(url string) anthropic.Client { return newThreadClient(url, &threads{}) }

// newConversation returns a loop as users of the SDK write it.
func newConversation(r *registry.Registry, url string, opts *belt.Options, stream bool) *adaptertest.Loop[anthropic.MessageParam, *anthropic.Message, *belt.Turn] {
	client := newClient(url)
	return &adaptertest.Loop[anthropic.MessageParam, *anthropic.Message, *belt.Turn]{
		Append:  belt.Append,
		Tools:   func(ctx context.Context) (*belt.Turn, error) { return belt.Tools(ctx, r, opts) },
		User:    userText,
		Message: func(message *anthropic.Message) anthropic.MessageParam { return message.ToParam() },
		Text:    func(message *anthropic.Message) string { return message.Content[len(message.Content)-1].Text },
		Paused:  func(message *anthropic.Message) bool { return message.StopReason == anthropic.StopReasonPauseTurn },
		Send: func(ctx context.Context, tools *belt.Turn, messages []anthropic.MessageParam) (*anthropic.Message, error) {
			params := anthropic.MessageNewParams{Model: "scripted", MaxTokens: 1024, Messages: messages, Tools: tools.Params(messages...)}
			if !stream {
				return client.Messages.New(ctx, params)
			}
			stream := client.Messages.NewStreaming(ctx, params)
			defer func() { _ = stream.Close() }()
			message := &anthropic.Message{}
			for stream.Next() {
				if err := message.Accumulate(stream.Current()); err != nil {
					return nil, err
				}
			}
			return message, stream.Err()
		},
	}
}

func TestMessages(t *testing.T) {
	//report: Models | BerriAI/litellm#5747 | the last tool is gone while the conversation has calls, and Anthropic wants tools then | one tool says that there are none
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "anthropic", Runtime: "Messages", Framework: framework,
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError`",
		Start: func(_ *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return newConversation(r, url, nil, false)
		},
	})
}

func TestMessagesStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "anthropic", Runtime: "MessagesStream", Framework: framework,
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError`",
		Start: func(_ *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return newConversation(r, url, nil, true)
		},
	})
}
