package openai_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	belt "github.com/mcpbelt/mcpbelt/adapters/openai"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func pngData() []byte {
	data, _ := base64.StdEncoding.DecodeString(png)
	return data
}

// picture is a result with an image between texts.
func picture(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: text}, &mcp.ImageContent{MIMEType: "image/png", Data: pngData()}, &mcp.TextContent{Text: "after"},
	}}
}

// paper is a result that is a PDF file at an address.
func paper(uri string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{
		Resource: &mcp.ResourceContents{URI: uri, MIMEType: "application/pdf", Blob: []byte("%PDF-1.7 paper")},
	}}}
}

// response decodes a response with some items.
func response(t testing.TB, items ...string) *responses.Response {
	t.Helper()
	return decoded[responses.Response](t, `{"id":"resp_1","status":"completed","output":[`+strings.Join(items, ",")+`]}`)
}

func decoded[T any](t testing.TB, text string) *T {
	t.Helper()
	var v T
	assert.OK(t, json.Unmarshal([]byte(text), &v))
	return &v
}

// call is an item that calls a function; more are further members.
func call(id, name, args string, more ...string) string {
	text, _ := json.Marshal(args)
	item := fmt.Sprintf(`"type":"function_call","id":"fc_%s","call_id":%q,"name":%q,"arguments":%s`, id, id, name, text)
	return "{" + strings.Join(append([]string{item}, more...), ",") + "}"
}

// choice decodes a choice of Chat Completions with some calls.
func choice(t testing.TB, reason string, calls ...string) openai.ChatCompletionChoice {
	t.Helper()
	return *decoded[openai.ChatCompletionChoice](t, `{"index":0,"finish_reason":"`+reason+`","message":{"role":"assistant","content":null,"tool_calls":[`+strings.Join(calls, ",")+`]}}`)
}

func chatCall(id, name, args string) string {
	text, _ := json.Marshal(args)
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, id, name, text)
}

// TestOthersCalls has a response with all that is not for the registry.
func TestOthersCalls(t *testing.T) {
	ran := make(chan string, 8)
	find := tool("find", `{"type":"object"}`, says("found"))
	find.args = ran
	turn := responseTools(t, nil, find)
	r := response(t,
		`{"type":"reasoning","id":"rs_1","summary":[]}`,
		`{"type":"tool_search_call","id":"tsc_1","call_id":null,"execution":"server","status":"completed","arguments":{"paths":["find"]}}`,
		`{"type":"tool_search_output","id":"tso_1","call_id":null,"execution":"server","status":"completed","tools":[{"type":"function","name":"find","parameters":{"type":"object"},"strict":false}]}`,
		call("1", "find", `{}`, `"namespace":"find"`),
		call("2", "find", `{}`, `"namespace":"crm"`),
		`{"type":"custom_tool_call","id":"ctc_1","call_id":"3","name":"find","input":"{}"}`,
		`{"type":"mcp_call","id":"mcp_1","name":"find","arguments":"{}","server_label":"other"}`,
		`{"type":"shell_call","id":"sh_1","call_id":"4","action":{"commands":["ls"]},"status":"completed"}`,
		`{"type":"of_the_future","id":"x_1","call_id":"5","name":"find","arguments":"{}"}`,
		`{"type":"function_call_output","id":"fco_1","call_id":"6","output":"x"}`,
	)
	results, err := turn.Run(t.Context(), r)
	if got := marshaled(t, results); err != nil || got != `[{"output":"found","call_id":"1","type":"function_call_output"}]` {
		t.Errorf("%s, %v", got, err)
	}
	assert.Equal(t, len(ran), 1, "calls ran")
	results, err = turn.Run(t.Context(), response(t, `{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`))
	assert.False(t, results != nil || err != nil, "a refusal: %v, %v", results, err)
	if results, err = turn.Run(t.Context(), nil); results != nil || err != nil {
		t.Errorf("nothing: %v, %v", results, err)
	}

	chat := chatTools(t, nil, tool("find", `{"type":"object"}`, says("found")))
	messages, err := chat.Run(t.Context(), choice(t, "tool_calls",
		`{"id":"1","type":"custom","custom":{"name":"find","input":"{}"}}`, chatCall("2", "find", "")))
	if got := marshaled(t, messages); err != nil || got != `[{"content":"found","tool_call_id":"2","role":"tool"}]` {
		t.Errorf("%s, %v", got, err)
	}
	if messages, err = chat.Run(t.Context(), openai.ChatCompletionChoice{}); messages != nil || err != nil {
		t.Errorf("nothing: %v, %v", messages, err)
	}
}

// TestCutOff has calls that the model did not write to their end. That there are no
// arguments does not mean that the model wanted none.
func TestCutOff(t *testing.T) {
	wipe := func(t *testing.T) (*fixed, chan string) {
		ran := make(chan string, 8)
		f := tool("wipe", `{"type":"object"}`, says("wiped"))
		f.args = ran
		return f, ran
	}
	for _, test := range []struct {
		name, status, item string
		runs               bool
	}{
		{"whole", "completed", `"completed"`, true},
		{"no status", "completed", `""`, true},
		{"incomplete item", "completed", `"incomplete"`, false},
		{"item in progress", "completed", `"in_progress"`, false},
		{"last of an incomplete response", "incomplete", `"completed"`, false},
		{"no status of the response", "", `"completed"`, true},
	} {
		f, ran := wipe(t)
		r := response(t, call("1", "wipe", "", `"status":`+test.item))
		r.Status = responses.ResponseStatus(test.status)
		results, err := responseTools(t, nil, f).Run(t.Context(), r)
		if got := marshaled(t, results); err != nil || len(results) != 1 || len(ran) == 1 != test.runs || strings.Contains(got, "cut off") == test.runs {
			t.Errorf("%s: %s, %v, ran %d times", test.name, got, err, len(ran))
		}
	}
	f, ran := wipe(t)
	r := response(t, call("1", "wipe", ``, `"status":"completed"`), call("2", "wipe", `{}`, `"status":"completed"`))
	r.Status = responses.ResponseStatusIncomplete // behind the calls
	if results, err := responseTools(t, nil, f).Run(t.Context(), r); err != nil || len(results) != 2 || len(ran) != 2 {
		t.Errorf("calls that were complete: %s, %v, ran %d times", marshaled(t, results), err, len(ran))
	}
	for _, test := range []struct {
		reason, args string
		runs         int
	}{{"tool_calls", ``, 2}, {"length", ``, 1}, {"length", `{"a":`, 1}, {"content_filter", ``, 1}, {"length", `{}`, 2},
		{"", ``, 1}, {"", `{}`, 2}, {"stop", ``, 2}} { // a stream that broke off has no reason
		f, ran := wipe(t)
		results := assert.Value(chatTools(t, nil, f).Run(t.Context(), choice(t, test.reason, chatCall("1", "wipe", ""), chatCall("2", "wipe", test.args))))(t)
		assert.Equal(t, len(results), 2)
		assert.Equal(t, len(ran), test.runs)
	}
}

// TestCutOffWithoutArguments has an endpoint that sends null, or no type.
func TestCutOffWithoutArguments(t *testing.T) {
	for reason, runs := range map[string]int{"length": 0, "tool_calls": 1} {
		ran := make(chan string, 1)
		f := tool("wipe", `{"type":"object"}`, says("wiped"))
		f.args = ran
		results, err := chatTools(t, nil, f).Run(t.Context(), choice(t, reason, `{"id":"1","function":{"name":"wipe","arguments":null}}`))
		assert.False(t, err != nil || len(results) != 1 || len(ran) != runs, "%s: %s, %v, ran %d times", reason, marshaled(t, results), err, len(ran))
	}
}

// TestNotOver has responses that cannot be gone on with.
func TestNotOver(t *testing.T) {
	for _, status := range []string{"failed", "cancelled", "in_progress", "queued"} {
		ran := make(chan string, 1)
		f := tool("wipe", `{"type":"object"}`, says("wiped"))
		f.args = ran
		r := response(t, call("1", "wipe", `{}`, `"status":"completed"`))
		r.Status = responses.ResponseStatus(status)
		if results, err := responseTools(t, nil, f).Run(t.Context(), r); results != nil || err != nil || len(ran) != 0 {
			t.Errorf("%s: %s, %v, ran %d times", status, marshaled(t, results), err, len(ran))
		}
	}
}

// TestArgumentsThatAreNoString has an endpoint that sends JSON where the API sends it
// in a string.
func TestArgumentsThatAreNoString(t *testing.T) {
	args := make(chan string, 2)
	f := tool("find", `{"type":"object","properties":{"q":{"type":"string"}}}`, says("found"))
	f.args = args
	assert.Value(responseTools(t, nil, f).Run(t.Context(), response(t, `{"type":"function_call","call_id":"1","name":"find","arguments":{"q":"x"}}`)))(t)
	assert.Equal(t, <-args, `{"q":"x"}`, "the tool")
	assert.Value(chatTools(t, nil, f).Run(t.Context(), choice(t, "tool_calls", `{"id":"1","type":"function","function":{"name":"find","arguments":{"q":"x"}}}`)))(t)
	assert.Equal(t, <-args, `{"q":"x"}`, "the tool")
}

// TestCallers has the API get back who called, as it came, and programs what they were
// told that they get.
func TestCallers(t *testing.T) {
	count := tool("count", `{"type":"object"}`, &mcp.CallToolResult{
		StructuredContent: json.RawMessage(`{"n": 42}`),
		Content:           []mcp.Content{&mcp.TextContent{Text: "forty-two"}, &mcp.ImageContent{MIMEType: "image/png", Data: pngData()}},
	})
	count.def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	broken := tool("broken", `{"type":"object"}`, &mcp.CallToolResult{
		IsError: true, StructuredContent: json.RawMessage(`{"n":0}`), Content: []mcp.Content{&mcp.TextContent{Text: "the disk is full"}},
	})
	broken.def.OutputSchema = count.def.OutputSchema
	loose := says("no schema")
	loose.StructuredContent = json.RawMessage(`{"n":7}`)
	words := tool("words", `{"type":"object"}`, loose)
	opts := programmatic()
	program := `"caller":{"type":"program","caller_id":"prog_1","of":"the future"}`
	results := assert.Value(responseTools(t, opts, count, broken, words).Run(t.Context(), response(t,
		call("1", "count", `{}`, program), call("2", "count", `{}`, `"caller":{"type":"direct"}`), call("3", "count", `{}`, `"caller":null`),
		call("4", "broken", `{}`, program), call("5", "words", `{}`, program))))(t)
	const image = `{"image_url":"data:image/png;base64,` + png + `","type":"input_image"}`
	for i, want := range []string{
		`{"output":"{\"n\": 42}","call_id":"1",` + program + `,"type":"function_call_output"}`,
		`{"output":[{"text":"forty-two","type":"input_text"},` + image + `],"call_id":"2","caller":{"type":"direct"},"type":"function_call_output"}`,
		`{"output":[{"text":"forty-two","type":"input_text"},` + image + `],"call_id":"3","type":"function_call_output"}`,
		`{"output":"The tool failed:\nthe disk is full","call_id":"4",` + program + `,"type":"function_call_output"}`,
		`{"output":"no schema","call_id":"5",` + program + `,"type":"function_call_output"}`,
	} {
		assert.Equal(t, marshaled(t, results[i]), want, "result %d is", i)
	}
}

// TestMedia has images and files of several calls.
func TestMedia(t *testing.T) {
	look := tool("look", `{"type":"object"}`, picture("before"))
	read := tool("read", `{"type":"object"}`, paper("file:///docs/the%20plan.pdf"))
	results, err := responseTools(t, nil, look, read).Run(t.Context(), response(t, call("1", "look", `{}`), call("2", "read", `{}`)))
	const (
		image = `data:image/png;base64,` + png
		file  = `data:application/pdf;base64,JVBERi0xLjcgcGFwZXI=`
	)
	want := `[{"output":[{"text":"before","type":"input_text"},{"image_url":"` + image + `","type":"input_image"},{"text":"after","type":"input_text"}],"call_id":"1","type":"function_call_output"},` +
		`{"output":[{"file_data":"` + file + `","filename":"the plan.pdf","type":"input_file"}],"call_id":"2","type":"function_call_output"}]`
	if got := marshaled(t, results); err != nil || got != want {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, want, err)
	}
	messages, err := chatTools(t, nil, look, read).Run(t.Context(), choice(t, "tool_calls", chatCall("1", "look", `{}`), chatCall("2", "read", `{}`)))
	if err != nil || len(messages) != 3 || messages[0].OfTool == nil || messages[1].OfTool == nil || messages[2].OfUser == nil {
		t.Fatalf("%s, %v", marshaled(t, messages), err)
	}
	if got := messages[0].OfTool.Content.OfString.Value; !strings.Contains(got, "before\n[image image/png") || !strings.Contains(got, "attached]\nafter") {
		t.Errorf("the text is %q", got)
	}
	parts := messages[2].OfUser.Content.OfArrayOfContentParts
	if len(parts) != 4 || parts[1].OfImageURL.ImageURL.URL != image || parts[3].OfFile.File.FileData.Value != file || parts[3].OfFile.File.Filename.Value != "the plan.pdf" {
		t.Errorf("the user's message is %s", marshaled(t, messages[2]))
	}
}

// TestFileNames has addresses that a server makes up.
func TestFileNames(t *testing.T) {
	for uri, want := range map[string]string{
		"": "file.pdf", "file:///a/b.PDF": "b.PDF", "https://x.test/get?f=c.pdf": "file.pdf", "file:///": "file.pdf", "%zz": "file.pdf",
		"file:///a%2f..%2fb.pdf": "b.pdf", "file:///.pdf": "file.pdf", "file:///a%00.pdf": "file.pdf", "file:///..%5Cx.pdf": "file.pdf",
		"file:///" + strings.Repeat("a", 300) + ".pdf": "file.pdf", "file:///a%0d%0a.pdf": "file.pdf", "file:///a%7f.pdf": "file.pdf", "mailto:x.pdf": "file.pdf", "file:///%ff.pdf": "file.pdf",
	} {
		results, err := responseTools(t, nil, tool("read", `{"type":"object"}`, paper(uri))).Run(t.Context(), response(t, call("1", "read", `{}`)))
		if got := marshaled(t, results); err != nil || !strings.Contains(got, `"filename":"`+want+`"`) {
			t.Errorf("%q: %s, %v", uri, got, err)
		}
	}
}

// TestDirect has a result that is for the user.
func TestDirect(t *testing.T) {
	show := tool("show", `{"type":"object"}`, picture("for your eyes"))
	show.def.ReturnDirect = true
	var direct []profile.Answer
	opts := &belt.Options{Turn: profile.TurnOptions{Direct: func(_ context.Context, a profile.Answer) { direct = append(direct, a) }}}
	results, err := responseTools(t, opts, show).Run(t.Context(), response(t, call("1", "show", `{}`)))
	if got := marshaled(t, results); err != nil || strings.Contains(got, "eyes") || !strings.Contains(got, result.Withheld) {
		t.Errorf("the model gets %s, %v", got, err)
	}
	assert.False(t, len(direct) != 1 || direct[0].Call.ID != "1" || len(direct[0].Direct.Content) != 3, "the user gets %+v", direct)
}

// TestEnded has a context that has ended: there is a result for each call.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user has gone")
	cancel(cause)
	ran := make(chan string, 4)
	find := tool("find", `{"type":"object"}`, says("found"))
	find.args = ran
	results, err := responseTools(t, nil, find).Run(ctx, response(t, call("1", "find", `{}`), call("2", "find", `{}`)))
	if !errors.Is(err, cause) || len(results) != 2 || results[1].OfFunctionCallOutput.CallID.Value != "2" {
		t.Errorf("%s, %v", marshaled(t, results), err)
	}
	messages, err := chatTools(t, nil, find).Run(ctx, choice(t, "tool_calls", chatCall("1", "find", `{}`), chatCall("2", "find", `{}`)))
	assert.False(t, !errors.Is(err, cause) || len(messages) != 2 || messages[1].OfTool.ToolCallID != "2", "%s, %v", marshaled(t, messages), err)
	assert.False(t, len(ran) > 0, "calls ran")
}

// TestInput has what a response says come back as it was, but for what the API does
// not take.
func TestInput(t *testing.T) {
	as := []string{
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","of_the_future":{"b":1,"a":12345678901234567890}}`,
		`{"id":"pr_1","type":"program","call_id":"prog_1","code":"x","fingerprint":"opaque"}`,
		call("1", "find", `{"q":"<é>"}`, `"status":"completed"`, `"namespace":"find"`, `"caller":{"type":"program","caller_id":"prog_1"}`),
		`{"type":"of_the_future","x":[null]}`,
	}
	items := belt.Input(response(t, as...))
	for i, want := range as {
		assert.Equal(t, escaped(marshaled(t, items[i])), escaped(want), "item %d is", i)
	}
	items = belt.Input(response(t, `{"type":"tool_search_output","id":"tso_1","call_id":null,"created_by":"x","tools":[]}`))
	assert.Equal(t, marshaled(t, items), `[{"id":"tso_1","tools":[],"type":"tool_search_output"}]`)
	thought := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`
	if got := marshaled(t, belt.Input(response(t, thought, call("1", "find", `{}`), thought, thought))); strings.Count(got, "reasoning") != 1 || !strings.Contains(got, "find") {
		t.Errorf("nothing stands behind the reasoning: %s", got)
	}
	if got := belt.Input(response(t, thought)); got != nil {
		t.Errorf("reasoning alone is %s", marshaled(t, got))
	}
	for args, want := range map[string]string{`""`: `"{}"`, `"{\"q\":"`: `"{}"`, `"[1]"`: `"{}"`, `{"q": 1}`: `"{\"q\": 1}"`} {
		got := marshaled(t, belt.Input(response(t, `{"type":"function_call","id":"fc_1","call_id":"1","name":"find","arguments":`+args+`}`)))
		assert.Equal(t, escaped(got), `[{"arguments":`+want+`,"call_id":"1","id":"fc_1","name":"find","type":"function_call"}]`, "of the arguments %s: %s", args, got)
	}
	assert.True(t, belt.Input(nil) == nil, "nothing says something")
}

// TestMembersOfOthers has what the SDK has no field for back in the conversation, of an answer in
// one piece and of a stream.
func TestMembersOfOthers(t *testing.T) {
	const call = `{"id":"1","type":"function","function":{"name":"find","arguments":"{}"}`
	for in, want := range map[string]string{
		//report: Models | abhigyanpatwari/GitNexus#43, qwersyk/Newelle#404, SillyTavern/SillyTavern#4857, openai/openai-agents-python#2155, anomalyco/opencode#24722 | DeepSeek and Kimi refuse a call whose reasoning_content does not come back | it comes back, also of a stream
		`"reasoning_content":"hm","tool_calls":[` + call + `}]`: `{"tool_calls":[{"id":"1","function":{"arguments":"{}","name":"find"},"type":"function"}],"role":"assistant","reasoning_content":"hm"}`,
		//report: Models | earendil-works/pi#989, anomalyco/opencode#4367, doofinder/llm_composer#82 | OpenRouter wants reasoning_details back as they were, not only those that are encrypted | they come back whole
		`"reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}],"tool_calls":[` + call + `}]`: `{"tool_calls":[{"id":"1","function":{"arguments":"{}","name":"find"},"type":"function"}],"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}`,
		//report: Models | langroid/langroid#969, securo-finance/securo#884, Gitlawb/openclaude#67 | Gemini's compatible endpoint has a signature in the extra_content of a call, and refuses the call without it | it comes back
		`"tool_calls":[` + call + `,"extra_content":{"google":{"thought_signature":"s"}}}]`: `{"tool_calls":[{"id":"1","function":{"arguments":"{}","name":"find"},"type":"function","extra_content":{"google":{"thought_signature":"s"}}}],"role":"assistant"}`,
		//report: Models | vercel/ai#8057 | Groq's models that do not reason refuse the member, even if it is null or was there for another model | what is null is not sent
		`"content":"a","reasoning":null`: `{"content":"a","role":"assistant"}`,
		//report: Models | janhq/jan#8136, NousResearch/hermes-agent#11089, karthink/gptel#774, tashfeenahmed/freellmapi#1070 | Groq refuses reasoning_content, which it has not written | only what the API itself wrote comes back; a conversation that goes on with another provider has to be made anew, which the page says
		`"content":"b"`: `{"content":"b","role":"assistant"}`,
	} {
		message := `{"role":"assistant",` + in + `}`
		said := *decoded[openai.ChatCompletionChoice](t, `{"finish_reason":"stop","message":`+message+`}`)
		assert.Equal(t, canonical(t, marshaled(t, belt.Message(said))), canonical(t, want), "of %s", in)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", message)
		}))
		c := client(server.URL)
		streamed, err := belt.Collect(c.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{}), nil)
		server.Close()
		assert.OK(t, err)
		assert.Equal(t, canonical(t, marshaled(t, belt.Message(streamed))), canonical(t, want), "streamed: of %s", in)
	}
}

// canonical is JSON with its members sorted.
func canonical(t *testing.T, text string) string {
	t.Helper()
	return marshaled(t, *decoded[any](t, text))
}

// TestMessage has what a model wrote back in the conversation.
func TestMessage(t *testing.T) {
	for call, want := range map[string]string{
		chatCall("1", "find", `{"n":1.0}`):                                            `{"id":"1","function":{"arguments":"{\"n\":1.0}","name":"find"},"type":"function"}`,
		chatCall("1", "find", ``):                                                     `{"id":"1","function":{"arguments":"{}","name":"find"},"type":"function"}`,
		chatCall("1", "find", `{"n":`):                                                `{"id":"1","function":{"arguments":"{}","name":"find"},"type":"function"}`,
		`{"id":"1","function":{"name":"find","arguments":"{}"}}`:                      `{"id":"1","function":{"arguments":"{}","name":"find"},"type":"function"}`,
		`{"id":"1","type":"function","function":{"name":"find","arguments":{"n":1}}}`: `{"id":"1","function":{"arguments":"{\"n\":1}","name":"find"},"type":"function"}`,
		`{"id":"1","type":"custom","custom":{"name":"sh","input":"ls"}}`:              `{"id":"1","custom":{"input":"ls","name":"sh"},"type":"custom"}`,
	} {
		assert.Equal(t, marshaled(t, belt.Message(choice(t, "tool_calls", call))), `{"tool_calls":[`+want+`],"role":"assistant"}`, "of %s", call)
	}
	assert.Equal(t, marshaled(t, belt.Message(openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{Content: "a", Refusal: "b"}})), `{"refusal":"b","content":"a","role":"assistant"}`, "words")
}

// TestSharedTurn has many conversations with one registry while its tools change.
func TestSharedTurn(t *testing.T) {
	reg := filled(t, tool("find", `{"type":"object"}`, picture("x")))
	shared := assert.Value(belt.ResponseTools(t.Context(), reg, nil))(t)
	r := response(t, call("1", "find", `{}`), call("2", "late", `{}`))
	said := choice(t, "tool_calls", chatCall("1", "find", `{}`), chatCall("2", "late", `{}`))
	late := tool("late", `{"type":"object"}`, says("late"))
	late.def.Origin = registry.Origin{Server: "srv", Tool: "late"}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				if results, err := shared.Run(t.Context(), r); err != nil || len(results) != 2 {
					t.Errorf("%d results, %v", len(results), err)
				}
				shared.Params()
				chat, err := belt.ChatTools(t.Context(), reg, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if messages, err := chat.Run(t.Context(), said); err != nil || len(messages) < 3 {
					t.Errorf("%d messages, %v", len(messages), err)
				}
				if i == 0 {
					if _, err := reg.Replace(registry.Server{Name: "srv"}, []registry.Tool{late}[n%2:]); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func FuzzArguments(f *testing.F) {
	for _, args := range []string{``, `{}`, `{"q":"x"}`, `null`, `[]`, `{"q":`, "\x00", `"{}"`, `{"q":1e999}`, `{"q":"\ud800"}`, strings.Repeat("[", 100_000)} {
		f.Add(args)
	}
	find := tool("find", `{"type":"object","properties":{"q":{"type":"string"}}}`, says("found"))
	strict := responseTools(f, &belt.Options{Strict: true}, find)
	chat := chatTools(f, nil, find)
	f.Fuzz(func(t *testing.T, args string) {
		assert.False(t, assert.Only(t, assert.Value(strict.Run(t.Context(), response(t, call("1", "find", args))))(t)).OfFunctionCallOutput.Output.OfString.Value == "")
		messages := chat.Results(profile.Answer{Call: profile.Call{ID: args}, Result: says(args)})
		if len(messages) != 1 || !json.Valid([]byte(marshaled(t, messages))) || messages[0].OfTool.Content.OfString.Value == "" {
			t.Errorf("%+v", messages)
		}
	})
}
