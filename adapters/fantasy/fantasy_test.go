package fantasy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/azure"
	"charm.land/fantasy/providers/bedrock"
	"charm.land/fantasy/providers/google"
	"charm.land/fantasy/providers/openai"
	"charm.land/fantasy/providers/openaicompat"
	"charm.land/fantasy/providers/openrouter"
	"charm.land/fantasy/providers/vercel"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/fantasy"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
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
	return assert.Value(provider.LanguageModel(t.Context(), "scripted"))(t)
}

// A redirected transport sends each request to one host.
type redirected struct {
	http.RoundTripper
	host string
}

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "http", r.host
	return r.RoundTripper.RoundTrip(req)
}

// newModelOf returns a model of one of fantasy's providers.
func newModelOf(t *testing.T, name, url string) fantasy.LanguageModel {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	var provider fantasy.Provider
	var err error
	switch name {
	case "google":
		provider, err = google.New(google.WithGeminiAPIKey("key"), google.WithBaseURL(url), google.WithHTTPClient(client))
	case "openai":
		provider, err = openai.New(openai.WithAPIKey("key"), openai.WithBaseURL(url), openai.WithHTTPClient(client))
	case "responses":
		provider, err = openai.New(openai.WithAPIKey("key"), openai.WithBaseURL(url), openai.WithHTTPClient(client),
			openai.WithUseResponsesAPI(), openai.WithResponsesAPIFunc(func(string) bool { return true }))
	case "azure":
		provider, err = azure.New(azure.WithAPIKey("key"), azure.WithBaseURL(url), azure.WithHTTPClient(client))
	case "vercel":
		provider, err = vercel.New(vercel.WithAPIKey("key"), vercel.WithBaseURL(url), vercel.WithHTTPClient(client))
	case "openrouter": // has one address
		client.Transport = redirected{transport, strings.TrimPrefix(url, "http://")}
		provider, err = openrouter.New(openrouter.WithAPIKey("key"), openrouter.WithHTTPClient(client))
	case "bedrock":
		provider, err = bedrock.New(bedrock.WithAPIKey("key"), bedrock.WithBaseURL(url), bedrock.WithHTTPClient(client))
	case "openai-compat":
		provider, err = openaicompat.New(openaicompat.WithAPIKey("key"), openaicompat.WithBaseURL(url), openaicompat.WithHTTPClient(client))
	default:
		return newModel(t, url)
	}
	assert.OK(t, err)
	return assert.Value(provider.LanguageModel(t.Context(), "scripted"))(t)
}

// TestProviders has the converters of fantasy's providers make of a schema what they will: the
// API takes it, the model can fill it, and the server gets that.
func TestProviders(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"days":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"marks":{"type":["array","null"],"items":{"type":["integer","null"]}},
		"mode":{"enum":["fast","slow"]},"free":{}},"required":["days","gone"]}`
	for _, test := range []struct {
		provider string
		wire     adaptertest.Wire
		told     string // of the schema; empty: as it is
		most     int    // tools
	}{
		//report: Models | danny-avila/LibreChat#13623, github/copilot-cli#4623, google/adk-js#75 | a client's own converter for Gemini fails for a union, a list of types, or a value without a type, and no tool is left | it gets one type for each value, and what the converter drops, such as the values of an enum, stands in the description
		{"google", adaptertest.Gemini{Older: true}, `{"properties":{"days":{"description":"May be null.","type":"integer"},"free":{"type":"string"},"marks":{"description":"May be null.","items":{"description":"May be null.","type":"integer"},"type":"array"},"mode":{"description":"One of [\"fast\",\"slow\"].","type":"string"}},"required":["days"],"type":"object"}`, 512},
		{"openai", adaptertest.OpenAIChat{}, "", 128},
		{"openai-compat", adaptertest.OpenAIChat{}, "", 0},
		{"anthropic", adaptertest.Anthropic{}, "", 0},
		{"responses", &adaptertest.OpenAIResponses{}, "", 0},
		{"azure", adaptertest.OpenAIChat{}, "", 128},
		{"vercel", adaptertest.OpenAIChat{}, "", 0},
		{"openrouter", adaptertest.OpenAIChat{}, "", 0},
		{"bedrock", adaptertest.InvokeModel{}, "", 0},
	} {
		t.Run(test.provider, func(t *testing.T) {
			model := adaptertest.NewModel(t, test.wire)
			const args = `{"days":3,"gone":1,"marks":[1,2],"mode":"fast"}`
			tool := &noted{shaped: shaped{returning{&mcp.CallToolResult{}}, schema}}
			r := filled(t, nil, tool)
			prepare := belt.PrepareStep(r, nil)
			agent := &conversation{agent: fantasy.NewAgent(newModelOf(t, test.provider, model.URL), fantasy.WithPrepareStep(prepare))}
			model.Then(func(req *adaptertest.Request) adaptertest.Reply {
				return adaptertest.Reply{Calls: []adaptertest.Call{{ID: "call_1", Name: req.Tools[0].Name, Arguments: json.RawMessage(args)}}}
			}, func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
			assert.Equal(t, assert.Value(agent.Ask(t.Context(), "look"))(t).Text, "done", "the answer")
			assert.Equal(t, tool.got, args, "the tool got")
			told := string(model.Requests()[0].Tools[0].Schema)
			if test.told != "" {
				assert.Equal(t, told, test.told, "the model is told")
			}
			assert.Contains(t, told, `"integer"`, "the model is told")
			for n := 1; test.most > 0 && n <= test.most; n++ {
				assert.OK(t, r.Add(registry.MustFunc(fmt.Sprint("more", n), "", func(context.Context, struct{}) (string, error) { return "", nil })))
				if n < test.most-1 {
					continue
				}
				_, _, err := prepare(t.Context(), fantasy.PrepareStepFunctionOptions{Model: named{provider: test.provider}})
				if got, want := fmt.Sprint(err), fmt.Sprintf("takes %d tools in one request", test.most); strings.Contains(got, want) != (n == test.most) {
					t.Errorf("with %d tools got %s", n+1, got)
				}
			}
		})
	}
}

// A noted tool notes what it gets.
type noted struct {
	shaped
	got string
}

func (n *noted) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	n.got = string(args)
	return n.res, nil
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
				Wire: adaptertest.Anthropic{}, Interrupt: "`Options.Waiting` is told, and the tool waits", Without: map[string]string{"mended": "fantasy answers such calls itself"}, InOrder: !stream, Unordered: stream,
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
