package eino_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/gemini"
	"github.com/cloudwego/eino-ext/components/model/openai"
	acl "github.com/cloudwego/eino-ext/libs/acl/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"google.golang.org/genai"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A thinking model gives back what it thought before its calls, which eino-ext's for OpenAI does not.
type thinkingModel struct{ *openai.ChatModel }

func (m thinkingModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with, err := m.ChatModel.WithTools(tools)
	return thinkingModel{with.(*openai.ChatModel)}, err
}

func (m thinkingModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	return m.ChatModel.Generate(ctx, in, append(opts, acl.WithRequestPayloadModifier(addThoughts))...)
}

func (m thinkingModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return m.ChatModel.Stream(ctx, in, append(opts, acl.WithRequestPayloadModifier(addThoughts))...)
}

func addThoughts(_ context.Context, in []*schema.Message, raw []byte) ([]byte, error) {
	var body map[string]any
	err := json.Unmarshal(raw, &body)
	for i, m := range in {
		if m.ReasoningContent != "" {
			body["messages"].([]any)[i].(map[string]any)["reasoning_content"] = m.ReasoningContent
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// newModelOf returns a model of eino-ext's.
func newModelOf(t *testing.T, p profile.Provider, url string) model.ToolCallingChatModel {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	if p != profile.Gemini {
		return thinkingModel{assert.Value(openai.NewChatModel(t.Context(), &openai.ChatModelConfig{BaseURL: url, APIKey: "key", Model: "scripted", HTTPClient: client}))(t)}
	}
	api := assert.Value(genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "key", HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url}}))(t)
	return assert.Value(gemini.NewChatModel(t.Context(), &gemini.Config{Client: api, Model: "scripted"}))(t)
}

// TestProviders has the converters of eino-ext's models make of a schema what they will: the
// API takes it, the model can fill it, and the server gets that.
func TestProviders(t *testing.T) {
	const input = `{"type":"object","properties":{
		"days":{"anyOf":[{"type":"integer"},{"type":"null"}]},"marks":{"type":["array","null"],"items":{"type":["integer","null"]}},
		"mode":{"enum":["fast","slow"]},"size":{"enum":[1,2]},"free":{},
		"in":{"type":"object","properties":{"of":{"type":["string","null"]}},"required":["of"]}},"required":["days","gone"]}`
	const args = `{"days":3,"gone":1,"in":{"of":"x"},"marks":[1,2],"mode":"fast","size":2}`
	for _, test := range []struct {
		provider profile.Provider
		wire     adaptertest.Wire
		told     string
	}{
		{profile.OpenAI, adaptertest.OpenAIChat{}, `"size":{"enum":[1,2]}`},
		{profile.OpenAIStrict, adaptertest.OpenAIChat{}, `"size":{"enum":[1,2]}`},
		{profile.Gemini, adaptertest.Gemini{Before3: true, Older: true}, `"size":{"description":"One of [1,2].","type":"integer"}`},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(test.provider, stream), func(t *testing.T) {
				script := adaptertest.NewModel(t, test.wire)
				r := registry.New(nil)
				var got string
				assert.Value(r.Replace(registry.Server{Name: "s"}, []registry.Tool{registry.Remote("s", &mcp.Tool{Name: "look", InputSchema: json.RawMessage(input)}, func(_ context.Context, _ string, args json.RawMessage, _ *mcp.RequestOptions) (*mcp.CallToolResult, error) {
					var in any // a converter may have another order
					assert.OK(t, json.Unmarshal(args, &in))
					sorted := assert.Value(json.Marshal(in))(t)
					got = string(sorted)
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil
				})}))(t)
				calls := func(req *adaptertest.Request) adaptertest.Reply {
					return adaptertest.Reply{Calls: []adaptertest.Call{{ID: "call_1", Name: req.Tools[0].Name, Arguments: json.RawMessage(args)}}}
				}
				done := func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} }
				script.Then(calls, done, calls, done)
				agent := &adkAgent{belt: belt.New(r, &belt.Options{Provider: test.provider}), model: newModelOf(t, test.provider, script.URL), store: newStore(), streaming: stream}
				for range 2 {
					assert.Equal(t, assert.Value(agent.Ask(t.Context(), "look"))(t).Text, "done", "the answer")
				}
				assert.Equal(t, got, args, "the tool got")
				assert.Contains(t, string(script.Requests()[0].Tools[0].Schema), test.told, "the model is told")
			})
		}
	}
}
