package ollama_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/ollama/ollama/api"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/ollama"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial returns a client of a model at a URL.
func dial(t *testing.T, address string) *api.Client {
	t.Helper()
	return api.NewClient(assert.Value(url.Parse(address))(t), http.DefaultClient)
}

// start starts a loop as users of the API write it.
func start(stream *bool, opts *belt.Options) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		client := dial(t, url)
		return &adaptertest.Loop[api.Message, api.Message, *belt.Turn]{
			Append:  belt.Append,
			Tools:   func(ctx context.Context) (*belt.Turn, error) { return belt.Tools(ctx, r, opts) },
			User:    func(text string) api.Message { return api.Message{Role: "user", Content: text} },
			Message: func(message api.Message) api.Message { return message },
			Text:    func(message api.Message) string { return message.Content },
			Send: func(ctx context.Context, tools *belt.Turn, messages []api.Message) (message api.Message, _ error) {
				request := &api.ChatRequest{Model: "scripted", Messages: messages, Tools: tools.Params(), Stream: stream}
				err := client.Chat(ctx, request, belt.Collect(&message))
				return message, err
			},
		}
	}
}

func TestStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "ollama", Runtime: "Stream", Framework: "github.com/ollama/ollama",
		Wire: adaptertest.Ollama{}, Start: start(nil, nil), Interrupt: "`WaitingError`",
	})
}

func TestChat(t *testing.T) {
	whole := false
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "ollama", Runtime: "Chat", Framework: "github.com/ollama/ollama",
		Wire: adaptertest.Ollama{WithoutIDs: true}, Start: start(&whole, nil), Interrupt: "`WaitingError`",
	})
}
