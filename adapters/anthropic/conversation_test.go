package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

const (
	blank     = `{"type":"text","text":" \n"}`
	searching = `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"x"}}`
	foundNone = `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[]}}`
	thought   = `{"type":"thinking","thinking":"hm","signature":"c2lnbmVk"}`
)

func userText(text string) anthropic.MessageParam {
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

func betaText(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// shape has the roles and the types of the blocks of a conversation.
func shape(t *testing.T, messages any) string {
	t.Helper()
	var all []struct {
		Role    string
		Content []struct{ Type, Name, Text string }
	}
	assert.OK(t, json.Unmarshal(mustJSON(t, messages), &all))
	var fields []string
	for _, m := range all {
		field := m.Role[:1] + ":"
		for _, b := range m.Content {
			field += strings.Join([]string{b.Type, b.Name, b.Text}, "/") + " "
		}
		fields = append(fields, strings.TrimSpace(field))
	}
	return strings.Join(fields, "; ")
}

// TestAppend has answers after which the API would refuse all that follows.
func TestAppend(t *testing.T) {
	const theUser = "u:text//go on"
	for _, c := range []struct {
		name, stop, content string
		results             bool
		want                string
	}{
		{"text", "end_turn", `{"type":"text","text":"so"}`, false, "a:text//so; " + theUser},
		{"nothing", "end_turn", ``, false, theUser},
		{"blank", "end_turn", blank, false, theUser},
		//report: Models | anthropics/anthropic-sdk-python#461, BerriAI/litellm#22979, anthropics/claude-code#59812, run-llama/llama_index#17278 | Claude writes blank texts, which its API refuses when they come back | they are left out
		{"blank beside a call", "tool_use", thought + "," + blank + "," + use("a", "it", `{}`), true,
			"a:thinking// tool_use/it/; u:tool_result//; " + theUser},
		{"no name", "tool_use", use("a", "", `{}`) + "," + use("b", "a.b c", `{}`) + "," + use("c", strings.Repeat("n", 200), `{}`), true,
			"a:tool_use/_/ tool_use/a_b_c/ tool_use/" + strings.Repeat("n", 128) + "/; u:tool_result// tool_result// tool_result//; " + theUser},
		{"no object", "tool_use", use("a", "it", `[1]`), true, "a:tool_use/it/; u:tool_result//; " + theUser},
		//report: Models | tailcallhq/forgecode#3073, NousResearch/hermes-agent#11098, NousResearch/hermes-agent#16921, router-for-me/CLIProxyAPI#5321 | a message of the model ends with thinking, and Anthropic refuses it and each request after it | thinking that nothing stands behind is left out
		{"thinking at the end", "end_turn", `{"type":"text","text":"so"},` + thought, false, "a:text//so; " + theUser},
		{"thinking alone", "end_turn", thought, false, theUser},
		{"thinking and a blank text", "end_turn", thought + "," + blank, false, theUser},
		//report: Models | NousResearch/hermes-agent#26959 | thinking was changed, or was cut off before its signature, and Anthropic refuses the signature | thinking with a signature stays byte by byte, that without one is left out
		{"thinking without its signature", "max_tokens", `{"type":"text","text":"so"},{"type":"thinking","thinking":"hm","signature":""}`, false, "a:text//so; " + theUser},
		{"refusal", "refusal", `{"type":"text","text":"no"},` + use("a", "it", `{}`), false, "a:text//no tool_use/it/; u:tool_result// text//go on"},
		{"paused", "pause_turn", searching, false, theUser},
		{"paused behind a text", "pause_turn", `{"type":"text","text":"so"},` + searching, false, "a:text//so; " + theUser},
		{"searched", "end_turn", searching + "," + foundNone + `,{"type":"text","text":"so"}`, false,
			"a:server_tool_use/tool_search_tool_bm25/ tool_search_tool_result// text//so; " + theUser},
		{"search beside a call", "tool_use", searching + "," + use("a", "it", `{}`), true, "a:tool_use/it/; u:tool_result//; " + theUser},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRegistry(t, tool("it"))
			model := newEndpoint(t, reply{stop: c.stop, content: c.content}, says("done"), reply{stop: c.stop, content: c.content}, says("done"))
			client, turn := newClient(model.URL), turnOf(t, r)
			messages := []anthropic.MessageParam{userText("go")}
			params := anthropic.MessageNewParams{Model: "scripted", MaxTokens: 100, Tools: turn.Params(), Messages: messages}
			message := assert.Value(client.Messages.New(t.Context(), params))(t)
			results := assert.Value(turn.Run(t.Context(), message))(t)
			assert.Equal(t, results != nil, c.results)
			answer := message.ToParam()
			before := string(mustJSON(t, answer))
			params.Messages = belt.Append(belt.Append(belt.Append(messages, answer), results...), userText("go on"))
			assert.Equal(t, shape(t, params.Messages), "u:text//go; "+c.want)
			assert.Value(client.Messages.New(t.Context(), params))(t)
			assert.Equal(t, string(mustJSON(t, answer)), before)

			betas := []anthropic.BetaMessageParam{betaText("go")}
			beta := anthropic.BetaMessageNewParams{Model: "scripted", MaxTokens: 100, Tools: turn.BetaParams(), Messages: betas}
			said := assert.Value(client.Beta.Messages.New(t.Context(), beta))(t)
			told := assert.Value(turn.RunBeta(t.Context(), said))(t)
			beta.Messages = belt.BetaAppend(belt.BetaAppend(belt.BetaAppend(betas, said.ToParam()), told...), betaText("go on"))
			assert.Equal(t, canonical(t, mustJSON(t, params.Messages)), canonical(t, mustJSON(t, beta.Messages)), "the beta has")
			assert.Value(client.Beta.Messages.New(t.Context(), beta))(t)
		})
	}
}

// blocks returns the content of a message.
func blocks(m anthropic.MessageParam) []anthropic.ContentBlockParamUnion {
	return *m.GetContent().AsAny().(*[]anthropic.ContentBlockParamUnion)
}

// grow gives a message content of its own, with room behind it.
func grow(m *anthropic.MessageParam) {
	content := slices.Grow(slices.Clone(blocks(*m)), 8)
	if m.OfUser != nil {
		m.OfUser = &anthropic.UserMessageParam{Content: content}
	} else {
		m.OfAssistant = &anthropic.AssistantMessageParam{Content: content}
	}
}

// TestAppendKeeps leaves alone what the API takes, and what is the caller's.
func TestAppendKeeps(t *testing.T) {
	model := message(t, "pause_turn", `{"type":"text","text":"so"},`+searching).ToParam()
	result := anthropic.NewUserMessage(anthropic.NewToolResultBlock("a", "ours", false))
	called := message(t, "tool_use", searching+","+use("a", "it", `{}`)).ToParam()
	two := message(t, "tool_use", use("a", "it", `{}`)+","+use("b", "it", `{}`)).ToParam()
	for _, c := range []struct {
		name string
		in   []anthropic.MessageParam
		want string
	}{
		{"nothing", nil, ""},
		{"an answer first", []anthropic.MessageParam{model}, "a:text//so server_tool_use/tool_search_tool_bm25/"},
		{"paused twice", []anthropic.MessageParam{userText("go"), model, model}, "u:text//go; a:text//so server_tool_use/tool_search_tool_bm25/; a:text//so server_tool_use/tool_search_tool_bm25/"},
		{"results alone", []anthropic.MessageParam{called, result}, "a:server_tool_use/tool_search_tool_bm25/ tool_use/it/; u:tool_result//"},
		{"a result of two", []anthropic.MessageParam{two, result, userText("x")}, "a:tool_use/it/ tool_use/it/; u:tool_result// tool_result//; u:text//x"},
		{"a result of two beside a text", []anthropic.MessageParam{two, anthropic.NewUserMessage(slices.Concat(result.OfUser.Content, userText("x").OfUser.Content)...)},
			"a:tool_use/it/ tool_use/it/; u:tool_result// tool_result// text//x"},
		{"users", []anthropic.MessageParam{userText("a"), userText("b")}, "u:text//a; u:text//b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			room := slices.Grow(slices.Clone(c.in), 8)
			for i := range room {
				grow(&room[i])
			}
			before := string(mustJSON(t, room))
			for n := range len(room) + 1 {
				if got := shape(t, belt.Append(room[:n:cap(room)], room[n:]...)); n == 0 && got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				assert.Equal(t, string(mustJSON(t, room)), before)
				for _, m := range room {
					content := blocks(m)
					for _, b := range content[len(content):cap(content)] {
						if b.GetType() != nil {
							t.Fatal("what lies behind the content was changed")
						}
					}
				}
			}
		})
	}
}

// TestAppendAfterCancel goes on after a cancel amid a call beside which the API searches.
func TestAppendAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := registry.MustFunc("slow", "waits", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	r := newRegistry(t, slow)
	client := newClient(newEndpoint(t, calls(searching, use("a", "slow", `{}`)), says("done")).URL)
	params := anthropic.MessageNewParams{Model: "scripted", MaxTokens: 100, Messages: []anthropic.MessageParam{userText("go")}}
	assert.Fails(t, assert.Err(answer(ctx, &client, r, &params)))
	params.Messages = belt.Append(params.Messages, userText("go on"))
	assert.Equal(t, assert.Value(answer(t.Context(), &client, r, &params))(t).Content[0].Text, "done")
}

// TestRunnerSendsBack has a runner send back what the API takes.
func TestRunnerSendsBack(t *testing.T) {
	model := newEndpoint(t, calls(blank, use("a", "not here", `{}`), use("b", "it", `{}`)), reply{stop: "end_turn", content: blank})
	r := newRegistry(t, tool("it"))
	tools, runner := newRunner(t, r, model, nil)
	for step(t, tools, runner) != nil {
	}
	got := goOn(t, r, model, tools.Messages(runner)).Results
	assert.False(t, len(got) != 2 || got[1].Text != "it done" || !strings.Contains(fmt.Sprint(got[0].Text), "not here"), "%+v", got)
}
