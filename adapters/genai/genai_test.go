package genai_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	belt "github.com/mcpbelt/mcpbelt/adapters/genai"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
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
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "key", Backend: backend, HTTPOptions: genai.HTTPOptions{BaseURL: url}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A conversation is a loop as users of genai write it.
type conversation struct {
	send     func(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig) ([]*genai.GenerateContentResponse, error)
	registry *registry.Registry
	contents []*genai.Content

	tools   *belt.Turn // of the request that was answered last
	waiting *profile.WaitingError
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.contents = append(c.contents, genai.NewContentFromText(message, genai.RoleUser))
	return c.run(ctx)
}

func (c *conversation) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		tools, err := belt.Tools(ctx, c.registry, nil)
		if err != nil {
			return nil, err
		}
		c.tools = tools
		chunks, err := c.send(ctx, c.contents, &genai.GenerateContentConfig{Tools: tools.Params()})
		if err != nil {
			return nil, err
		}
		answer := belt.Content(chunks...)
		c.contents = append(c.contents, answer)
		results, err := tools.Run(ctx, chunks...)
		c.contents = append(c.contents, results...)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case results == nil:
			text := ""
			for _, p := range answer.Parts {
				text += p.Text
			}
			return &adaptertest.Turn{Text: text}, nil
		}
	}
}

func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.tools.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	c.contents = append(c.contents, c.tools.Results(answers...)...)
	return c.run(ctx)
}

func TestGenerateContent(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: "GenerateContent", Framework: "google.golang.org/genai", Wire: adaptertest.Gemini{}, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{registry: r, send: whole(dial(t, url, genai.BackendGeminiAPI))}
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
			return &conversation{registry: r, send: whole(dial(t, url, genai.BackendVertexAI))}
		},
	})
}

func TestStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: "Stream", Framework: "google.golang.org/genai", Wire: adaptertest.Gemini{}, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			client := dial(t, url, genai.BackendGeminiAPI)
			return &conversation{registry: r, send: func(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig) (all []*genai.GenerateContentResponse, _ error) {
				for chunk, err := range client.Models.GenerateContentStream(ctx, "scripted", contents, config) {
					if err != nil {
						return nil, err
					}
					all = append(all, chunk)
				}
				return all, nil
			}}
		},
	})
}

// A chat is a loop of someone who lets genai keep the conversation.
type chat struct {
	*genai.Chat
	registry *registry.Registry
	config   *genai.GenerateContentConfig // that of the chat

	tools   *belt.Turn
	waiting *profile.WaitingError
}

func (c *chat) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	return c.run(ctx, &genai.Part{Text: message})
}

func (c *chat) run(ctx context.Context, parts ...*genai.Part) (*adaptertest.Turn, error) {
	for {
		tools, err := belt.Tools(ctx, c.registry, nil)
		if err != nil {
			return nil, err
		}
		c.tools, c.config.Tools = tools, tools.Params()
		response, err := c.Send(ctx, parts...)
		if err != nil {
			return nil, err
		}
		results, err := tools.Run(ctx, response)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case results == nil:
			return &adaptertest.Turn{Text: response.Text()}, nil
		}
		parts = results[0].Parts
	}
}

func (c *chat) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.tools.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, c.tools.Results(answers...)[0].Parts...)
}

func TestChat(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genai", Runtime: "Chat", Framework: "google.golang.org/genai", Wire: adaptertest.Gemini{}, Interrupt: "`WaitingError`",
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			config := &genai.GenerateContentConfig{}
			created, err := dial(t, url, genai.BackendGeminiAPI).Chats.Create(t.Context(), "scripted", config, nil)
			if err != nil {
				t.Fatal(err)
			}
			return &chat{Chat: created, registry: r, config: config}
		},
	})
}
