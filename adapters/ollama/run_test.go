package ollama_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"

	belt "github.com/mcpbelt/mcpbelt/adapters/ollama"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A tool is native, and returns what a function does.
type tool struct {
	name, description, schema string
	call                      func(args json.RawMessage) *mcp.CallToolResult
}

func (t tool) Definition() *registry.Definition {
	return &registry.Definition{Name: t.name, Description: t.description, InputSchema: json.RawMessage(t.schema)}
}

func (t tool) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.call(args), nil
}

const anything = `{"type":"object"}`

func says(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func turn(t *testing.T, opts *belt.Options, tools ...registry.Tool) *belt.Turn {
	t.Helper()
	reg := registry.New(nil)
	assert.OK(t, reg.Add(tools...))
	turn := assert.Value(belt.Tools(t.Context(), reg, opts))(t)
	if got := len(turn.Params()); got != len(tools) {
		t.Fatalf("%d of %d tools; rejected: %v", got, len(tools), turn.Set().Rejected())
	}
	return turn
}

// calls returns the message of a model, as the SDK decodes it.
func calls(t *testing.T, text string) api.Message {
	t.Helper()
	var message api.Message
	assert.OK(t, json.Unmarshal([]byte(`{"role":"assistant","content":"","tool_calls":[`+text+`]}`), &message))
	return message
}

func picture(t *testing.T) tool {
	png := assert.Value(base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))(t)
	return tool{"look", "does look", anything, func(json.RawMessage) *mcp.CallToolResult {
		return says(&mcp.ImageContent{MIMEType: "image/png", Data: png}, &mcp.TextContent{Text: "and"}, &mcp.ImageContent{MIMEType: "image/png", Data: png})
	}}
}

// TestImagesBehind has each image in a message of its own, behind all results.
func TestImagesBehind(t *testing.T) {
	message := calls(t, `{"id":"1","function":{"name":"look","arguments":{}}},{"id":"2","function":{"name":"look","arguments":{}}}`)
	messages, err := turn(t, nil, picture(t)).Run(t.Context(), message)
	if err != nil || len(messages) != 6 {
		t.Fatalf("%+v, %v", messages, err)
	}
	for i, m := range messages {
		if i < 2 {
			if m.Role != "tool" || m.ToolCallID != fmt.Sprint(i+1) || m.ToolName != "look" || m.Images != nil || strings.Count(m.Content, "attached]") != 2 {
				t.Errorf("message %d is %+v", i, m)
			}
		} else if m.Role != "user" || len(m.Images) != 1 || m.Content == "" || m.ToolName != "" {
			t.Errorf("message %d is %+v", i, m)
		}
	}
	messages, err = turn(t, &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, picture(t)).Run(t.Context(), message)
	if err != nil || len(messages) != 2 || strings.Contains(messages[0].Content, "attached") {
		t.Errorf("for a model that cannot see: %+v, %v", messages, err)
	}
}

// TestMarks has texts that the server would put images into, or fail at.
func TestMarks(t *testing.T) {
	evil := "[img-0] [img] [img-99999999999999999999] [img-1][img-1] [[img-2]] [image image/png, 1 bytes] [img-x] [IMG-0]"
	clean := "[ img-0] [ img] [ img-99999999999999999999] [ img-1][ img-1] [[ img-2]] [image image/png, 1 bytes] [img-x] [IMG-0]"
	tools := turn(t, nil, tool{"evil", evil, `{"type":"object","properties":{"a":{"type":"string","description":"[img-3]"},
		"o":{"type":"object","properties":{"b":{"type":"string","description":"[img-4]"}}},
		"l":{"type":"array","items":{"type":"string","description":"\"[img-5]","enum":["[\u0069mg-6]"]}},
		"e":{"enum":["[img-7]\\","[img-8]"]},"[img-9]":{"type":"string"},"plain":{"type":"string","description":"see [img]"},
		"u":{"anyOf":[{"type":"string","description":"[img-10]"},{"type":"array","items":{"description":"[img-11]"}}]}}}`,
		func(json.RawMessage) *mcp.CallToolResult { return says(&mcp.TextContent{Text: evil}) }})
	messages, err := tools.Run(t.Context(), calls(t, `{"function":{"name":"evil","arguments":{}}}`))
	assert.False(t, err != nil || messages[0].Content != clean, "%+v, %v", messages, err)
	data, err := json.Marshal(tools.Params())
	if text := string(data); err != nil || regexp.MustCompile(`\[img(-[0-9]+)?\]`).MatchString(text) || !strings.Contains(text, clean[:20]) || strings.Count(text, "[ img-") != 14 {
		t.Errorf("the model is told %s, %v", text, err)
	}
}

// TestExact has order and numbers of schemas stay, also where the SDK has no types.
func TestExact(t *testing.T) {
	const items = `{"type":"object","properties":{"z":{"type":"number","enum":[1.50]},"a":{"type":"string"}}}`
	tools := turn(t, nil, tool{"take", "does take", `{"type":"object","properties":{
		"z":{"type":"array","items":` + items + `},
		"a":{"type":"number","enum":[2.0,1e2]},
		"m":{"anyOf":[{"type":"array","items":` + items + `},{"type":"string"}]},
		"o":{"type":"object","properties":{"y":{"type":"number","enum":[3.00]},"b":{"type":"array","items":` + items + `}}}}}`, nil})
	tools.Params()[0].Function.Name = "changed"
	data := assert.Value(json.Marshal(tools.Params()))(t)
	assert.Lacks(t, string(data), "changed")
	for what, want := range map[string]int{items: 3, `"enum":[2.0,1e2]`: 1, `"enum":[3.00]`: 1, `"properties":{"z":{"type":"array"`: 1, `"anyOf"`: 1} {
		assert.Equal(t, strings.Count(string(data), what), want, "%s is there", what)
	}
}

func TestArguments(t *testing.T) {
	var got string
	tools := turn(t, nil, tool{"take", "does take", anything, func(args json.RawMessage) *mcp.CallToolResult {
		got = string(args)
		return says()
	}})
	for _, args := range []string{`{}`, `{"z":1,"a":[1.5,{"k":null}],"":"ä\u0000\u003c","\"q\"":true}`, `{"n":9007199254740992,"big":1e+21}`} {
		assert.Value(tools.Run(t.Context(), calls(t, `{"function":{"name":"take","arguments":`+args+`}}`)))(t)
		assert.True(t, got == args, "the tool got %s, not %s", got, args)
	}
	// Those of calls that the program has made itself.
	if _, err := tools.Run(t.Context(), api.Message{ToolCalls: []api.ToolCall{{Function: api.ToolCallFunction{Name: "take"}}}}); err != nil || got != "{}" {
		t.Errorf("the tool got %s, %v", got, err)
	}
	args := api.NewToolCallFunctionArguments()
	args.Set("n", math.NaN())
	got = ""
	message := api.Message{ToolCalls: []api.ToolCall{{Function: api.ToolCallFunction{Name: "take"}}, {Function: api.ToolCallFunction{Name: "take", Arguments: args}}}}
	if made, err := tools.Calls(message); err == nil || made != nil {
		t.Errorf("the calls are %v, %v", made, err)
	}
	if messages, err := tools.Run(t.Context(), message); err == nil || messages != nil || got != "" {
		t.Errorf("%v, %v; the tool got %q", messages, err, got)
	}
}

func TestNothingCalled(t *testing.T) {
	tools := turn(t, nil)
	if messages, err := tools.Run(t.Context(), api.Message{Role: "assistant", Content: "hello"}); messages != nil || err != nil || tools.Params() != nil || tools.Results() != nil {
		t.Errorf("%v, %v", messages, err)
	}
	for _, message := range []api.Message{{Role: "assistant"}, {Content: "hello"}} {
		if messages, err := tools.Run(t.Context(), message); messages != nil || err != nil {
			t.Errorf("%+v: %v, %v", message, messages, err)
		}
	}
}

// TestEnded has a result of each call after the context has ended.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tools := turn(t, nil, tool{"stop", "does stop", anything, func(json.RawMessage) *mcp.CallToolResult {
		cancel()
		return says(&mcp.TextContent{Text: "stopped"})
	}})
	messages, err := tools.Run(ctx, calls(t, `{"id":"1","function":{"name":"stop","arguments":{}}},{"id":"2","function":{"name":"nobody","arguments":{}}}`))
	if !errors.Is(err, context.Canceled) || len(messages) != 2 || messages[0].ToolCallID != "1" || messages[1].ToolCallID != "2" || messages[1].Content == "" {
		t.Errorf("%+v, %v", messages, err)
	}
}

// TestCollect has all that a stream brings, as the SDK reads it from a server.
func TestCollect(t *testing.T) {
	model := adaptertest.NewModel(t, adaptertest.Ollama{})
	model.Then(func(*adaptertest.Request) adaptertest.Reply {
		return adaptertest.Reply{Text: "look out", Calls: []adaptertest.Call{{ID: "1", Name: "a", Arguments: json.RawMessage(`{"x":1}`)}, {ID: "2", Name: "b", Arguments: json.RawMessage(`{}`)}}}
	})
	var message api.Message
	request := &api.ChatRequest{Model: "scripted", Messages: []api.Message{{Role: "user", Content: "x"}}}
	assert.OK(t, dial(t, model.URL).Chat(t.Context(), request, belt.Collect(&message)))
	if message.Role != "assistant" || message.Content != "look out" || len(message.ToolCalls) != 2 || message.ToolCalls[1].ID != "2" || message.ToolCalls[0].Function.Arguments.String() != `{"x":1}` {
		t.Errorf("%+v", message)
	}
	collect := belt.Collect(&message)
	_ = collect(api.ChatResponse{Message: api.Message{Thinking: "hm", Images: []api.ImageData{{1}}}})
	_ = collect(api.ChatResponse{Message: api.Message{Role: "critic"}})
	_ = collect(api.ChatResponse{Message: api.Message{Thinking: "m"}, Done: true})
	assert.False(t, message.Thinking != "hmm" || len(message.Images) != 1 || message.Role != "critic" || message.Content != "", "%+v", message)
}

// TestBrokenOff has a connection end within an answer, of which the SDK says nothing.
func TestBrokenOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"half of","tool_calls":[{"id":"1","function":{"name":"wipe","arguments":{}}}]},"done":false}`+"\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	ran := false
	tools := turn(t, nil, tool{"wipe", "does wipe", anything, func(json.RawMessage) *mcp.CallToolResult {
		ran = true
		return says()
	}})
	var message api.Message
	request := &api.ChatRequest{Model: "scripted", Messages: []api.Message{{Role: "user", Content: "x"}}}
	if err := dial(t, server.URL).Chat(t.Context(), request, belt.Collect(&message)); err != nil {
		t.Skip("the SDK tells now: ", err)
	}
	if messages, err := tools.Run(t.Context(), message); !errors.Is(err, belt.ErrBrokenOff) || messages != nil || ran || message.Content != "" {
		t.Errorf("%+v, %v, ran: %v; %+v", messages, err, ran, message)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	assert.Is(t, assert.Err(tools.Run(ctx, message)), io.ErrNoProgress)
}

// TestNoSearch has all tools in the request: the API does not search.
func TestNoSearch(t *testing.T) {
	all := func(*registry.Definition) bool { return true }
	opts := &belt.Options{Turn: profile.TurnOptions{
		ProviderSearch: true, Toolset: &toolset.SetOptions{MaxTools: 1}, Options: profile.Options{Deferred: all},
	}}
	assert.False(t, turn(t, opts, picture(t), tool{"bare", "does nothing", anything, nil}).Set().Searching(), "the API is to search")
}

// TestTogether has many use a turn at the same time.
func TestTogether(t *testing.T) {
	tools := turn(t, nil, picture(t))
	var wg sync.WaitGroup
	for i := range 8 {
		message := calls(t, fmt.Sprintf(`{"id":"%d","function":{"name":"look","arguments":{}}}`, i))
		wg.Go(func() {
			messages, err := tools.Run(t.Context(), message)
			assert.False(t, err != nil || messages[0].ToolCallID != fmt.Sprint(i), "%v, %v", messages, err)
			_ = tools.Params().String()
		})
	}
	wg.Wait()
}

// FuzzArguments has any object come to the tool as what it was.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[null,true,"x"]}}`, `{"\u00e4\ud83d\ude00":"\u2028"}`, `{"a":1e400}`, `{"a":1,"a":2}`, `{"a":-0.0}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		var message api.Message
		if json.Unmarshal([]byte(`{"tool_calls":[{"function":{"name":"take","arguments":`+args+`}}]}`), &message) != nil || len(message.ToolCalls) != 1 {
			return
		}
		var got json.RawMessage
		tools := turn(t, nil, tool{"take", "does take", anything, func(args json.RawMessage) *mcp.CallToolResult {
			got = args
			return says()
		}})
		assert.Equal(t, len(assert.Value(tools.Run(t.Context(), message))(t)), 1)
		assert.False(t, got != nil && !json.Valid(got), "the tool got %q", got)
	})
}
