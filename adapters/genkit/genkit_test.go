package genkit_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// initGenkit returns a Genkit whose model is at a URL that copies OpenAI.
func initGenkit(t testing.TB, url string) *genkit.Genkit {
	return genkit.Init(t.Context(),
		genkit.WithPlugins(&compat_oai.OpenAICompatible{Provider: "scripted", APIKey: "key", BaseURL: url}),
		genkit.WithDefaultModel("scripted/model"))
}

// A conversation is a chat as users of Genkit write it.
type conversation struct {
	genkit   *genkit.Genkit
	registry *registry.Registry
	opts     *belt.Options
	stream   bool
	config   any

	messages []*ai.Message
	turn     *belt.Turn
	waiting  *ai.ModelResponse
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.messages = append(c.messages, ai.NewUserTextMessage(message))
	return c.generate(ctx)
}

func (c *conversation) generate(ctx context.Context, more ...ai.GenerateOption) (*adaptertest.Turn, error) {
	turn, err := belt.Tools(ctx, c.registry, c.opts)
	if err != nil {
		return nil, err
	}
	c.turn = turn
	more = append(more, ai.WithMessages(c.messages...))
	if c.stream {
		more = append(more, ai.WithStreaming(func(context.Context, *ai.ModelResponseChunk) error { return nil }))
	}
	if c.config != nil {
		more = append(more, ai.WithConfig(c.config))
	}
	resp, err := genkit.Generate(ctx, c.genkit, turn.Options(more...)...)
	if err != nil {
		return nil, err
	}
	c.messages = resp.History()
	c.waiting = resp
	out := &adaptertest.Turn{Text: resp.Text()}
	for _, i := range belt.Interrupts(resp) {
		out.Waits = append(out.Waits, i.Wait)
	}
	return out, nil
}

func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	c.keep()
	parts, err := c.turn.Responses(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	return c.generate(ctx, ai.WithToolResponses(parts...))
}

// keep stores the conversation and loads it again, as a server does between requests.
func (c *conversation) keep() {
	raw, err := json.Marshal(c.messages)
	if err != nil {
		panic(err)
	}
	c.messages = nil
	if err := json.Unmarshal(raw, &c.messages); err != nil {
		panic(err)
	}
	c.waiting = &ai.ModelResponse{Message: c.messages[len(c.messages)-1]}
}

// quoted is a wire as most of Genkit's plugins speak it: a result is text as JSON.
type quoted struct{ adaptertest.Wire }

func (w quoted) Read(r *http.Request, body []byte) (*adaptertest.Request, error) {
	req, err := w.Wire.Read(r, body)
	if err != nil {
		return nil, err
	}
	for i := range req.Results {
		var text string
		if json.Unmarshal([]byte(req.Results[i].Text), &text) == nil {
			req.Results[i].Text = text
		}
	}
	return req, nil
}

func kit(runtime string, c conversation) adaptertest.Adapter {
	return adaptertest.Adapter{
		Name: "genkit", Runtime: runtime, Framework: "github.com/firebase/genkit/go", Wire: quoted{adaptertest.OpenAIChat{}},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			own := c
			own.genkit, own.registry = initGenkit(t, url), r
			return &own
		},
		Interrupt: "`ctx.Interrupt`", Without: map[string]string{"thoughts": "the plugin for APIs that copy OpenAI's has no place for what a model thought"},
	}
}

func TestGenerate(t *testing.T) { adaptertest.Test(t, kit("Generate", conversation{})) }

func TestGenerateStream(t *testing.T) {
	a := kit("GenerateStream", conversation{stream: true})
	a.Without["one index"] = "the plugin for APIs that copy OpenAI's joins calls by their index, and ends the request"
	adaptertest.Test(t, a)
}
