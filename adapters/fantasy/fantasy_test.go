package fantasy_test

import (
	"context"
	"net/http"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/fantasy"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newModel returns a model of Anthropic's at a URL.
func newModel(t *testing.T, url string) fantasy.LanguageModel {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	provider := assert.Value(anthropic.New(anthropic.WithAPIKey("key"), anthropic.WithBaseURL(url), anthropic.WithHTTPClient(&http.Client{Transport: transport})))(t)
	model := assert.Value(provider.LanguageModel(t.Context(), "scripted"))(t)
	return model
}

// A conversation has an agent work for each message of the user.
type conversation struct {
	agent    fantasy.Agent
	stream   bool
	messages []fantasy.Message
	waiting  chan *profile.WaitingError
	over     chan outcome
	end      context.CancelCauseFunc // of the work
}

type outcome struct {
	result *fantasy.AgentResult
	err    error
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	if c.end != nil {
		c.end(nil) // a tool may still wait
	}
	over := make(chan outcome, 1)
	c.over = over
	// The work lives longer than a request that comes back while a person is asked.
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	c.end = end
	go func() {
		defer end(nil)
		var o outcome
		if c.stream {
			o.result, o.err = c.agent.Stream(work, fantasy.AgentStreamCall{Prompt: message, Messages: c.messages})
		} else {
			o.result, o.err = c.agent.Generate(work, fantasy.AgentCall{Prompt: message, Messages: c.messages})
		}
		if o.err == nil {
			c.messages = append(c.messages, fantasy.NewUserMessage(message))
			for _, step := range o.result.Steps {
				c.messages = append(c.messages, step.Messages...)
			}
		}
		over <- o
	}()
	return c.Resume(ctx)
}

// Resume returns when the agent is done, or a tool waits for a person.
func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	defer context.AfterFunc(ctx, func() { c.end(context.Cause(ctx)) })()
	select {
	case w := <-c.waiting:
		return adaptertest.Waiting(w), nil
	case o := <-c.over:
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if o.err != nil {
			return nil, o.err
		}
		return &adaptertest.Turn{Text: o.result.Response.Content.Text()}, nil
	}
}

func TestAgent(t *testing.T) {
	for runtime, stream := range map[string]bool{"Generate": false, "Stream": true} {
		t.Run(runtime, func(t *testing.T) {
			adaptertest.Test(t, adaptertest.Adapter{
				Name: "fantasy", Runtime: runtime, Framework: "charm.land/fantasy",
				Wire: adaptertest.Anthropic{}, Interrupt: "`Options.Waiting` is told, and the tool waits", InOrder: !stream, Unordered: stream,
				Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
					waiting := make(chan *profile.WaitingError, 8)
					opts := &belt.Options{Waiting: func(_ context.Context, w *profile.WaitingError) error {
						waiting <- w
						return nil
					}}
					agent := fantasy.NewAgent(newModel(t, url), fantasy.WithPrepareStep(belt.PrepareStep(r, opts)))
					return &conversation{agent: agent, stream: stream, waiting: waiting}
				},
			})
		})
	}
}
