package eino_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// newNested returns an agent that has another one with the tools of a belt as its tool.
func newNested(t *testing.T, b *belt.Belt, outer, inner model.ToolCallingChatModel, kept *store) *adk.Runner {
	t.Helper()
	ctx := t.Context()
	tools := assert.Value(b.AgentTools(ctx))(t)
	helper := assert.Value(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "helper", Description: "helps", Model: b.Model(inner), ToolsConfig: tools}))(t)
	agent := assert.Value(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "boss", Description: "has help", Model: outer,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools: []tool.BaseTool{adk.NewAgentTool(ctx, helper)},
		}},
	}))(t)
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: kept})
}

// runEvents returns the text of the last event, and what waits.
func runEvents(t *testing.T, events *adk.AsyncIterator[*adk.AgentEvent]) (text string, waits []belt.Wait) {
	t.Helper()
	for {
		event, ok := events.Next()
		if !ok {
			return text, waits
		}
		assert.OK(t, event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			waits = belt.Waits(event.Action.Interrupted.InterruptContexts)
		}
		if event.Output != nil && event.Output.MessageOutput != nil {
			text = assert.Value(event.Output.MessageOutput.GetMessage())(t).Content
		}
	}
}

// Calls of an agent that is a tool of another one wait as others do, are decided one by
// one, and go on after a restart.
func TestNestedAgents(t *testing.T) {
	for _, restart := range []bool{false, true} {
		var l log
		outer, inner := newModel(t), newModel(t)
		outer.Then(calls("helper", `{"request":"first"}`), says("all is done"))
		inner.Then(calls("picture", `{}`, "remove", `{"name":"a"}`, "remove", `{"name":"b"}`), says("helped"))
		kept := newStore()
		b := belt.New(newCautious(t, &l), nil)
		m, n := newModelOf(t, "", outer.URL), newModelOf(t, "", inner.URL)
		text, waits := runEvents(t, newNested(t, b, m, n, kept).Query(t.Context(), "go", adk.WithCheckPointID("x")))
		for left := 2; left > 0; left-- {
			if len(waits) != left {
				t.Fatalf("restart=%v: %d calls wait: %+v", restart, left, waits)
			}
			if restart {
				b = belt.New(newCautious(t, &l), nil)
			}
			text, waits = runEvents(t, decideNested(t, newNested(t, b, m, n, kept), waits[:1]))
		}
		assert.Equal(t, text, "all is done", "restart=%v: it says ; %q, %q", restart, outer.Refused(), inner.Refused())
		checkNested(t, inner.Requests()[1])
		assert.Equal(t, len(l.calls()), 2, "restart=%v: the calls", restart)
	}
}

// decideNested approves a, and refuses b.
func decideNested(t *testing.T, r *adk.Runner, waits []belt.Wait) *adk.AsyncIterator[*adk.AgentEvent] {
	t.Helper()
	targets := map[string]any{}
	for _, w := range waits {
		targets[w.InterruptID] = belt.Decision{Approve: string(w.Arguments) == `{"name":"a"}`, Reason: "keep it"}
	}
	return assert.Value(r.ResumeWithParams(t.Context(), "x", &adk.ResumeParams{Targets: targets}))(t)
}

func checkNested(t *testing.T, req *adaptertest.Request) {
	t.Helper()
	got := req.Results
	if len(got) != 3 || !strings.Contains(got[0].Text, "attached") || got[1].Text != "removed a" || !strings.Contains(got[2].Text, "keep it") {
		t.Errorf("the results are %+v", got)
	}
}

// An agent to which another one hands over learns what the tools of that have returned.
func TestTransferToAnotherAgent(t *testing.T) {
	var l log
	b := belt.New(newCautious(t, &l), nil)
	tools := assert.Value(b.AgentTools(t.Context()))(t)
	first, second := newModel(t), newModel(t)
	looker := assert.Value(adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "looker", Description: "looks", Model: b.Model(newModelOf(t, "", first.URL)), ToolsConfig: tools,
	}))(t)
	writer := assert.Value(adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "writer", Description: "writes", Model: newModelOf(t, "", second.URL)}))(t)
	both := assert.Value(adk.SetSubAgents(t.Context(), looker, []adk.Agent{writer}))(t)
	first.Then(calls("picture", `{}`), calls("transfer_to_agent", `{"agent_name":"writer"}`))
	second.Then(says("a dot"))
	text, _ := runEvents(t, adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: both}).Query(t.Context(), "what is there?"))
	assert.Equal(t, text, "a dot", "it says")
	assert.Contains(t, strings.Join(second.Requests()[0].Users, "\n"), "look:\n[image image/png, 71 bytes]", "the second agent is told")
}

// A result that is for the user is what an agent that is a tool returns.
func TestNestedDirect(t *testing.T) {
	outer, inner := newModel(t), newModel(t)
	outer.Then(calls("helper", `{"request":"show"}`), says("over"))
	inner.Then(calls("show", `{}`))
	runner := newNested(t, belt.New(direct(t), nil), newModelOf(t, "", outer.URL), newModelOf(t, "", inner.URL), newStore())
	if text, _ := runEvents(t, runner.Query(t.Context(), "go")); text != "over" {
		t.Fatalf("it says %q; %q, %q", text, outer.Refused(), inner.Refused())
	}
	assert.Equal(t, assert.Only(t, outer.Requests()[1].Results).Text, "for your eyes", "the outer agent")
}

// A tool that is for the user, and fails, does not end the run of an agent: the model can
// mend it.
func TestDirectThatFails(t *testing.T) {
	reg := registry.New(nil)
	good := false
	show := returning("show", func() (*mcp.CallToolResult, error) {
		defer func() { good = true }()
		res := textResult("for your eyes")
		res.IsError = !good
		return res, nil
	})
	show.Definition().ReturnDirect = true
	assert.OK(t, reg.Add(show))
	for _, text := range []bool{false, true} {
		good = false
		model := newModel(t)
		model.Then(calls("show", `{}`), calls("show", `{}`))
		a := startAgent(textOnly(text), false)(t, reg, model.URL).(*adkAgent)
		assert.Value(a.Ask(t.Context(), "show"))(t)
		if got := said(a.messages); len(a.messages) != 5 || len(model.Requests()) != 2 {
			t.Errorf("text=%v: the events are %q", text, got)
		}
		last := a.messages[len(a.messages)-1]
		assert.True(t, texts(a.belt, []*schema.Message{last})[0] == "for your eyes", "text=%v: the last event is %v", text, last)
	}
}

func textOnly(is bool) *belt.Options { return &belt.Options{Turn: profile.TurnOptions{TextOnly: is}} }

// An agent ends with a result for the user, too, if a call beside it waits, or it has to be
// approved itself.
func TestDirectAndApproval(t *testing.T) {
	for _, said := range [][]string{{"show", `{}`, "remove", `{"name":"a"}`}, {"remove", `{"name":"a"}`, "show", `{}`}, {"secret", `{}`}} {
		for _, text := range []bool{false, true} {
			var l log
			reg := newCautious(t, &l)
			for _, name := range []string{"show", "secret"} {
				tool := returning(name, func() (*mcp.CallToolResult, error) { return textResult("for your eyes"), nil })
				tool.Definition().ReturnDirect = true
				assert.OK(t, reg.Add(tool))
			}
			model := newModel(t)
			react := &graphAgent{belt: belt.New(reg, textOnly(text))}
			react.graph = newReact(t, react, newModelOf(t, "", model.URL))
			for name, agent := range map[string]adaptertest.Agent{"react": react, "adk": startAgent(textOnly(text), false)(t, reg, model.URL)} {
				model.Then(calls(said...))
				before := len(model.Requests())
				turn, err := agent.Ask(t.Context(), "show")
				if err != nil || len(turn.Waits) != 1 {
					t.Fatalf("%s: %q: %+v, %v, %q", name, said, turn, err, model.Refused())
				}
				assert.Value(reg.Approve(t.Context(), turn.Waits[0].Approval, nil))(t)
				if turn, err = agent.Resume(t.Context()); err != nil || len(turn.Waits) > 0 {
					t.Fatalf("%s: %q: %+v, %v, %q", name, said, turn, err, model.Refused())
				}
				assert.True(t, len(model.Requests()) == before+1, "%s: %q: the model was asked again", name, said)
				assert.False(t, name == "react" && text && turn.Text != "for your eyes", "%s: %q: the user gets %q", name, said, turn.Text)
			}
		}
	}
}
