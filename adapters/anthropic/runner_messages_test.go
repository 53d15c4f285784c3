package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// goOn has another runner go on with a conversation, which its model has to take, and
// returns what that got.
func goOn(t *testing.T, r *registry.Registry, model *endpoint, messages []anthropic.BetaMessageParam) received {
	t.Helper()
	tools := assert.Value(belt.NewRunnerTools(t.Context(), r, nil))(t)
	client := newClient(model.URL)
	runner := client.Beta.Messages.NewToolRunner(tools.List(), anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "scripted", MaxTokens: 100,
		Messages: append(messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go on"))),
	}})
	model.mu.Lock()
	model.replies = []reply{says("done")}
	model.mu.Unlock()
	step(t, tools, runner)
	got := model.requests()
	return got[len(got)-1]
}

// TestMessagesOfCancelled goes on when the context has ended amid calls, one of which the
// program would have made itself.
func TestMessagesOfCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := registry.MustFunc("slow", "waits", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	r := newRegistry(t, tool("quick"), slow)
	model := newEndpoint(t, calls(use("a", "slow", `{}`), use("b", "own", `{}`), use("c", "quick", `{}`)))
	tools := assert.Value(belt.NewRunnerTools(t.Context(), r, &belt.Options{Turn: profile.TurnOptions{MaxParallel: 1}}))(t)
	own := &ownTool{name: "own"}
	client := newClient(model.URL)
	runner := client.Beta.Messages.NewToolRunner(append(tools.List(), own), anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "scripted", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
	}})
	step(t, tools, runner)
	assert.Is(t, tools.Prepare(ctx, runner), context.Canceled)
	messages := tools.Messages(runner)
	if len(messages) != 3 || len(runner.Params.Messages) != 2 {
		t.Fatalf("%d messages, and the runner has %d", len(messages), len(runner.Params.Messages))
	}
	got := goOn(t, r, model, messages)
	if len(got.Results) != 3 || own.ran != 0 || !slices.Equal(got.Users, []string{"go", "go on"}) {
		t.Fatalf("%+v; the program's ran %d times", got, own.ran)
	}
	for i, text := range []string{"may have run or not", "may have run or not", "did not run"} {
		if r := got.Results[i]; !r.Failed || r.CallID != string(rune('a'+i)) || !strings.Contains(r.Text, text) {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

// TestMessagesOfFailed goes on when a request has failed that had the results.
func TestMessagesOfFailed(t *testing.T) {
	it := counted("it")
	r := newRegistry(t, it)
	model := newEndpoint(t, calls(use("a", "it", `{}`), use("b", "it", `{"n":1}`)), reply{status: 500})
	tools, runner := newRunner(t, r, model, nil)
	step(t, tools, runner)
	assert.OK(t, r.Add(tool("new")))
	assert.OK(t, tools.Prepare(t.Context(), runner))
	before := tools.Messages(runner)
	assert.Fails(t, assert.Err(runner.NextMessage(t.Context())), "the request did not fail")
	after := tools.Messages(runner)
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("%d messages before the request, %d behind it", len(before), len(after))
	}
	for _, messages := range [][]anthropic.BetaMessageParam{before, after} {
		if got := goOn(t, r, model, messages); len(got.Results) != 2 || len(got.Tools) != 2 {
			t.Errorf("%+v", got)
		}
	}
	assert.True(t, len(it.calls()) == 2, "the tool ran with %q", it.calls())
}

// TestMessagesOfStopped goes on where the runner does not make the calls.
func TestMessagesOfStopped(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply reply
		limit int
		whole bool
		want  int // results
	}{
		{"limit of tokens", reply{stop: "max_tokens", content: use("a", "it", `{}`)}, 0, false, 1},
		{"refusal", reply{stop: "refusal", content: use("a", "it", `{}`)}, 0, true, 1},
		{"refusal on a thread", reply{stop: "refusal", content: use("a", "it", `{}`)}, 0, false, 0},
		{"limit of iterations", calls(use("a", "it", `{}`)), 1, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			it := counted("it")
			r := newRegistry(t, it)
			model := newEndpoint(t, c.reply)
			tools, runner := newClientRunner(t, r, newClient(model.URL), nil, anthropic.BetaToolRunnerParams{MaxIterations: c.limit, DisableThread: c.whole})
			step(t, tools, runner)
			if step(t, tools, runner) != nil {
				t.Fatal("the runner goes on")
			}
			got := goOn(t, r, model, tools.Messages(runner)).Results
			assert.Equal(t, len(got), c.want)
			assert.Equal(t, len(it.calls()), 0, "calls")
			for _, r := range got {
				assert.False(t, !r.Failed || !strings.Contains(r.Text, "did not run"), "got %+v, want that the call did not run", r)
			}
		})
	}
}

// TestMessagesOfWaiting goes on without the person that a call waits for.
func TestMessagesOfWaiting(t *testing.T) {
	policy := assert.Value(policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "danger"}))(t)
	r := registry.New(&registry.Options{Approver: policy})
	assert.OK(t, r.Add(tool("danger"), tool("safe")))
	model := newEndpoint(t, calls(use("a", "danger", `{}`), use("b", "safe", `{}`)))
	tools, runner := newRunner(t, r, model, nil)
	step(t, tools, runner)
	var waiting *profile.WaitingError
	if err := tools.Prepare(t.Context(), runner); !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	got := goOn(t, r, model, tools.Messages(runner)).Results
	assert.False(t, len(got) != 2 || !strings.Contains(got[0].Text, "approv") || got[1].Text != "safe done", "%+v", got)
}

// TestMessagesOfUnprepared knows nothing of calls for which there was no Prepare.
func TestMessagesOfUnprepared(t *testing.T) {
	r := newRegistry(t, tool("it"))
	model := newEndpoint(t, calls(use("a", "it", `{}`)))
	tools, runner := newRunner(t, r, model, nil)
	if got := tools.Messages(runner); len(got) != 1 {
		t.Errorf("before all there are %d messages", len(got))
	}
	step(t, tools, runner)
	got := goOn(t, r, model, tools.Messages(runner)).Results
	assert.False(t, len(got) != 1 || !got[0].Failed || !strings.Contains(got[0].Text, "may have run or not"), "%+v", got)
}

// TestMessagesOfNothing leaves out an answer that holds nothing, which the API refuses
// anywhere but at the end.
func TestMessagesOfNothing(t *testing.T) {
	r := newRegistry(t, tool("it"))
	model := newEndpoint(t, calls(use("a", "it", `{}`)), reply{stop: "end_turn"})
	tools, runner := newRunner(t, r, model, nil)
	for step(t, tools, runner) != nil {
	}
	got := goOn(t, r, model, tools.Messages(runner))
	assert.False(t, len(got.Results) != 1 || got.Results[0].Text != "it done" || len(got.Messages) != 4, "%+v", got)
}

// TestMessagesOfPaused leaves out what the API was about, but not a program that waits for
// results.
func TestMessagesOfPaused(t *testing.T) {
	const (
		search  = `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"x"}}`
		found   = `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[]}}`
		program = `{"type":"server_tool_use","id":"srvtoolu_2","name":"code_execution","input":{"code":"x"}}`
		call    = `{"type":"tool_use","id":"a","name":"it","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_2"}}`
		remote  = `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"x","server_name":"y","input":{}}`
		text    = `{"type":"text","text":"so"}`

		answered = `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]}`
	)
	for _, c := range []struct {
		name, stop string
		content    []string
		want       []string
	}{
		{"search", "pause_turn", []string{text, search}, []string{"text"}},
		{"search that is over", "end_turn", []string{search, found, text}, []string{"server_tool_use", "tool_search_tool_result", "text"}},
		{"two", "pause_turn", []string{search, found, program, remote}, []string{"server_tool_use", "tool_search_tool_result"}},
		{"server", "end_turn", []string{remote, answered, text}, []string{"mcp_tool_use", "mcp_tool_result", "text"}},
		{"program", "tool_use", []string{program, call}, []string{"server_tool_use", "tool_use"}},
		{"nothing else", "pause_turn", []string{search}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools, runner := newRunner(t, newRegistry(t, tool("it")), newEndpoint(t, reply{stop: c.stop, content: strings.Join(c.content, ",")}), nil)
			step(t, tools, runner)
			before := mustJSON(t, runner.Params.Messages)
			messages := tools.Messages(runner)
			if after := mustJSON(t, runner.Params.Messages); c.want == nil && len(messages) != 1 || string(before) != string(after) {
				t.Fatalf("%d messages, and the runner has %s, not %s", len(messages), after, before)
			}
			var got []string
			for _, m := range messages[1:min(len(messages), 2)] {
				for _, b := range m.OfAssistant.Content {
					got = append(got, *b.GetType())
				}
			}
			assert.True(t, slices.Equal(got, c.want), "got %q", got)
		})
	}
}

// TestMessagesBesideOthers puts results in front of what the program has added, and does
// not answer what it has answered.
func TestMessagesBesideOthers(t *testing.T) {
	r := newRegistry(t, tool("it"))
	model := newEndpoint(t, calls(use("a", "it", `{}`), use("b", "it", `{}`)))
	tools, runner := newRunner(t, r, model, nil)
	step(t, tools, runner)
	result := anthropic.NewBetaToolResultBlock("b", "ours", false)
	note := anthropic.NewBetaTextBlock("a note")
	for _, c := range []struct {
		name  string
		more  []anthropic.BetaContentBlockParamUnion
		texts []string
	}{
		{"text", []anthropic.BetaContentBlockParamUnion{note}, []string{"may have run", "may have run"}},
		{"result", []anthropic.BetaContentBlockParamUnion{result}, []string{"may have run", "ours"}},
		{"both", []anthropic.BetaContentBlockParamUnion{result, note}, []string{"may have run", "ours"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages := runner.Messages()
			defer func() { runner.Params.Messages = messages }()
			runner.AppendMessages(anthropic.NewBetaUserMessage(slices.Grow(c.more, 4)...))
			got := goOn(t, r, model, tools.Messages(runner)).Results
			assert.False(t, len(got) != 2 || !strings.Contains(got[0].Text, c.texts[0]) || !strings.Contains(got[1].Text, c.texts[1]), "%+v", got)
			if now := runner.Params.Messages; len(now) != 3 || len(now[2].OfUser.Content) != len(c.more) {
				t.Errorf("the runner has %+v", now)
			}
		})
	}
}

// TestMessagesFallback does not answer the calls of a model that another one has taken
// over from.
func TestMessagesFallback(t *testing.T) {
	r := newRegistry(t, tool("it"))
	fallback := `{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`
	tools, runner := newRunner(t, r, newEndpoint(t, calls(use("a", "it", `{}`), fallback, use("b", "it", `{}`))), nil)
	step(t, tools, runner)
	assert.OK(t, tools.Prepare(t.Context(), runner))
	content := tools.Messages(runner)[2].OfUser.Content
	assert.Equal(t, assert.Only(t, content).OfToolResult.ToolUseID, "b")
}

// TestMessagesOfKept answers the last calls of a conversation that was kept when the
// program broke down.
func TestMessagesOfKept(t *testing.T) {
	r := newRegistry(t, tool("it"))
	model := newEndpoint(t)
	tools, runner := newRunner(t, r, model, nil)
	runner.AppendMessages(anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{
		Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaToolUseBlock("a", map[string]any{}, "it")},
	}})
	got := goOn(t, r, model, tools.Messages(runner)).Results
	assert.False(t, len(got) != 1 || !got[0].Failed || !strings.Contains(got[0].Text, "may have run or not"), "%+v", got)
}

// TestMessagesStreaming goes on when a stream was cancelled amid calls.
func TestMessagesStreaming(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := registry.MustFunc("slow", "waits", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	r := newRegistry(t, slow)
	model := adaptertest.NewModel(t, adaptertest.Anthropic{})
	model.Then(func(*adaptertest.Request) adaptertest.Reply {
		return adaptertest.Reply{Calls: []adaptertest.Call{{ID: "a", Name: "slow", Arguments: json.RawMessage(`{}`)}}}
	})
	tools := assert.Value(belt.NewRunnerTools(ctx, r, nil))(t)
	client := newClient(model.URL)
	runner := client.Beta.Messages.NewToolRunnerStreaming(tools.List(), anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "scripted", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
	}})
	for _, err := range runner.NextStreaming(ctx) {
		assert.OK(t, err)
	}
	assert.Is(t, tools.PrepareStreaming(ctx, runner), context.Canceled)
	got := goOn(t, r, newEndpoint(t), tools.MessagesStreaming(runner)).Results
	assert.False(t, len(got) != 1 || got[0].CallID != "a" || !got[0].Failed, "%+v", got)
}
