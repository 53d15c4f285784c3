package genai_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	belt "github.com/mcpbelt/mcpbelt/adapters/genai"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// answers returns a response with one candidate.
func answers(parts ...*genai.Part) *genai.GenerateContentResponse {
	return &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}}}
}

func calls(name, id string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
}

// A tool is native, and returns what a function does.
type tool struct {
	name, schema string
	call         func(args json.RawMessage) *mcp.CallToolResult
}

func (t tool) Definition() *registry.Definition {
	return &registry.Definition{Name: t.name, Description: "does " + t.name, InputSchema: json.RawMessage(t.schema)}
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
	return assert.Value(belt.Tools(t.Context(), reg, opts))(t)
}

func picture(t *testing.T) tool {
	png := assert.Value(base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))(t)
	return tool{"look", anything, func(json.RawMessage) *mcp.CallToolResult {
		return says(&mcp.TextContent{Text: "see:"}, &mcp.ImageContent{MIMEType: "image/png", Data: png},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7 it is")}})
	}}
}

// TestMediaByModel has images where the model takes them.
func TestMediaByModel(t *testing.T) {
	for _, test := range []struct {
		option, version string
		behind          bool
	}{
		{"", "", false},
		{"", "gemini-3-pro-preview", false},
		{"", "gemini-2.5-flash", true},
		{"", "publishers/google/models/gemini-2.0-flash-001", true},
		{"", "gemini-1.5-pro", true},
		{"", "models/gemini-3.5-flash", false},
		{"gemini-2.5-pro", "", true},
		{"models/gemini-2.5-pro", "gemini-3.5-flash", true},
		{"gemini-3.5-flash", "gemini-2.5-pro", false},
		{"gemini-flash-latest", "gemini-2.5-flash", false},
		{"projects/gemini-2/endpoints/123", "", false},
		{"tunedModels/like-gemini-2-or-1", "", false},
	} {
		tools := turn(t, &belt.Options{Model: test.option}, picture(t))
		response := answers(calls("look", "1", nil), calls("look", "2", nil))
		response.ModelVersion = test.version
		contents := assert.Value(tools.Run(t.Context(), response))(t)
		if got := len(contents) == 2; got != test.behind {
			t.Errorf("%+v: there are %d contents", test, len(contents))
			continue
		}
		assert.Equal(t, len(contents[0].Parts), 2, "%+v: responses", test)
		for _, p := range contents[0].Parts {
			text := p.FunctionResponse.Response["output"].(string)
			assert.Equal(t, len(p.FunctionResponse.Parts), map[bool]int{false: 2}[test.behind])
			assert.Equal(t, strings.Count(text, "attached]"), 2)
		}
		if test.behind && (len(contents[1].Parts) != 8 || contents[1].Parts[1].InlineData.MIMEType != "image/png" || contents[1].Parts[3].InlineData.MIMEType != "application/pdf") {
			t.Errorf("%+v: behind are %d parts", test, len(contents[1].Parts))
		}
	}
}

// TestTextOnly has no media at all for models that take none.
func TestTextOnly(t *testing.T) {
	contents, err := turn(t, &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, picture(t)).Run(t.Context(), answers(calls("look", "1", nil)))
	assert.False(t, err != nil || len(contents) != 1 || len(contents[0].Parts[0].FunctionResponse.Parts) != 0, "%+v, %v", contents, err)
}

// TestArguments has numbers and texts come as they are.
func TestArguments(t *testing.T) {
	var got string
	tools := turn(t, nil, tool{"take", anything, func(args json.RawMessage) *mcp.CallToolResult {
		got = string(args)
		return says()
	}})
	for _, test := range []struct {
		args map[string]any
		want string
	}{
		{nil, `{}`},
		{map[string]any{}, `{}`},
		{map[string]any{"n": float64(1 << 53), "f": 0.1, "z": nil, "s": "<ä\u2028\x00>"}, `{"f":0.1,"n":9007199254740992,"s":"\u003cä\u2028\u0000\u003e","z":null}`},
	} {
		assert.Value(tools.Run(t.Context(), answers(calls("take", "", test.args))))(t)
		assert.True(t, got == test.want, "the tool got %s, not %s", got, test.want)
	}
}

// TestNothingCalled has answers without calls.
func TestNothingCalled(t *testing.T) {
	tools := turn(t, nil)
	assert.True(t, tools.Params() == nil, "there are tools")
	for _, response := range []*genai.GenerateContentResponse{
		nil, {}, {Candidates: []*genai.Candidate{nil}}, {Candidates: []*genai.Candidate{{}}}, answers(nil, &genai.Part{}), answers(&genai.Part{Text: "hello"}),
		{Candidates: []*genai.Candidate{{}, answers(calls("second", "1", nil)).Candidates[0]}},
	} {
		if contents, err := tools.Run(t.Context(), response); contents != nil || err != nil {
			t.Errorf("%+v: %v, %v", response, contents, err)
		}
		_ = belt.Content(response)
	}
	if contents, err := tools.Run(t.Context()); contents != nil || err != nil || belt.Content() != nil || tools.Results() != nil {
		t.Errorf("of nothing comes %v, %v", contents, err)
	}
}

// TestEndings has answers that are none, and some that are.
func TestEndings(t *testing.T) {
	const malformed = genai.FinishReasonMalformedFunctionCall
	ended := func(reason genai.FinishReason, parts ...*genai.Part) *genai.GenerateContentResponse {
		r := answers(parts...)
		r.Candidates[0].FinishReason, r.Candidates[0].FinishMessage = reason, "print(default_api.look("
		return r
	}
	blocked := &genai.GenerateContentResponse{PromptFeedback: &genai.GenerateContentResponsePromptFeedback{BlockReason: genai.BlockedReasonSafety, BlockReasonMessage: "not this"}}
	tools := turn(t, nil, picture(t))
	for _, test := range []struct {
		chunks []*genai.GenerateContentResponse
		want   []string // in the error; none: there is no error
	}{
		//report: Models | langchain-ai/langgraph#6574, NousResearch/hermes-agent#83886, NousResearch/hermes-agent#83882, google-gemini/gemini-cli#11661 | Gemini writes a call that is none, ends with MALFORMED_FUNCTION_CALL and an empty answer, and the agent stops without a word | Run has an error with the reason and the message of the API
		{[]*genai.GenerateContentResponse{ended(malformed)}, []string{"MALFORMED_FUNCTION_CALL", "print(default_api.look("}},
		//report: Models | inngest/agent-kit#178 | such an answer has a content without parts, or none | the same
		{[]*genai.GenerateContentResponse{{Candidates: []*genai.Candidate{{FinishReason: malformed}}}}, []string{"MALFORMED_FUNCTION_CALL"}},
		{[]*genai.GenerateContentResponse{answers(&genai.Part{Text: "I look."}), ended(malformed)}, []string{"MALFORMED_FUNCTION_CALL"}},
		{[]*genai.GenerateContentResponse{ended(genai.FinishReasonUnexpectedToolCall)}, []string{"UNEXPECTED_TOOL_CALL"}},
		{[]*genai.GenerateContentResponse{blocked}, []string{"blocked", "SAFETY", "not this"}},
		{[]*genai.GenerateContentResponse{ended(malformed, calls("look", "1", nil))}, nil}, // whole calls are made
		{[]*genai.GenerateContentResponse{ended(genai.FinishReasonStop, &genai.Part{Text: "done"})}, nil},
		{[]*genai.GenerateContentResponse{ended(genai.FinishReasonMaxTokens, &genai.Part{Text: "do"})}, nil},
	} {
		contents, err := tools.Run(t.Context(), test.chunks...)
		if (err != nil) != (test.want != nil) {
			t.Errorf("got the error %v, want one with %q", err, test.want)
			continue
		}
		for _, text := range test.want {
			assert.Contains(t, err.Error(), text, "the error")
			assert.Equal(t, len(contents), 0, "contents")
		}
	}
}

// TestPieces has arguments in pieces, of which no call is made.
func TestPieces(t *testing.T) {
	ran := false
	tools := turn(t, nil, tool{"wipe", anything, func(json.RawMessage) *mcp.CallToolResult {
		ran = true
		return says()
	}})
	yes, text := true, "all"
	for name, parts := range map[string][]*genai.Part{
		"more to come": {calls("wipe", "0", nil), {FunctionCall: &genai.FunctionCall{Name: "wipe", WillContinue: &yes}}},
		"a first one":  {{FunctionCall: &genai.FunctionCall{Name: "wipe", PartialArgs: []*genai.PartialArg{{JsonPath: "$.what", StringValue: text}}}}},
		"a piece":      {{FunctionCall: &genai.FunctionCall{PartialArgs: []*genai.PartialArg{{JsonPath: "$.what", StringValue: text}}}}},
		"the end":      {{FunctionCall: &genai.FunctionCall{}}},
	} {
		contents, err := tools.Run(t.Context(), answers(parts...))
		if none, _ := tools.Calls(answers(parts...)); none != nil {
			t.Errorf("%s: the calls are %+v", name, none)
		}
		if err == nil || contents != nil || ran || !strings.Contains(err.Error(), "StreamFunctionCallArguments") {
			t.Errorf("%s: %v, %v, ran: %v", name, contents, err, ran)
		}
	}
	whole := calls("wipe", "1", nil)
	whole.FunctionCall.WillContinue = new(bool)
	if _, err := tools.Run(t.Context(), answers(whole)); err != nil || !ran {
		t.Errorf("a call to which nothing is to come: %v, ran: %v", err, ran)
	}
}

//report: Models | lbjlaq/Antigravity-Manager#3202, QwenLM/qwen-code#1187, langgenius/dify-official-plugins#2088, osaurus-ai/osaurus#322, MayDay-wpf/snow-cli#104 | Gemini 3 refuses a call whose signature does not come back | each part keeps its signature
//report: Models | vercel/ai#12402, google-gemini/gemini-cli#25808 | Gemini 3 sends a signature in a part with an empty text, which the SDK cannot send back | it goes with the part before, or else the one behind

// TestContent keeps every part that holds something, and nothing else.
func TestContent(t *testing.T) {
	holding := []*genai.Part{
		{Text: " "}, calls("look", "1", nil), {InlineData: &genai.Blob{}}, {FileData: &genai.FileData{}}, {FunctionResponse: &genai.FunctionResponse{}},
		{ExecutableCode: &genai.ExecutableCode{}}, {CodeExecutionResult: &genai.CodeExecutionResult{}}, {ToolCall: &genai.ToolCall{}}, {ToolResponse: &genai.ToolResponse{}},
	}
	chunks := []*genai.GenerateContentResponse{nil, {}, {Candidates: []*genai.Candidate{nil}}, answers()}
	for _, p := range holding {
		chunks = append(chunks, answers(&genai.Part{Thought: true, ThoughtSignature: []byte("of nothing")}, p, nil))
	}
	content := belt.Content(chunks...)
	assert.Equal(t, content.Role, genai.RoleModel, "role")
	assert.Equal(t, len(content.Parts), len(holding), "parts")
	for i, p := range content.Parts {
		signature := "of nothing"
		if i == len(holding)-1 { // each goes with the part before
			signature = ""
		}
		assert.Equal(t, string(p.ThoughtSignature), signature, "signature of part %d", i)
		p.ThoughtSignature = nil
		assert.True(t, reflect.DeepEqual(p, holding[i]), "got part")
	}
	assert.Equal(t, len(assert.Only(t, assert.Value(turn(t, nil, picture(t)).Run(t.Context(), chunks...))(t)).Parts), 1)
}

// TestModelStays has the answer with the calls say what the model is, whatever the
// program asks for before it has the results.
func TestModelStays(t *testing.T) {
	tools := turn(t, nil, picture(t))
	response := answers(calls("look", "1", nil))
	response.ModelVersion = "gemini-2.5-flash"
	made := assert.Value(tools.Calls(nil, &genai.GenerateContentResponse{}, &genai.GenerateContentResponse{Candidates: []*genai.Candidate{nil}}, response))(t)
	answered := assert.Value(tools.Turn.Run(t.Context(), made))(t)
	if none, err := tools.Calls(answers(&genai.Part{Text: "hello"})); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	contents := tools.Results(answered...)
	if len(contents) != 2 || contents[0].Role != genai.RoleUser || contents[1].Role != genai.RoleUser || len(contents[1].Parts[1].InlineData.Data) == 0 || contents[1].Parts[0].Text == "" {
		t.Errorf("%+v", contents)
	}
}

// TestCutOff has a model that came to its limit in a call.
func TestCutOff(t *testing.T) {
	var ran []string
	tools := turn(t, nil, tool{"wipe", anything, func(args json.RawMessage) *mcp.CallToolResult {
		ran = append(ran, string(args))
		return says()
	}})
	last := answers()
	last.Candidates[0].FinishReason = genai.FinishReasonMaxTokens
	contents, err := tools.Run(t.Context(), answers(calls("wipe", "1", map[string]any{"n": 1})), answers(calls("wipe", "2", nil)), last)
	if err != nil || len(ran) != 1 || len(contents[0].Parts) != 2 || contents[0].Parts[1].FunctionResponse.Response["error"] == nil {
		t.Errorf("%v, %v, ran %q", contents, err, ran)
	}
	ran = nil
	if _, err := tools.Run(t.Context(), answers(calls("wipe", "1", nil)), answers(&genai.Part{Text: "and"}), last); err != nil || len(ran) != 1 {
		t.Errorf("a call with a text behind it was cut off: %v, %q", err, ran)
	}
}

// TestEnded has a response to each call after the context has ended.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tools := turn(t, nil, tool{"stop", anything, func(json.RawMessage) *mcp.CallToolResult {
		cancel()
		return says(&mcp.TextContent{Text: "stopped"})
	}})
	contents, err := tools.Run(ctx, answers(calls("stop", "1", nil), calls("nobody", "2", nil)))
	if !errors.Is(err, context.Canceled) || len(contents) != 1 || len(contents[0].Parts) != 2 {
		t.Fatalf("%v, %v", contents, err)
	}
	for i, p := range contents[0].Parts {
		assert.Equal(t, p.FunctionResponse.ID, fmt.Sprint(i+1), "response %d", i)
		assert.Equal(t, len(p.FunctionResponse.Response), 1, "response %d", i)
	}
}

// TestResponseIsText has results that look like objects of the API: a $ref in a
// response is a reference to one of its parts.
func TestResponseIsText(t *testing.T) {
	const schema = `{"$ref":"#/$defs/a"}`
	tools := turn(t, nil, tool{"schema", anything, func(json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: json.RawMessage(schema)}
	}})
	contents := assert.Value(tools.Run(t.Context(), answers(calls("schema", "1", nil))))(t)
	assert.Equal(t, contents[0].Parts[0].FunctionResponse.Response["output"], schema)
}

// TestParams has what reaches the API of a schema, by the SDK's own way there.
func TestParams(t *testing.T) {
	name := "0_" + strings.Repeat("long_", 20)
	tools := turn(t, nil,
		tool{name, `{"type":"object","properties":{"n":{"type":["integer","null"],"minimum":1,"const":5,"$comment":"x"}},"required":["n"],"$schema":"https://json-schema.org/draft/2020-12/schema"}`, nil},
		tool{"bare", anything, nil})
	first, again := tools.Params(), tools.Params()
	assert.Equal(t, len(assert.Only(t, first).FunctionDeclarations), 2)
	first[0].FunctionDeclarations[0].Description = "changed"
	assert.False(t, again[0].FunctionDeclarations[0].Description == "changed", "who changes the params changes the turn")
	assert.False(t, tools.Params()[0].FunctionDeclarations[0].Description == "changed", "who changes the params changes the turn")
	for _, f := range again[0].FunctionDeclarations {
		data, err := json.Marshal(f)
		assert.False(t, err != nil || f.Name == name || bytes.Contains(data, []byte("comment")), "%s, %v", data, err)
	}
}

// TestNoSearch has all tools in the request: the API does not search.
func TestNoSearch(t *testing.T) {
	all := func(*registry.Definition) bool { return true }
	opts := &belt.Options{Turn: profile.TurnOptions{
		ProviderSearch: true, Toolset: &toolset.SetOptions{MaxTools: 1}, Options: profile.Options{Deferred: all},
	}}
	tools := turn(t, opts, picture(t), tool{"bare", anything, nil})
	if got := tools.Params()[0].FunctionDeclarations; len(got) != 2 || tools.Set().Searching() {
		t.Errorf("the model is told of %d tools; searching: %v", len(got), tools.Set().Searching())
	}
}

// TestTogether has many use a turn at the same time.
func TestTogether(t *testing.T) {
	tools := turn(t, nil, picture(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			response := answers(calls("look", fmt.Sprint(i), nil))
			response.ModelVersion = "gemini-2.5-flash"
			contents, err := tools.Run(t.Context(), response)
			assert.False(t, err != nil || contents[0].Parts[0].FunctionResponse.ID != fmt.Sprint(i) || len(contents) != 2, "%v, %v", contents, err)
			_ = tools.Params()
		})
	}
	wg.Wait()
}

// TestChatStreamLosesSignatures: the SDK's own stream of a chat keeps a content for each chunk, in which
// the second call has no signature. Once this fails, the docs may praise SendStream.
func TestChatStreamLosesSignatures(t *testing.T) {
	model := adaptertest.NewModel(t, adaptertest.Gemini{})
	reply := func(r adaptertest.Reply) func(*adaptertest.Request) adaptertest.Reply {
		return func(*adaptertest.Request) adaptertest.Reply { return r }
	}
	model.Then(reply(adaptertest.Reply{Calls: []adaptertest.Call{{ID: "1", Name: "look", Arguments: json.RawMessage(`{}`)}, {ID: "2", Name: "look", Arguments: json.RawMessage(`{}`)}}}),
		reply(adaptertest.Reply{Text: "done"}))
	tools := turn(t, nil, picture(t))
	chat := assert.Value(dial(t, model.URL, genai.BackendGeminiAPI).Chats.Create(t.Context(), "scripted", &genai.GenerateContentConfig{Tools: tools.Params()}, nil))(t)
	var chunks []*genai.GenerateContentResponse
	for chunk, err := range chat.SendStream(t.Context(), &genai.Part{Text: "look"}) {
		assert.OK(t, err)
		chunks = append(chunks, chunk)
	}
	results := assert.Value(tools.Run(t.Context(), chunks...))(t)
	for _, err := range chat.SendStream(t.Context(), results[0].Parts...) {
		assert.Fails(t, err, "the model takes it")
	}
	assert.Equal(t, len(model.Refused()), 1, "refused")
}
