package eino_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// said is a short form of messages: u and s are the user's and the system's, a are calls
// by their ids, t is the result of a call, m are media of results, and lost what nobody
// knows.
func said(messages []*schema.Message) string {
	var all []string
	for _, m := range messages {
		switch {
		case m == nil:
			all = append(all, "nil")
		case m.Role == schema.Assistant:
			var ids []string
			for _, c := range m.ToolCalls {
				ids = append(ids, c.ID)
			}
			all = append(all, "a:"+strings.Join(ids, ","))
		case m.Role == schema.Tool && strings.Contains(m.Content, "may have run or not"):
			all = append(all, "lost:"+m.ToolCallID)
		case m.Role == schema.Tool:
			all = append(all, "t:"+m.ToolCallID+m.Content)
		case len(m.UserInputMultiContent) > 0:
			all = append(all, "m")
		default:
			all = append(all, string(m.Role[:1]))
		}
	}
	return strings.Join(all, " ")
}

// spoken is the reverse of said. A result that ends with ! has an image,
// and _ is no id.
func spoken(form string) []*schema.Message {
	var all []*schema.Message
	for _, word := range strings.Fields(form) {
		kind, rest, _ := strings.Cut(word, ":")
		switch kind {
		case "nil":
			all = append(all, nil)
		case "s":
			all = append(all, schema.SystemMessage("be kind"))
		case "u":
			all = append(all, schema.UserMessage("go on"))
		case "a":
			m := schema.AssistantMessage("", nil)
			if rest == "" {
				m.Content = "well"
			}
			for id := range strings.SplitSeq(rest, ",") {
				if rest != "" {
					id = strings.TrimPrefix(id, "_")
					m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "tool_" + id, Arguments: "{}"}})
				}
			}
			all = append(all, m)
		case "t":
			id, image := strings.CutSuffix(rest, "!")
			id = strings.TrimPrefix(id, "_")
			m := schema.ToolMessage("", id)
			if image {
				data := "iVBORw0KGgo="
				m.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}}}
			}
			all = append(all, m)
		}
	}
	return all
}

// A provider takes no conversation in which a call has no result directly behind it.
func TestCompleteConversation(t *testing.T) {
	image := "[image image/png, 8 bytes, attached]"
	for in, want := range map[string]string{
		"":                            "",
		"s u a:":                      "s u a:",
		"u a:1 t:1 a:":                "u a:1 t:1 a:",
		"u a:1 u":                     "u a:1 lost:1 u",
		"u a:1":                       "u a:1 lost:1",
		"u a:1,2,3 t:2 u":             "u a:1,2,3 lost:1 t:2 lost:3 u",
		"u a:1,2 u a:3 t:3 a:":        "u a:1,2 lost:1 lost:2 u a:3 t:3 a:",
		"u a:1 a:2 t:2":               "u a:1 lost:1 a:2 t:2",
		"u a:1,2,3 t:3 t:1 t:2":       "u a:1,2,3 t:1 t:2 t:3",               // as they were over
		"u a:1,2 t:2 u t:1 a:":        "u a:1,2 t:1 t:2 u a:",                // it came later
		"u a:1 u a:2 t:2 t:1":         "u a:1 t:1 u a:2 t:2",                 // it came much later
		"u a:1 u a:1 t:1 a:":          "u a:1 lost:1 u a:call_0 t:call_0 a:", // ids that a provider uses again
		"u a:1 t:1 u a:1 u":           "u a:1 t:1 u a:call_0 lost:call_0 u",
		"u a:1,1 t:1 u":               "u a:1,call_1 t:1 lost:call_1 u", // one id for several
		"u a:1,1 t:1 t:1 u":           "u a:1,call_1 t:1 t:call_1 u",
		"u a:1,1 t:call_1 t:1 u":      "u a:1,call_1 t:1 t:call_1 u",
		"u a:call_1,x,x t:x! u":       "u a:call_1,x,call_2 lost:call_1 t:x" + image + " lost:call_2 m u",
		"u a:call_1,call_1 u":         "u a:call_1,call_2 lost:call_1 lost:call_2 u",
		"u a:_,_ t:_ u":               "u a:call_0,call_1 t:call_0 lost:call_1 u", // no ids
		"u a:_,_ t:call_1 t:call_0 u": "u a:call_0,call_1 t:call_0 t:call_1 u",
		"u a:_ t:_ u a:_ u t:_":       "u a:call_0 t:call_0 u a:call_1 t:call_1 u",
		"u a:_ t:call_0 t:_ u":        "u a:call_0 t:call_0 u",
		"u t:9 a:1 t:8 t:1 u":         "u a:1 t:1 u", // of calls that are not there
		"u a:1 t:1 t:1 u":             "u a:1 t:1 u",
		"t:1 a:1 u":                   "a:1 lost:1 u", // nothing answers what was not asked yet
		"u a:1 nil t:1 nil u":         "u a:1 t:1 nil nil u",
		"u a:1,2,3 t:3! t:1! u":       "u a:1,2,3 t:1" + image + " lost:2 t:3" + image + " m u",
		"u a:1,2 t:2! u t:1! a:":      "u a:1,2 t:1" + image + " t:2" + image + " m u a:",
		"u a:1 u a:2 t:2!":            "u a:1 lost:1 u a:2 t:2" + image + " m",
	} {
		messages := spoken(in)
		before := assert.Value(json.Marshal(messages))(t)
		b := belt.New(registry.New(nil), nil)
		got := b.Messages(messages)
		assert.Equal(t, said(got), want, "%q became", in)
		assert.Equal(t, said(b.Messages(got)), said(got), "%q became", in)
		if after, err := json.Marshal(messages); err != nil || string(after) != string(before) {
			t.Errorf("the messages of the caller became %s", after)
		}
	}
}

// What the model is told of a call that is lost is a failure, and has its name.
func TestLostCall(t *testing.T) {
	for _, provider := range []profile.Provider{"", profile.Anthropic, profile.Gemini} {
		got := belt.New(registry.New(nil), &belt.Options{Provider: provider}).Messages(spoken("u a:7 u"))[2]
		assert.False(t, got.ToolName != "tool_7" || got.ToolCallID != "7" || got.Role != schema.Tool, "%s: the message is %+v", provider, got)
		assert.Contains(t, "^"+got.Content, "^The tool failed:\n", "%s: the model is told", provider)
		assert.Contains(t, got.Content, "may have run or not", "%s: the model is told", provider)
	}
}

// The user goes on while a call waits, and what it waits for comes after that: the run of
// then is resumed with the results that there are, not with what was told in the meantime.
func TestResumeAfterConversationWentOn(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	model := newModel(t)
	agent := &graphAgent{belt: belt.New(reg, nil)}
	agent.graph = newGraph(t, agent, newModelOf(t, "", model.URL))
	model.Then(calls("picture", `{}`, "remove", `{"name":"a"}`))
	first := assert.Value(agent.Ask(t.Context(), "remove it"))(t)
	assert.Equal(t, len(first.Waits), 1)
	kept := slices.Clone(agent.messages)
	model.Then(says("it may be"))
	other := &graphAgent{belt: agent.belt, messages: kept}
	other.graph = newGraph(t, other, newModelOf(t, "", model.URL))
	assert.Equal(t, assert.Value(other.Ask(t.Context(), "is it gone?"))(t).Text, "it may be")
	requests := model.Requests()
	for i, r := range requests[len(requests)-1].Results {
		assert.True(t, strings.Contains(r.Text, "may have run or not"), "in the meantime result %d is %+v", i, r)
	}
	assert.Value(reg.Approve(t.Context(), first.Waits[0].Approval, nil))(t)
	model.Then(says("it is"))
	assert.Equal(t, assert.Value(agent.Resume(t.Context()))(t).Text, "it is")
	requests = model.Requests()
	got := requests[len(requests)-1].Results
	assert.False(t, len(got) != 2 || !strings.Contains(got[0].Text, "attached") || got[1].Text != "removed a", "the results are %+v", got)
	assert.List(t, l.calls(), []string{"picture", "remove a"}, "the calls")
}

// What a model wrote as arguments is read again with each request, and is not changed in the
// messages of the caller.
func TestArgumentsInConversation(t *testing.T) {
	for arguments, want := range map[string]string{"": "{}", `{"n":`: "{}", "null": "{}", `{"n": 1}`: `{"n": 1}`} {
		m := call("picture", arguments)
		assert.Equal(t, belt.New(registry.New(nil), nil).Messages([]*schema.Message{m})[0].ToolCalls[0].Function.Arguments, want)
		assert.Equal(t, m.ToolCalls[0].Function.Arguments, arguments)
	}
}

// A toldModel keeps what it was told.
type toldModel struct {
	tools []*schema.ToolInfo
	in    []*schema.Message
}

func (m *toldModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	m.tools = tools
	return m, nil
}

func (m *toldModel) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	m.in = in
	return schema.AssistantMessage("done", nil), nil
}

func (m *toldModel) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, nil
}

// TestWithoutToolsOrWords has a conversation with calls and no tools any more, and with a message
// in which the model says nothing, both of which Claude's API refuses.
func TestWithoutToolsOrWords(t *testing.T) {
	//report: Models | langgenius/dify#7328 | an agent has tools at first and none later, and Bedrock refuses a request without tools whose conversation has calls | with eino and langchaingo, too, one tool says that there are none
	in := append(spoken("u a:x t:x"), &schema.Message{Role: schema.Assistant, Content: "\n", ReasoningContent: "hm"})
	in = append(in, spoken("u")...)
	for provider, want := range map[profile.Provider]string{profile.Anthropic: "no_tools", profile.Bedrock: "no_tools", profile.OpenAI: ""} {
		m := &toldModel{}
		assert.Value(belt.New(registry.New(nil), &belt.Options{Provider: provider}).Model(m).Generate(t.Context(), in))(t)
		var names []string
		for _, info := range m.tools {
			names = append(names, info.Name)
		}
		assert.Equal(t, strings.Join(names, " "), want, "%s: the model is told of", provider)
		assert.Equal(t, said(m.in), "u a:x t:x u", "%s: the messages", provider)
	}
}
