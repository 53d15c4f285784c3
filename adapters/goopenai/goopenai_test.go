package goopenai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/goopenai"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a loop as users of go-openai write it.
func start(opts *belt.Options, stream bool) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		config := openai.DefaultConfig("key")
		config.BaseURL = url
		client := openai.NewClientWithConfig(config)
		return &adaptertest.Loop[openai.ChatCompletionMessage, openai.ChatCompletionChoice, *belt.Turn]{
			Append: belt.Append, Message: belt.Message,
			Tools: func(ctx context.Context) (*belt.Turn, error) { return belt.Tools(ctx, r, opts) },
			User: func(text string) openai.ChatCompletionMessage {
				return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
			},
			Text: func(choice openai.ChatCompletionChoice) string { return choice.Message.Content },
			Send: func(ctx context.Context, tools *belt.Turn, messages []openai.ChatCompletionMessage) (choice openai.ChatCompletionChoice, _ error) {
				request := openai.ChatCompletionRequest{Model: "scripted", Messages: messages, Tools: tools.Params()}
				if stream {
					return streamed(ctx, client, request)
				}
				response, err := client.CreateChatCompletion(ctx, request)
				if err == nil {
					choice = response.Choices[0]
				}
				return choice, err
			},
		}
	}
}

func TestChat(t *testing.T) {
	for runtime, stream := range map[string]bool{"Chat": false, "ChatStream": true} {
		t.Run(runtime, func(t *testing.T) {
			adaptertest.Test(t, adaptertest.Adapter{
				Name: "goopenai", Runtime: runtime, Framework: "github.com/sashabaranov/go-openai",
				Wire: adaptertest.OpenAIChat{}, Start: start(nil, stream), Interrupt: "`WaitingError`",
			})
		})
	}
}

// Strict mode has the model write schemas' own forms, which are turned back.
func TestStrict(t *testing.T) {
	model := adaptertest.NewModel(t, adaptertest.OpenAIChat{})
	var told []adaptertest.Tool
	model.Then(func(req *adaptertest.Request) adaptertest.Reply {
		told = req.Tools
		return adaptertest.Reply{Calls: []adaptertest.Call{{ID: "1", Name: "note", Arguments: []byte(`{"text":"x","tags":null}`)}}}
	}, func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
	var got []string
	r := registry.New(nil)
	assert.OK(t, r.Add(registry.MustFunc("note", "notes", func(_ context.Context, in struct {
		Text string   `json:"text"`
		Tags []string `json:"tags,omitempty"`
	}) (string, error) {
		got = append(got, in.Text)
		return "noted", nil
	})))
	turn, err := start(&belt.Options{Strict: true}, false)(t, r, model.URL).Ask(t.Context(), "note it")
	if err != nil || turn.Text != "done" || len(got) != 1 || got[0] != "x" || len(model.Refused()) > 0 {
		t.Errorf("%+v, %v, the tool got %q; refused: %q", turn, err, got, model.Refused())
	}
	assert.Contains(t, string(assert.Only(t, told).Schema), `"required":["text","tags"]`, "the model is told")
	for _, strict := range []bool{true, false} {
		assert.Equal(t, assert.Value(belt.Tools(t.Context(), r, &belt.Options{Strict: strict}))(t).Params()[0].Function.Strict, strict, "strict")
	}
}

// What a program keeps of one turn it may use for another message, at any time.
func TestTurnsAtTheSameTime(t *testing.T) {
	r := registry.New(nil)
	assert.OK(t, r.Add(registry.MustFunc("double", "doubles", func(_ context.Context, in struct{ N int }) (int, error) { return 2 * in.N, nil })))
	tools := assert.Value(belt.Tools(t.Context(), r, nil))(t)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			id := fmt.Sprintf("call_%d", i)
			results, err := tools.Run(t.Context(), openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{ToolCalls: []openai.ToolCall{
				{ID: id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "double", Arguments: fmt.Sprintf(`{"N":%d}`, i)}},
			}}})
			if err != nil || len(results) != 1 || results[0].ToolCallID != id || results[0].Content != fmt.Sprint(2*i) {
				t.Errorf("call %d: %+v, %v", i, results, err)
			}
		})
	}
	wg.Wait()
}

// The API has neither a search nor programs, and takes descriptions of 1,024 characters.
func TestOptionsOfOtherAPIs(t *testing.T) {
	r := registry.New(nil)
	assert.OK(t, r.Add(registry.MustFunc("a", strings.Repeat("a", 2000), func(context.Context, struct{}) (string, error) { return "", nil }),
		registry.MustFunc("b", "b", func(context.Context, struct{}) (string, error) { return "", nil })))
	for _, turn := range []profile.TurnOptions{
		{ProviderSearch: true, Toolset: &toolset.SetOptions{MaxTokens: 1, Always: func(*registry.Definition, registry.Hints) bool { return false }}},
		{Options: profile.Options{Deferred: func(*registry.Definition) bool { return true }}},
		{Options: profile.Options{AllowedCallers: func(*registry.Definition) []string { return []string{"programmatic"} }}},
	} {
		tools, err := belt.Tools(t.Context(), r, &belt.Options{Turn: turn})
		if err != nil || tools.Set().Searching() || tools.Set().Programs() || len(tools.Params()) != 2 || utf8.RuneCountInString(tools.Params()[0].Function.Description) > 1024 {
			t.Errorf("%+v, %v", tools.Params(), err)
		}
	}
}

// Images go behind the results, each with the line that its result has; files are lines.
func TestMedia(t *testing.T) {
	tools := assert.Value(belt.Tools(t.Context(), registry.New(nil), nil))(t)
	gif := []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")
	messages := tools.Results(profile.Answer{Call: profile.Call{ID: "1"}, Result: &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7 and more")}},
		&mcp.ImageContent{MIMEType: "image/png", Data: gif},
	}}})
	if len(messages) != 2 || len(messages[1].MultiContent) != 2 {
		t.Fatalf("%+v", messages)
	}
	line, image := messages[1].MultiContent[0].Text, messages[1].MultiContent[1].ImageURL.URL
	assert.False(t, line == "")
	assert.True(t, strings.HasSuffix(messages[0].Content, "[binary application/pdf, 17 bytes]\n"+line))
	assert.True(t, strings.HasPrefix(image, "data:image/gif;base64,R0lGODlh"))
}

// What a model wrote stands in the conversation from then on, and must not make the API
// refuse it.
func TestMessage(t *testing.T) {
	index := 0
	choice := openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{ToolCalls: []openai.ToolCall{
		{Index: &index, ID: "1", Function: openai.FunctionCall{Name: "a", Arguments: `{"n":1.0}`}},
		{ID: "2", Type: "custom"},
	}}}
	data, err := json.Marshal(belt.Message(choice))
	const want = `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{\"n\":1.0}"}},{"id":"2","type":"custom","function":{}}]}`
	assert.False(t, err != nil || string(data) != want, "%s, %v", data, err)
	assert.False(t, choice.Message.ToolCalls[0].Index == nil || choice.Message.Role != "", "the choice became %+v", choice)
}

// A call without arguments looks like one that was cut off before them.
func TestCallThatWasCutOff(t *testing.T) {
	ran := 0
	r := registry.New(nil)
	assert.OK(t, r.Add(registry.MustFunc("wipe", "wipes", func(context.Context, struct{}) (string, error) { ran++; return "ok", nil })))
	tools := assert.Value(belt.Tools(t.Context(), r, &belt.Options{Turn: profile.TurnOptions{MaxParallel: 1}}))(t)
	call := openai.ToolCall{ID: "1", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "wipe"}}
	for reason, want := range map[openai.FinishReason]int{openai.FinishReasonLength: 1, openai.FinishReasonContentFilter: 1, "": 1, openai.FinishReasonToolCalls: 2} {
		ran = 0
		// The first of them was complete: the model went on to another.
		results, err := tools.Run(t.Context(), openai.ChatCompletionChoice{FinishReason: reason, Message: openai.ChatCompletionMessage{ToolCalls: []openai.ToolCall{call, call}}})
		assert.False(t, err != nil || len(results) != 2 || ran != want, "after %s %d calls ran: %v, %v", reason, ran, results, err)
	}
}

// A call of another kind is the program's own.
func TestOtherCalls(t *testing.T) {
	tools := assert.Value(belt.Tools(t.Context(), registry.New(nil), nil))(t)
	choice := openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{ToolCalls: []openai.ToolCall{{ID: "1", Function: openai.FunctionCall{Name: "a"}}}}}
	if calls := tools.Calls(choice); len(calls) != 1 || calls[0].Name != "a" { // a stream may not say the type
		t.Errorf("%+v", calls)
	}
	if results, err := tools.Run(t.Context(), openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{ToolCalls: []openai.ToolCall{{ID: "1", Type: "custom"}}}}); results != nil || err != nil {
		t.Errorf("%+v, %v", results, err)
	}
	assert.False(t, tools.Params() != nil || tools.Results() != nil, "of nothing comes something")
}
