package mcp_test

//lint:file-ignore SA1019 Sampling is deprecated since revision 2026-07-28, and works.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// granted has a scripted server make one request, and returns what it got: the
// result or, in the older revisions, the error. In 2026-07-28 the error is that
// of the call.
func granted(t *testing.T, revision string, p plane, opts *mcp.ClientOptions, method, params string) (string, error) {
	t.Helper()
	inputRequest := func(c *mcptest.Call) {
		answer, err := c.Ask(method, params)
		reply, _ := json.Marshal(map[string]any{"answer": answer, "error": err})
		text(string(reply))(c)
	}
	if revision == mcp.Revision20260728 {
		inputRequest = mcptest.Sequence(needs(`{"w":{"method":"`+method+`","params":`+params+`}}`, ""), func(c *mcptest.Call) {
			var got struct{ InputResponses struct{ W json.RawMessage } }
			_ = json.Unmarshal(c.Params, &got)
			reply, _ := json.Marshal(map[string]any{"answer": got.InputResponses.W})
			text(string(reply))(c)
		})
	}
	c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": inputRequest})), opts)
	res, err := call(t, c, "x")
	if err != nil {
		return "", err
	}
	var reply struct {
		Answer json.RawMessage
		Error  *mcp.JSONRPCError
	}
	assert.OK(t, json.Unmarshal([]byte(textOf(t, res)), &reply))
	if reply.Error != nil {
		return "", reply.Error
	}
	return string(reply.Answer), nil
}

func says(content ...mcp.Content) *mcp.SampleResult {
	return &mcp.SampleResult{Content: content, Role: "assistant", Model: "m"}
}

func sayHello(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
	return says(&mcp.TextContent{Text: "hello"}), nil
}

const hi = `{"role":"user","content":{"type":"text","text":"hi"}}`

// uses and results are messages of a conversation with tools.
func uses(ids ...string) string {
	var blocks []string
	for _, id := range ids {
		blocks = append(blocks, `{"type":"tool_use","id":"`+id+`","name":"f","input":{}}`)
	}
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func results(ids ...string) string {
	var blocks []string
	for _, id := range ids {
		blocks = append(blocks, `{"type":"tool_result","toolUseId":"`+id+`","content":[]}`)
	}
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func conversation(messages ...string) string {
	return `{"maxTokens":9,"messages":[` + strings.Join(messages, ",") + `]}`
}

const tools = `"tools":[{"name":"f","inputSchema":{"type":"object"}}]`

func withTools(more string, messages ...string) string {
	return `{"maxTokens":9,` + tools + more + `,"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestSample(t *testing.T) {
	const params = `{
		"messages":[
			{"role":"user","content":{"type":"text","text":"look"}},
			{"role":"user","content":[{"type":"image","data":"AAEC","mimeType":"image/png"},{"type":"audio","data":"AAEC","mimeType":"audio/wav"}]},
			{"role":"assistant","content":[{"type":"text","text":"well"},{"type":"tool_use","id":"1","name":"f","input":{"n":12345678901234567890}}]},
			{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"r"}],"structuredContent":[1e400],"isError":true}}],
		"modelPreferences":{"hints":[{"name":"sonnet"},{"name":"haiku"}],"costPriority":0.5,"speedPriority":0.25,"intelligencePriority":1},
		"systemPrompt":"be nice","includeContext":"thisServer","temperature":0.5,"maxTokens":1e3,"MAXTOKENS":"x",
		"stopSequences":["."],"metadata":{"a":1},
		"tools":[{"name":"f","description":"d","inputSchema":{"type":"object","x":12345678901234567890}}],"toolChoice":{"mode":"auto"}}`
	everywhere(t, func(t *testing.T, revision string, p plane) {
		got := assert.Value(granted(t, revision, p, &mcp.ClientOptions{
			SampleTools: true,
			Sample: func(_ context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
				assert.Equal(t, r.Server, "scripted", "server")
				want := &mcp.SampleParams{
					Messages: []*mcp.SamplingMessage{
						{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "look"}}},
						{Role: "user", Content: []mcp.Content{
							&mcp.ImageContent{Data: []byte{0, 1, 2}, MIMEType: "image/png"},
							&mcp.AudioContent{Data: []byte{0, 1, 2}, MIMEType: "audio/wav"},
						}},
						{Role: "assistant", Content: []mcp.Content{
							&mcp.TextContent{Text: "well"},
							&mcp.ToolUseContent{ID: "1", Name: "f", Input: map[string]any{"n": json.Number("12345678901234567890")}},
						}},
						{Role: "user", Content: []mcp.Content{&mcp.ToolResultContent{
							ToolUseID: "1", Content: []mcp.Content{&mcp.TextContent{Text: "r"}},
							StructuredContent: json.RawMessage(`[1e400]`), IsError: true,
						}}},
					},
					SystemPrompt: "be nice", IncludeContext: "thisServer", Temperature: 0.5, MaxTokens: 1000,
					StopSequences: []string{"."},
					Metadata:      json.RawMessage(`{"a":1}`),
					Tools:         []*sdk.Tool{{Name: "f", Description: "d", InputSchema: json.RawMessage(`{"type":"object","x":12345678901234567890}`)}},
					ToolChoice:    &sdk.ToolChoice{Mode: "auto"},
				}
				hints := r.Params.ModelPreferences
				named := hints != nil && len(hints.Hints) == 2 && hints.Hints[1].Name == "haiku"
				assert.True(t, named && hints.SpeedPriority == 0.25, "preferences %+v", hints)
				r.Params.ModelPreferences = nil
				wantDeep(t, r.Params, want)
				return &mcp.SampleResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}, StopReason: "endTurn"}, nil
			},
		}, "sampling/createMessage", params))(t)
		assert.Equal(t, got, `{"content":{"type":"text","text":"hello"},"model":"unknown","role":"assistant","stopReason":"endTurn"}`)
	})
}

// What a server asks against the rules does not reach the handler.
func TestSampleRefused(t *testing.T) {
	round := func(n int) (messages []string) {
		for range n {
			messages = append(messages, uses("1"), results("1"))
		}
		return messages
	}
	for _, test := range []struct {
		name   string
		params string
		plain  bool // the client has no tools
		want   string
	}{
		{"no messages", `{"maxTokens":9}`, false, "no messages"},
		{"empty messages", conversation(), false, "no messages"},
		{"no maxTokens", `{"messages":[` + hi + `]}`, false, "maxTokens"},
		{"maxTokens 0", `{"maxTokens":0,"messages":[` + hi + `]}`, false, "maxTokens"},
		{"maxTokens half", `{"maxTokens":1.5,"messages":[` + hi + `]}`, false, "maxTokens"},
		{"maxTokens too large", `{"maxTokens":1e30,"messages":[` + hi + `]}`, false, "maxTokens"},
		{"maxTokens text", `{"maxTokens":"9","messages":[` + hi + `]}`, false, "maxTokens"},
		{"messages no list", `{"maxTokens":9,"messages":{}}`, false, "messages"},
		{"message no object", conversation("7"), false, "messages[0]"},
		{"role", conversation(`{"role":"system","content":{"type":"text","text":"x"}}`), false, "messages[0].role"},
		{"Role", conversation(`{"Role":"user","content":{"type":"text","text":"x"}}`), false, "messages[0].role"},
		{"no content", conversation(`{"role":"user"}`), false, "messages[0].content"},
		{"empty content", conversation(`{"role":"user","content":[]}`), false, "messages[0].content"},
		{"content text", conversation(`{"role":"user","content":"x"}`), false, "messages[0].content"},
		{"unknown content", conversation(`{"role":"user","content":[{"type":"resource_link","uri":"a:b","name":"x"}]}`), false, "messages[0].content[0].type"},
		{"tools undeclared", withTools("", hi), true, "not declared"},
		{"no tools undeclared", `{"maxTokens":9,"tools":[],"messages":[` + hi + `]}`, true, "not declared"},
		{"choice undeclared", `{"maxTokens":9,"toolChoice":{},"messages":[` + hi + `]}`, true, "not declared"},
		{"history undeclared", conversation(hi, uses("1"), results("1")), true, "not declared"},
		{"tools no list", `{"maxTokens":9,"tools":{},"messages":[` + hi + `]}`, false, "tools"},
		{"tool without name", `{"maxTokens":9,"tools":[{}],"messages":[` + hi + `]}`, false, "tools[0].name"},
		{"unknown choice", withTools(`,"toolChoice":{"mode":"any"}`, hi), false, "toolChoice"},
		{"choice no object", withTools(`,"toolChoice":"auto"`, hi), false, "toolChoice"},
		{"required without tools", `{"maxTokens":9,"toolChoice":{"mode":"required"},"messages":[` + hi + `]}`, false, "required"},
		{"mixed", withTools("", uses("1"), `{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","toolUseId":"1","content":[]}]}`), false, "messages[1]: tool results are mixed"},
		{"missing result", withTools("", hi, uses("1", "2"), results("1"), hi), false, "messages[2]: tool result missing in request"},
		{"other between", withTools("", uses("1"), hi, results("1")), false, "messages[1]: tool result missing in request"},
		{"no result at all", withTools("", hi, uses("1")), false, "tool result missing in request"},
		{"result of nothing", withTools("", hi, results("1")), false, "messages[1]: tool result for no tool use"},
		{"result of another", withTools("", uses("1"), results("1", "2")), false, "messages[1]: tool result for no tool use"},
		{"same id", withTools("", uses("1", "1"), results("1")), false, "messages[0]: two"},
		{"same result", withTools("", uses("1"), results("1", "1")), false, "messages[1]: two"},
		{"user uses", withTools("", `{"role":"user","content":{"type":"tool_use","id":"1","name":"f","input":{}}}`, results("1")), false, "messages[0]: only the assistant"},
		{"assistant results", withTools("", uses("1"), `{"role":"assistant","content":{"type":"tool_result","toolUseId":"1","content":[]}}`), false, "messages[1]: only the user"},
		{"use without id", withTools("", `{"role":"assistant","content":{"type":"tool_use","name":"f","input":{}}}`), false, "messages[0].content.id"},
		{"use without name", withTools("", `{"role":"assistant","content":{"type":"tool_use","id":"1","input":{}}}`), false, "messages[0].content.name"},
		{"use without input", withTools("", `{"role":"assistant","content":{"type":"tool_use","id":"1","name":"f"}}`), false, "messages[0].content.input"},
		{"result without id", withTools("", uses("1"), `{"role":"user","content":{"type":"tool_result"}}`), false, "messages[1].content.toolUseId"},
		{"too many rounds", withTools("", round(11)...), false, "more than 10 rounds"},
		{"too many rounds, required", withTools(`,"toolChoice":{"mode":"required"}`, round(11)...), false, "more than 10 rounds"},
		{"no tools left", withTools(`,"toolChoice":{"mode":"none"}`, round(11)...), false, ""},
		{"rounds", withTools("", round(10)...), false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			everyRevision(t, func(t *testing.T, revision string) {
				reached := false
				got, err := granted(t, revision, planes()[0], &mcp.ClientOptions{
					SampleTools: !test.plain,
					Sample: func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
						reached = true
						return sayHello(ctx, r)
					},
				}, "sampling/createMessage", test.params)
				assert.Equal(t, reached, test.want == "", "the handler was asked")
				if test.want == "" {
					assert.OK(t, err)
					assert.Contains(t, got, "hello")
					return
				}
				assert.Contains(t, fmt.Sprint(err), test.want)
				var refused *mcp.JSONRPCError
				var invalid *mcp.ProtocolError
				if revision == mcp.Revision20260728 && !errors.As(err, &invalid) ||
					revision != mcp.Revision20260728 && (!errors.As(err, &refused) || refused.Code != -32602) {
					t.Errorf("error %#v", err)
				}
			})
		})
	}
}

// What a handler answers against the rules does not reach the server, nor why.
func TestSampleAnswerChecked(t *testing.T) {
	use := func(id string) *mcp.ToolUseContent { return &mcp.ToolUseContent{ID: id, Name: "f"} }
	for _, test := range []struct {
		name   string
		params string
		answer *mcp.SampleResult
		want   string // in the answer, or if there must be none
		fails  bool
	}{
		{"nothing", conversation(hi), nil, "is missing", true},
		{"no content", conversation(hi), says(), "no content", true},
		{"nil content", conversation(hi), says(nil), "content of type", true},
		{"other content", conversation(hi), says(&mcp.ResourceLink{}), "content of type", true},
		{"role", conversation(hi), &mcp.SampleResult{Role: "user", Content: says(&mcp.TextContent{}).Content}, "has the role", true},
		{"use without tools", conversation(hi), says(use("1")), "did not allow", true},
		{"use with empty tools", `{"maxTokens":9,"tools":[],"messages":[` + hi + `]}`, says(use("1")), "did not allow", true},
		{"use with none", withTools(`,"toolChoice":{"mode":"none"}`, hi), says(use("1")), "did not allow", true},
		{"no use with required", withTools(`,"toolChoice":{"mode":"required"}`, hi), says(&mcp.TextContent{}), "required", true},
		{"use without id", withTools("", hi), says(use("")), "an id of their own", true},
		{"uses with one id", withTools("", hi), says(use("1"), use("1")), "an id of their own", true},
		{"uses", withTools(`,"toolChoice":{"mode":"required"}`, hi), says(use("1"), use("2")),
			`{"content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}],"model":"m","role":"assistant"}`, false},
		{"no use", withTools("", hi), says(&mcp.TextContent{Text: "a"}), `"text":"a"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			everyRevision(t, func(t *testing.T, revision string) {
				got, err := granted(t, revision, planes()[0], &mcp.ClientOptions{
					SampleTools: true,
					Sample:      func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return test.answer, nil },
				}, "sampling/createMessage", test.params)
				if !test.fails {
					assert.OK(t, err)
					assert.Contains(t, got, test.want)
					return
				}
				if revision == mcp.Revision20260728 {
					assert.Contains(t, fmt.Sprint(err), test.want, "the server got %s", got)
					return
				}
				assert.Equal(t, assert.As[*mcp.JSONRPCError](t, err).Code, -32603, "code")
				assert.Lacks(t, err.Error(), test.want)
			})
		})
	}
}

func TestSampleRejected(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		_, err := granted(t, revision, p, &mcp.ClientOptions{
			Sample: func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, mcp.ErrRejected },
		}, "sampling/createMessage", conversation(hi))
		refused := assert.As[*mcp.JSONRPCError](t, err)
		assert.Equal(t, [...]any{refused.Code, refused.Message}, [...]any{int64(-1), "User rejected sampling request"})
		assert.False(t, revision == mcp.Revision20260728 && !errors.Is(err, mcp.ErrRejected), "error %v does not wrap ErrRejected", err)
	})
}

// Nobody else has tokens to give.
func TestSampleUndeclared(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		_, err := granted(t, revision, planes()[0], nil, "sampling/createMessage", conversation(hi))
		var refused *mcp.JSONRPCError
		var invalid *mcp.ProtocolError
		none := errors.As(err, &refused) && refused.Code == -32601
		assert.True(t, none || errors.As(err, &invalid), "undeclared: the server got %v", err)
	})
}
