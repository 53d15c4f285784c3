package ollama_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/ollama/ollama/api"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/ollama"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A conversation is a loop as users of the API write it.
type conversation struct {
	client   *api.Client
	registry *registry.Registry
	opts     *belt.Options
	stream   *bool
	messages []api.Message

	tools   *belt.Turn // of the request that was answered last
	waiting *profile.WaitingError
}

// dial returns a client of a model at a URL.
func dial(t *testing.T, address string) *api.Client {
	t.Helper()
	return api.NewClient(assert.Value(url.Parse(address))(t), http.DefaultClient)
}

func start(stream *bool, opts *belt.Options) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		return &conversation{client: dial(t, url), registry: r, opts: opts, stream: stream}
	}
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.messages = belt.Append(c.messages, api.Message{Role: "user", Content: message})
	return c.run(ctx)
}

func (c *conversation) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		tools, err := belt.Tools(ctx, c.registry, c.opts)
		if err != nil {
			return nil, err
		}
		c.tools = tools
		var message api.Message
		request := &api.ChatRequest{Model: "scripted", Messages: c.messages, Tools: tools.Params(), Stream: c.stream}
		if err := c.client.Chat(ctx, request, belt.Collect(&message)); err != nil {
			return nil, err
		}
		c.messages = belt.Append(c.messages, message)
		results, err := tools.Run(ctx, message)
		c.messages = belt.Append(c.messages, results...)
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
	c.messages = belt.Append(c.messages, c.tools.Results(answers...)...)
	return c.run(ctx)
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
