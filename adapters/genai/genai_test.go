package genai_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	belt "github.com/mcpbelt/mcpbelt/adapters/genai"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) {
	// A package that the SDK imports starts it at once, and it stays.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// dial returns a client of a model at a URL.
func dial(t *testing.T, url string, backend genai.Backend) *genai.Client {
	t.Helper()
	return assert.Value(genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "key", Backend: backend, HTTPOptions: genai.HTTPOptions{BaseURL: url}}))(t)
}

// A chunked turn has answers that come in pieces.
type chunked struct{ *belt.Turn }

func (c chunked) Run(ctx context.Context, chunks []*genai.GenerateContentResponse) ([]*genai.Content, error) {
	return c.Turn.Run(ctx, chunks...)
}

// newConversation returns a loop as users of genai write it.
func newConversation(r *registry.Registry, send func(context.Context, []*genai.Content, *genai.GenerateContentConfig) ([]*genai.GenerateContentResponse, error)) adaptertest.Agent {
	return &adaptertest.Loop[*genai.Content, []*genai.GenerateContentResponse, chunked]{
		Append:  belt.Append,
		User:    func(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) },
		Message: func(chunks []*genai.GenerateContentResponse) *genai.Content { return belt.Content(chunks...) },
		Tools: func(ctx context.Context) (chunked, error) {
			turn, err := belt.Tools(ctx, r, nil)
			return chunked{turn}, err
		},
		Send: func(ctx context.Context, tools chunked, contents []*genai.Content) ([]*genai.GenerateContentResponse, error) {
			return send(ctx, contents, &genai.GenerateContentConfig{Tools: tools.Params()})
		},
		Text: func(chunks []*genai.GenerateContentResponse) (text string) {
			for _, p := range belt.Content(chunks...).Parts {
				text += p.Text
			}
			return text
		},
	}
}

func TestGenerateContent(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: "GenerateContent", Framework: "google.golang.org/genai", Wire: adaptertest.Gemini{}, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return newConversation(r, whole(dial(t, url, genai.BackendGeminiAPI)))
		},
	})
}

// whole sends requests whose answer comes in one piece.
func whole(client *genai.Client) func(context.Context, []*genai.Content, *genai.GenerateContentConfig) ([]*genai.GenerateContentResponse, error) {
	return func(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig) ([]*genai.GenerateContentResponse, error) {
		response, err := client.Models.GenerateContent(ctx, "scripted", contents, config)
		return []*genai.GenerateContentResponse{response}, err
	}
}

// The other service, with a model before Gemini 3.
func TestVertex(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: "Vertex-2", Framework: "google.golang.org/genai", Wire: adaptertest.Gemini{Before3: true}, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return newConversation(r, whole(dial(t, url, genai.BackendVertexAI)))
		},
	})
}

func TestStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: "Stream", Framework: "google.golang.org/genai", Wire: adaptertest.Gemini{}, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			client := dial(t, url, genai.BackendGeminiAPI)
			return newConversation(r, func(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig) (all []*genai.GenerateContentResponse, _ error) {
				for chunk, err := range client.Models.GenerateContentStream(ctx, "scripted", contents, config) {
					if err != nil {
						return nil, err
					}
					all = append(all, chunk)
				}
				return all, nil
			})
		},
	})
}

// A chat is a loop of someone who lets genai keep the conversation.
type chat struct {
	client   *genai.Client
	chat     *genai.Chat
	registry *registry.Registry
	unsent   []*genai.Content

	tools   *belt.Turn
	waiting *profile.WaitingError
}

func (c *chat) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.unsent = append(c.unsent, genai.NewContentFromText(message, genai.RoleUser))
	return c.run(ctx)
}

func (c *chat) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		tools, err := belt.Tools(ctx, c.registry, nil)
		if err != nil {
			return nil, err
		}
		c.tools = tools
		response, err := c.send(ctx, &genai.GenerateContentConfig{Tools: tools.Params()})
		if err != nil {
			return nil, err
		}
		c.unsent, err = tools.Run(ctx, response)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case c.unsent == nil:
			return &adaptertest.Turn{Text: response.Text()}, nil
		}
	}
}

// send sends what is unsent. A chat takes one content with each message, so what stands in
// front of the last goes into the history of another chat, as the API takes it.
func (c *chat) send(ctx context.Context, config *genai.GenerateContentConfig) (*genai.GenerateContentResponse, error) {
	all := belt.Append(c.chat.History(false), c.unsent...)
	next, err := c.client.Chats.Create(ctx, "scripted", config, all[:len(all)-1])
	if err != nil {
		return nil, err
	}
	response, err := next.Send(ctx, all[len(all)-1].Parts...)
	if err != nil {
		return nil, err
	}
	c.chat, c.unsent = next, nil
	return response, nil
}

func (c *chat) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.tools.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	c.unsent = c.tools.Results(answers...)
	return c.run(ctx)
}

func TestChat(t *testing.T) { testChat(t, "Chat", genai.BackendGeminiAPI, adaptertest.Gemini{}) }

// A chat with a model before Gemini 3, which gets images in a content of their own.
func TestChatVertex(t *testing.T) {
	testChat(t, "ChatVertex-2", genai.BackendVertexAI, adaptertest.Gemini{Before3: true})
}

func testChat(t *testing.T, runtime string, backend genai.Backend, wire adaptertest.Wire) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: runtime, Framework: "google.golang.org/genai", Wire: wire, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			client := dial(t, url, backend)
			return &chat{client: client, chat: assert.Value(client.Chats.Create(t.Context(), "scripted", nil, nil))(t), registry: r}
		},
	})
}
