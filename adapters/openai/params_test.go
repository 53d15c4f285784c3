package openai_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	belt "github.com/mcpbelt/mcpbelt/adapters/openai"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A fixed tool returns the same each time.
type fixed struct {
	def    registry.Definition
	result *mcp.CallToolResult
	args   chan<- string
}

func (f *fixed) Definition() *registry.Definition { return &f.def }

func (f *fixed) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	if f.args != nil {
		f.args <- string(args)
	}
	return f.result, nil
}

func tool(name, schema string, result *mcp.CallToolResult) *fixed {
	return &fixed{def: registry.Definition{Name: name, Description: "Does " + name, InputSchema: json.RawMessage(schema)}, result: result}
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func filled(t testing.TB, tools ...registry.Tool) *registry.Registry {
	t.Helper()
	r := registry.New(nil)
	assert.OK(t, r.Add(tools...))
	return r
}

func responseTools(t testing.TB, opts *belt.Options, tools ...registry.Tool) *belt.ResponseTurn {
	t.Helper()
	return assert.Value(belt.ResponseTools(t.Context(), filled(t, tools...), opts))(t)
}

func chatTools(t testing.TB, opts *belt.Options, tools ...registry.Tool) *belt.ChatTurn {
	t.Helper()
	return assert.Value(belt.ChatTools(t.Context(), filled(t, tools...), opts))(t)
}

func marshaled(t testing.TB, v any) string {
	t.Helper()
	return string(assert.Value(json.Marshal(v))(t))
}

// sent returns the body of the one request that call makes.
func sent(t *testing.T, call func(client openai.Client)) string {
	t.Helper()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	defer server.Close()
	call(client(server.URL))
	return string(body)
}

// TestParamsByteByByte has properties in an order that is not that of the alphabet,
// and a number that no float holds.
func TestParamsByteByByte(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"description":"<é\u2028&>","type":"string","default":1.0}},"required":["z"]}`
	turn := responseTools(t, nil, tool("find", schema, says("")))
	body := sent(t, func(c openai.Client) {
		_, _ = c.Responses.New(t.Context(), responses.ResponseNewParams{Model: "m", Tools: turn.Params()})
	})
	assert.Contains(t, escaped(body), escaped(string(turn.Set().Tools()[0].Declaration())), "sent\n%s\nwithout", body)
	chat := chatTools(t, nil, tool("find", schema, says("")))
	body = sent(t, func(c openai.Client) {
		_, _ = c.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "m", Tools: chat.Params()})
	})
	assert.Contains(t, escaped(body), escaped(string(chat.Set().Tools()[0].ChatDeclaration())), "sent\n%s\nwithout", body)
}

// escaped writes what encoding/json may escape in one way.
func escaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", "\u2028", `\u2028`).Replace(text)
}

func TestParamsOfNothing(t *testing.T) {
	if turn := responseTools(t, nil); turn.Params() != nil {
		t.Errorf("got %v", turn.Params())
	}
	if turn := chatTools(t, nil); turn.Params() != nil {
		t.Errorf("got %v", turn.Params())
	}
	body := sent(t, func(c openai.Client) {
		_, _ = c.Responses.New(t.Context(), responses.ResponseNewParams{Model: "m", Tools: responseTools(t, nil).Params()})
	})
	assert.Lacks(t, body, "tools", "sent")
}

// TestParamsOfOpenAI has the tools that the provider's search and its programs need.
func TestParamsOfOpenAI(t *testing.T) {
	const schema = `{"type":"object"}`
	opts := searching()
	opts.Turn.AllowedCallers = func(d *registry.Definition) []string {
		if d.Name == "b" {
			return []string{"direct", "programmatic"}
		}
		return nil
	}
	b := tool("b", schema, says(""))
	b.def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	got := marshaled(t, responseTools(t, opts, tool("a", schema, says("")), b).Params())
	const want = `[{"type":"function","name":"a","description":"Does a","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true},` +
		`{"type":"function","name":"b","description":"Does b","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true,` +
		`"allowed_callers":["direct","programmatic"],"output_schema":{"type":"object","properties":{"n":{"type":"integer"}}}},` +
		`{"type":"tool_search"},{"type":"programmatic_tool_calling"}]`
	assert.Equal(t, got, want)
	for _, turn := range []profile.TurnOptions{
		{ProviderSearch: true, Toolset: opts.Turn.Toolset},
		{Options: profile.Options{Deferred: func(*registry.Definition) bool { return true }}},
		{Options: profile.Options{AllowedCallers: opts.Turn.AllowedCallers}},
	} {
		chat := chatTools(t, &belt.Options{Turn: turn}, tool("a", schema, says("")), b)
		assert.False(t, chat.Set().Searching(), "Chat Completions searches: %v, has programs: %v, and %d tools", chat.Set().Searching(), chat.Set().Programs(), len(chat.Params()))
		assert.False(t, chat.Set().Programs(), "Chat Completions searches: %v, has programs: %v, and %d tools", chat.Set().Searching(), chat.Set().Programs(), len(chat.Params()))
		assert.Equal(t, len(chat.Params()), 2, "Chat Completions searches: %v, has programs: %v, and", chat.Set().Searching(), chat.Set().Programs())
	}
	got = marshaled(t, chatTools(t, opts, tool("a", schema, says("")), b).Params())
	if strings.Contains(got, "defer") || strings.Contains(got, "search") || strings.Contains(got, "program") || strings.Count(got, `"function":`) != 2 {
		t.Errorf("Chat Completions gets %s", got)
	}
	assert.False(t, opts.Turn.AllowedCallers == nil || !opts.Turn.ProviderSearch, "the caller's options have changed")
}

// TestStrict has a model that is held to schemas write null for a missing property,
// against the strict provider.
func TestStrict(t *testing.T) {
	args := make(chan string, 1)
	label := tool("label", `{"type":"object","properties":{"id":{"type":"integer"},"labels":{"type":"array","items":{"type":"string"}},"note":{"type":"string"}},"required":["id"]}`, says("labelled"))
	label.args = args
	model := adaptertest.NewModel(t, &adaptertest.OpenAIResponses{})
	model.Then(
		func(*adaptertest.Request) adaptertest.Reply {
			return adaptertest.Reply{Calls: []adaptertest.Call{{ID: "call_1", Name: "label", Arguments: json.RawMessage(`{"id":7,"labels":["a"],"note":null}`)}}}
		},
		func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
	c := &conversation{client: client(model.URL), registry: filled(t, label), opts: &belt.Options{Strict: true}}
	assert.Equal(t, assert.Value(c.Ask(t.Context(), "label it"))(t).Text, "done")
	assert.Equal(t, <-args, `{"id":7,"labels":["a"]}`, "the tool")
	assert.Contains(t, marshaled(t, c.tools.Params()), `"strict":true`, "sent")
}

// TestTextOnly has a model that sees no images.
func TestTextOnly(t *testing.T) {
	opts := &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}
	look := tool("look", `{"type":"object"}`, picture("a text"))
	results, err := responseTools(t, opts, look).Run(t.Context(), response(t, call("call_1", "look", `{}`)))
	if got := marshaled(t, results); err != nil || strings.Contains(got, "input_image") || !strings.Contains(got, "[image image/png") {
		t.Errorf("%s, %v", got, err)
	}
	messages, err := chatTools(t, opts, look).Run(t.Context(), choice(t, "tool_calls", chatCall("call_1", "look", `{}`)))
	if got := marshaled(t, messages); err != nil || len(messages) != 1 || !strings.Contains(got, "[image image/png") {
		t.Errorf("%s, %v", got, err)
	}
}
