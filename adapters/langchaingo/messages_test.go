package langchaingo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	belt "github.com/mcpbelt/mcpbelt/adapters/langchaingo"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

func newTurn(t *testing.T, p profile.Provider, all ...registry.Tool) *belt.Turn {
	t.Helper()
	return assert.Value(belt.Tools(t.Context(), newRegistry(t, nil, all...), &belt.Options{Provider: p}))(t)
}

func toolCall(id, name, args string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: args}}
}

// roles are the roles of messages, with the types of their parts.
func roles(messages []llms.MessageContent) string {
	var all []string
	for _, m := range messages {
		var kinds []string
		for _, p := range m.Parts {
			kinds = append(kinds, reflect.TypeOf(p).Name())
		}
		all = append(all, fmt.Sprintf("%s(%s)", m.Role, strings.Join(kinds, " ")))
	}
	return strings.Join(all, " ")
}

func pdf() *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7 and more"),
	}}}}
}

func gif() *mcp.CallToolResult {
	data := []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/gif", Data: data}}}
}

// What langchaingo's packages lose of a message depends on the provider.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		provider profile.Provider
		choices  []*llms.ContentChoice
		want     string
	}{
		{profile.OpenAI,
			[]*llms.ContentChoice{{Content: "let me see", ToolCalls: []llms.ToolCall{toolCall("1", "one", `{"city":"a"}`), toolCall("2", "one", `{"city":"b"}`)}}, {ToolCalls: []llms.ToolCall{toolCall("3", "one", `{}`)}}},
			"ai(TextContent ToolCall ToolCall) tool(ToolCallResponse) tool(ToolCallResponse)"},
		{profile.OpenAI,
			[]*llms.ContentChoice{{ToolCalls: []llms.ToolCall{toolCall("1", "one", `{`)}}},
			"ai(ToolCall) tool(ToolCallResponse)"},
		{profile.Gemini,
			[]*llms.ContentChoice{{Content: " ", ToolCalls: []llms.ToolCall{toolCall("", "one", `{"city":"a"}`), toolCall("", "one", `{"city":"b"}`)}}},
			"ai(ToolCall ToolCall) tool(ToolCallResponse ToolCallResponse)"},
		{profile.Bedrock,
			[]*llms.ContentChoice{{ToolCalls: []llms.ToolCall{toolCall("1", "one", `{"city":"a"}`)}}, {ToolCalls: []llms.ToolCall{toolCall("2", "one", `{"city":"b"}`)}}},
			"ai(ToolCall) tool(ToolCallResponse) ai(ToolCall) tool(ToolCallResponse)"},
		{profile.Anthropic,
			[]*llms.ContentChoice{{Content: "let me see"}, nil, {Content: "and look"}, {ToolCalls: []llms.ToolCall{toolCall("1", "one", `{"city":"a"}`)}}, {ToolCalls: []llms.ToolCall{toolCall("2", "one", `{"city":"b"}`)}}},
			"ai(TextContent) ai(ToolCall) tool(ToolCallResponse) ai(ToolCall) tool(ToolCallResponse)"},
	} {
		messages := assert.Value(newTurn(t, c.provider, raw{"one", "", one}).Run(t.Context(), &llms.ContentResponse{Choices: c.choices}))(t)
		assert.Equal(t, roles(messages), c.want)
		for _, m := range messages {
			for _, p := range m.Parts {
				if call, ok := p.(llms.ToolCall); ok && !json.Valid([]byte(call.FunctionCall.Arguments)) {
					t.Errorf("%s: a call with the arguments %q", c.provider, call.FunctionCall.Arguments)
				}
				if r, ok := p.(llms.ToolCallResponse); ok && r.Name != "one" {
					t.Errorf("%s: %+v", c.provider, r)
				}
			}
		}
	}
}

func TestMessagesOfNothing(t *testing.T) {
	turn := newTurn(t, profile.OpenAI, raw{"one", "", one})
	for _, r := range []*llms.ContentResponse{nil, {}, {Choices: []*llms.ContentChoice{nil}}, {Choices: []*llms.ContentChoice{{Content: "hi"}}}, {Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{{ID: "1"}}}}}} {
		if messages, err := turn.Run(t.Context(), r); messages != nil || err != nil {
			t.Errorf("%v: %v, %v", r, messages, err)
		}
	}
}

// A call that was cut off is not made, and those before it are.
func TestRunOfWhatWasCutOff(t *testing.T) {
	turn := newTurn(t, profile.OpenAI, raw{"none", "", none})
	for args, ran := range map[string]bool{"": false, `{"a":`: false, `{}`: true} {
		for _, reason := range []string{"length", "content_filter", "max_tokens", "model_context_window_exceeded", "FinishReasonMaxTokens", "", "stop"} {
			response := &llms.ContentResponse{Choices: []*llms.ContentChoice{{StopReason: reason, ToolCalls: []llms.ToolCall{toolCall("1", "none", ""), toolCall("2", "none", args)}}}}
			messages := assert.Value(turn.Run(t.Context(), response))(t)
			assert.Equal(t, len(messages), 3)
			first, last := messages[1].Parts[0].(llms.ToolCallResponse).Content, messages[2].Parts[0].(llms.ToolCallResponse).Content
			want := ran || reason == "stop" && args == ""
			assert.False(t, strings.HasPrefix(first, "The tool failed:"), "%s, %q: %q, %q", reason, args, first, last)
			assert.False(t, strings.HasPrefix(last, "The tool failed:") == want, "%s, %q: %q, %q", reason, args, first, last)
		}
	}
}

// Of a call that Anthropic's API cuts off there may be left what looks whole.
func TestRunOfWhatAnthropicCutOff(t *testing.T) {
	turn := newTurn(t, profile.Anthropic, raw{"none", "", none})
	block := func(id string) *llms.ContentChoice {
		return &llms.ContentChoice{StopReason: "max_tokens", ToolCalls: []llms.ToolCall{toolCall(id, "none", "{}")}}
	}
	for _, c := range []struct {
		behind []*llms.ContentChoice
		failed bool
	}{{nil, true}, {[]*llms.ContentChoice{{StopReason: "max_tokens", Content: "so"}}, false}} {
		messages := assert.Value(turn.Run(t.Context(), &llms.ContentResponse{Choices: append([]*llms.ContentChoice{block("1"), block("2")}, c.behind...)}))(t)
		var results []string
		for _, m := range messages {
			if r, ok := m.Parts[0].(llms.ToolCallResponse); ok {
				results = append(results, r.Content)
			}
		}
		if len(results) != 2 || strings.HasPrefix(results[0], failed) || strings.HasPrefix(results[1], failed) != c.failed {
			t.Errorf("the results are %q", results)
		}
	}
}

// failed begins the result of a tool that failed.
const failed = "The tool failed:"

// A direct tool returns what is for the user alone.
type direct struct{ raw }

func (d direct) Definition() *registry.Definition {
	def := d.raw.Definition()
	def.ReturnDirect = true
	return def
}

func TestDirect(t *testing.T) {
	var mu sync.Mutex
	var got []string
	turn := assert.Value(belt.Tools(t.Context(), newRegistry(t, nil, direct{raw{"one", "", one}}), &belt.Options{Turn: profile.TurnOptions{Direct: func(_ context.Context, a profile.Answer) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, result.Text(a.Direct))
	}}}))(t)
	messages, err := turn.Run(t.Context(), &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{toolCall("1", "one", `{"city":"a"}`)}}}})
	assert.False(t, err != nil || messages[1].Parts[0].(llms.ToolCallResponse).Content != result.Withheld, "%v, %v", messages, err)
	assert.Equal(t, assert.Value(turn.AgentTools()[0].Call(t.Context(), "b"))(t), result.Withheld)
	assert.True(t, fmt.Sprint(got) == `[{"city":"a"} {"city":"b"}]`, "the user gets %q", got)
}

// The conversation can go on when the context has ended.
func TestMessagesAfterTheEnd(t *testing.T) {
	turn := newTurn(t, profile.OpenAI, raw{"one", "", one})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	messages, err := turn.Run(ctx, &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{toolCall("1", "one", `{"city":"a"}`)}}}})
	assert.False(t, err == nil || roles(messages) != "ai(ToolCall) tool(ToolCallResponse)", "%s, %v", roles(messages), err)
}

func TestMedia(t *testing.T) {
	failure := gif()
	failure.IsError = true
	for _, c := range []struct {
		provider profile.Provider
		result   *mcp.CallToolResult
		text     string
		last     string
	}{
		{profile.OpenAI, gif(), "[image image/gif, 35 bytes, attached]", "human(TextContent ImageURLContent)"},
		{profile.OpenAIStrict, gif(), "[image image/gif, 35 bytes, attached]", "human(TextContent ImageURLContent)"},
		{profile.OpenAI, failure, "The tool failed:\n[image image/gif, 35 bytes, attached]", "human(TextContent ImageURLContent)"},
		{profile.Anthropic, gif(), "[image image/gif, 35 bytes, attached]", "human(TextContent BinaryContent)"},
		{profile.Anthropic, failure, "The tool failed:\n[image image/gif, 35 bytes, attached]", "human(TextContent BinaryContent)"},
		{profile.OpenAI, pdf(), "[binary application/pdf, 17 bytes]", "tool(ToolCallResponse)"},
		{profile.Anthropic, pdf(), "[binary application/pdf, 17 bytes]", "tool(ToolCallResponse)"},
		{profile.Gemini, pdf(), "[binary application/pdf, 17 bytes, attached]", "human(TextContent BinaryContent)"},
	} {
		turn := newTurn(t, c.provider, raw{"one", "", one})
		messages := turn.Messages(&llms.ContentResponse{}, profile.Answer{Call: profile.Call{ID: "1", Name: "one"}, Result: c.result})
		var text string
		for _, m := range messages {
			if r, ok := m.Parts[0].(llms.ToolCallResponse); ok {
				text = r.Content
			}
		}
		assert.Equal(t, text, c.text)
		assert.Equal(t, roles(messages[len(messages)-1:]), c.last, "%s: %q, %s; want %q", c.provider, text, roles(messages), c.text)
	}
}

// langchaingo's googleai takes a schema of a narrow form alone.
func TestSchemaForGoogle(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":["null","string"]},"b":{"type":"array","items":{"type":["integer","null"]}},
		"c":{"type":"object","properties":{"d":{"type":["null"]},"e":true}},"f":true,"g":{"type":"array"},
		"h":{"anyOf":[{"type":"null"},{"type":"integer","description":"inner"},{"type":"string"}],"description":"outer"},
		"i":{"type":"array","prefixItems":[{"type":"string"}],"items":false},"j":{},"k":{"anyOf":[{"anyOf":[{"type":"number"},{"type":"string"}]},{"type":"boolean"}]},
		"l":{"type":["integer","boolean","null"]},"m":{"anyOf":[{"type":"object","properties":{"n":{}},"required":["n"]},{"type":"null"}]}}}`
	for _, schema := range []string{schema, none} {
		for _, tool := range newTurn(t, profile.Gemini, raw{"one", "", schema}).Params() {
			root, ok := tool.Function.Parameters.(map[string]any)
			if !ok {
				t.Fatalf("%T", tool.Function.Parameters)
			}
			narrow(t, "", root)
			if _, ok := root["properties"].(map[string]any); !ok {
				t.Errorf("%v", root)
			}
		}
	}
}

// What may be one or the other is the first.
func TestAlternativesForGoogle(t *testing.T) {
	schema := `{"type":"object","properties":{"h":{"anyOf":[{"type":"null"},{"type":"integer","description":"inner","minimum":1},{"type":"string"}],"description":"outer"},
		"m":{"anyOf":[{"type":"object","properties":{"n":{"type":"boolean"}},"required":["n"]},{"type":"null"}]},"o":{"type":"array","items":{}},
		"p":{"anyOf":[{"type":"integer","description":"inner"},{"type":"string"}]}}}`
	got, err := json.Marshal(newTurn(t, profile.Gemini, raw{"one", "", schema}).Params()[0].Function.Parameters)
	const want = `{"properties":{"h":{"description":"outer","minimum":1,"type":"integer"},"m":{"description":"May be null.","properties":{"n":{"type":"boolean"}},"required":["n"],"type":"object"},"o":{"items":{"type":"string"},"type":"array"},"p":{"description":"inner","type":"integer"}},"type":"object"}`
	assert.False(t, err != nil || string(got) != want, "%s, %v", got, err)
}

// OpenAI takes descriptions of 1,024 characters.
func TestDescriptionThatIsTooLong(t *testing.T) {
	told := newTurn(t, profile.OpenAI, raw{"one", strings.Repeat("ä", 2000), one}).Params()[0].Function.Description
	if n := utf8.RuneCountInString(told); n > 1024 || n < 1000 {
		t.Errorf("%d characters", n)
	}
}

func narrow(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	if kind, ok := schema["type"].(string); !ok || kind == "null" || schema["anyOf"] != nil {
		t.Errorf("%s has type %v, in %v", path, schema["type"], schema)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		inner, ok := p.(map[string]any)
		if !ok {
			t.Errorf("%s/%s is %v", path, name, p)
			continue
		}
		narrow(t, path+"/"+name, inner)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		narrow(t, path+"/items", items)
	} else if schema["items"] != nil || schema["type"] == "array" {
		t.Errorf("%s has items %v", path, schema["items"])
	}
}

func TestOptionsOfDeferralAreIgnored(t *testing.T) {
	opts := &belt.Options{Provider: profile.Anthropic}
	opts.Turn.ProviderSearch = true
	opts.Turn.Toolset = &toolset.SetOptions{MaxTokens: 1, Always: func(*registry.Definition, registry.Hints) bool { return false }}
	opts.Turn.Deferred = func(*registry.Definition) bool { return true }
	turn, err := belt.Tools(t.Context(), newRegistry(t, nil, raw{"one", "", one}, raw{"two", "", two}), opts)
	assert.False(t, err != nil || turn.Set().Searching() || len(turn.Params()) != 2, "%v, %v", turn, err)
	assert.False(t, opts.Turn.Deferred == nil, "the caller's options have changed")
	assert.Fails(t, assert.Err(belt.Tools(t.Context(), registry.New(nil), &belt.Options{Provider: "nobody"})), "a provider that nobody knows is taken")
}

// One turn serves many at the same time, while the list changes.
func TestTurnIsSharedByMany(t *testing.T) {
	r := newRegistry(t, nil, raw{"one", "", one})
	turn := assert.Value(belt.Tools(t.Context(), r, nil))(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				response := &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{toolCall("1", "one", `{"city":"a"}`), toolCall("2", "one", `{"city":"b"}`)}}}}
				if messages, err := turn.Run(t.Context(), response); err != nil || len(messages) != 3 {
					t.Errorf("%v, %v", messages, err)
				}
				for _, tool := range turn.AgentTools() {
					if _, err := tool.Call(t.Context(), "x"); err != nil {
						t.Error(err)
					}
				}
				_ = turn.Params()
			}
		})
		wg.Go(func() {
			name := fmt.Sprintf("more%d", i)
			for range 20 {
				assert.Is(t, r.Add(raw{name, "", none}), nil)
				r.Remove(name)
			}
		})
	}
	wg.Wait()
}
