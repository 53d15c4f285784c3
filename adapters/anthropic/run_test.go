package anthropic_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// message returns a message as the SDK decodes it.
func message(t *testing.T, stop, content string) *anthropic.Message {
	t.Helper()
	var m anthropic.Message
	assert.OK(t, json.Unmarshal(fmt.Appendf(nil, `{"role":"assistant","stop_reason":%q,"content":[%s]}`, stop, content), &m))
	return &m
}

func betaMessage(t *testing.T, stop, content string) *anthropic.BetaMessage {
	t.Helper()
	var m anthropic.BetaMessage
	assert.OK(t, json.Unmarshal(fmt.Appendf(nil, `{"role":"assistant","stop_reason":%q,"content":[%s]}`, stop, content), &m))
	return &m
}

func turnOf(t *testing.T, r *registry.Registry) *belt.Turn {
	t.Helper()
	return assert.Value(belt.Tools(t.Context(), r, nil))(t)
}

func TestRunStopReasons(t *testing.T) {
	tests := map[string]struct {
		stop    string
		content string
		ran     int
		results int
	}{
		"tool_use":         {"tool_use", use("a", "it", `{}`) + "," + use("b", "it", `{}`), 2, 2},
		"end_turn":         {"end_turn", use("a", "it", `{}`), 1, 1},
		"cut off":          {"max_tokens", use("a", "it", `{}`) + "," + use("b", "it", `{}`), 1, 2},
		"cut off in text":  {"max_tokens", use("a", "it", `{}`) + `,{"type":"text","text":"and th"}`, 1, 1},
		"full":             {"model_context_window_exceeded", use("a", "it", `{}`), 0, 1},
		"broken off":       {"", use("a", "it", `{}`) + "," + use("b", "it", `{}`), 0, 2},
		"unknown":          {"something_new", use("a", "it", `{}`), 0, 1},
		"paused":           {"pause_turn", use("a", "it", `{}`), 0, 0},
		"refused":          {"refusal", use("a", "it", `{}`), 0, 0},
		"toolset":          {"tool_use", `{"type":"tool_use","id":"a","name":"it","toolset_name":"computer","input":{}}`, 0, 0},
		"server":           {"tool_use", `{"type":"server_tool_use","id":"a","name":"it","input":{}}`, 0, 0},
		"nothing":          {"end_turn", `{"type":"text","text":"hello"}`, 0, 0},
		"no content":       {"end_turn", ``, 0, 0},
		"compaction (own)": {"compaction", use("a", "it", `{}`), 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			it := counted("it")
			turn := turnOf(t, newRegistry(t, it))
			results, err := turn.Run(t.Context(), message(t, test.stop, test.content))
			assert.False(t, err != nil || len(it.calls()) != test.ran, "%d calls, %v", len(it.calls()), err)
			got := 0
			for _, m := range results {
				got += len(m.OfUser.Content)
			}
			assert.False(t, got != test.results || test.results == 0 && results != nil, "%d results: %+v", got, results)
			beta, err := turn.RunBeta(t.Context(), betaMessage(t, test.stop, test.content))
			assert.Is(t, err, nil)
			if results, err := turn.Run(t.Context(), nil); results != nil || err != nil {
				t.Errorf("no message: %+v, %v", results, err)
			}
			if results, err := turn.RunBeta(t.Context(), nil); results != nil || err != nil {
				t.Errorf("no message of the beta: %+v, %v", results, err)
			}
			if a, b := mustJSON(t, results), mustJSON(t, beta); canonical(t, a) != canonical(t, b) {
				t.Errorf("the beta has\n%s, not\n%s", b, a)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	return assert.Value(json.Marshal(v))(t)
}

// TestRunFallback leaves the calls of a model alone that another one took over from.
func TestRunFallback(t *testing.T) {
	it := counted("it")
	turn := turnOf(t, newRegistry(t, it))
	results, err := turn.RunBeta(t.Context(), betaMessage(t, "tool_use",
		use("a", "it", `{"n":1}`)+`,{"type":"fallback","from":{"model":"x"},"to":{"model":"y"}},`+use("b", "it", `{"n":2}`)))
	if err != nil || len(results) != 1 || len(results[0].OfUser.Content) != 1 || results[0].OfUser.Content[0].OfToolResult.ToolUseID != "b" {
		t.Errorf("%+v, %v", results, err)
	}
	assert.List(t, it.calls(), []string{`{"n":2}`})
}

func TestRunExactArguments(t *testing.T) {
	it := counted("it")
	turn := turnOf(t, newRegistry(t, it))
	const input = `{"n":12345678901234567890123}`
	assert.Value(turn.Run(t.Context(), message(t, "tool_use", use("a", "it", input))))(t)
	assert.Value(turn.RunBeta(t.Context(), betaMessage(t, "tool_use", use("a", "it", input))))(t)
	for _, got := range it.calls() {
		assert.Equal(t, got, input)
	}
}

const pdfFile = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"

func TestResults(t *testing.T) {
	turn := turnOf(t, registry.New(nil))
	pixel := assert.Value(base64.StdEncoding.DecodeString(pixelPNG))(t)
	answer := func(res *mcp.CallToolResult) profile.Answer {
		return profile.Answer{Call: profile.Call{ID: "a"}, Result: res}
	}
	image := &mcp.ImageContent{MIMEType: "image/png", Data: pixel}
	text := &mcp.TextContent{Text: "look"}
	file := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte(pdfFile)}}
	tests := map[string]struct {
		res  *mcp.CallToolResult
		want string
	}{
		"pdf":           {&mcp.CallToolResult{Content: []mcp.Content{file}}, `"type":"document"`},
		"image":         {&mcp.CallToolResult{Content: []mcp.Content{text, image}}, `"media_type":"image/png"`},
		"failed image":  {&mcp.CallToolResult{IsError: true, Content: []mcp.Content{text, image}}, `"text":"The tool failed:"`},
		"failed text":   {&mcp.CallToolResult{IsError: true, Content: []mcp.Content{text}}, `"is_error":true`},
		"failed, empty": {&mcp.CallToolResult{IsError: true}, `"is_error":true`},
		"empty":         {&mcp.CallToolResult{}, `"text":"The tool returned nothing."`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := string(mustJSON(t, turn.Results(answer(test.res))))
			assert.Contains(t, data, test.want)
			assert.False(t, strings.Contains(data, `"is_error":true`) && strings.Contains(data, `"image"`), "an image beside is_error: %s", data)
			assert.Equal(t, canonical(t, []byte(string(mustJSON(t, turn.BetaResults(answer(test.res)))))), canonical(t, []byte(data)), "the beta")
		})
	}
	assert.False(t, turn.Results() != nil || turn.BetaResults() != nil, "a message without results")
}

// TestBeta has a conversation with the beta, in which a call has to be approved.
func TestBeta(t *testing.T) {
	policy := assert.Value(policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "danger"}))(t)
	r := registry.New(&registry.Options{Approver: policy})
	assert.OK(t, r.Add(tool("danger"), tool("safe")))
	model := newEndpoint(t, calls(use("a", "danger", `{}`), use("b", "safe", `{}`)), says("done"))
	client := newClient(model.URL)
	messages := []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))}
	for {
		tools := assert.Value(belt.Tools(t.Context(), r, nil))(t)
		message := assert.Value(client.Beta.Messages.New(t.Context(), anthropic.BetaMessageNewParams{
			Model: "scripted", MaxTokens: 100, Messages: messages, Tools: tools.BetaParams(messages...),
		}))(t)
		messages = append(messages, message.ToParam())
		results, err := tools.RunBeta(t.Context(), message)
		if results != nil && err != nil {
			t.Fatalf("results %+v beside %v", results, err)
		}
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			assert.Value(r.Approve(t.Context(), waiting.Waiting()[0].Approval().ID, nil))(t)
			results = tools.BetaResults(assert.Value(tools.Wait(t.Context(), waiting))(t)...)
		} else if err != nil {
			t.Fatal(err)
		}
		if results == nil {
			break
		}
		messages = append(messages, results...)
	}
	got := model.requests()[1].Results
	assert.False(t, len(got) != 2 || got[0].Text != "danger done" || got[1].Text != "safe done", "%+v", got)
}

// TestRunEnded has results for all calls even if the context ends.
func TestRunEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the user left")
	cancel(reason)
	results, err := turnOf(t, newRegistry(t, tool("it"))).Run(ctx, message(t, "tool_use", use("a", "it", `{}`)+","+use("b", "it", `{}`)))
	assert.False(t, !errors.Is(err, reason) || len(results) != 1 || len(results[0].OfUser.Content) != 2, "%+v, %v", results, err)
}

// TestConcurrency has many conversations with one registry, whose tools change.
func TestConcurrency(t *testing.T) {
	r := newRegistry(t, tool("it"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := newConversation(r, newEndpoint(t, calls(use("a", "it", `{}`), use("b", "it", `{}`)), says("done")).URL, nil, false)
			if turn, err := c.Ask(t.Context(), "go"); err != nil || turn.Text != "done" {
				t.Errorf("%+v, %v", turn, err)
			}
			run := &running{client: newClient(newEndpoint(t, calls(use("a", "it", `{}`), use("b", "it", `{}`)), says("done")).URL), registry: r}
			if turn, err := run.Ask(t.Context(), "go"); err != nil || turn.Text != "done" {
				t.Errorf("%+v, %v", turn, err)
			}
		})
		wg.Go(func() {
			name := fmt.Sprintf("other_%d", i)
			for range 20 {
				assert.Is(t, r.Add(tool(name)), nil)
				r.Remove(name)
			}
		})
	}
	wg.Wait()
}

func FuzzRun(f *testing.F) {
	for _, seed := range []string{`{}`, `{"n":1e999}`, `null`, `[]`, `"\ud800"`, `{"n":1,"n":2}`, `{"n":`, ``} {
		f.Add(seed, "tool_use")
	}
	r := registry.New(nil)
	assert.OK(f, r.Add(counted("it")))
	f.Fuzz(func(t *testing.T, input, stop string) {
		m := &anthropic.Message{StopReason: anthropic.StopReason(stop), Content: []anthropic.ContentBlockUnion{
			{Type: "tool_use", ID: "a", Name: "it", Input: json.RawMessage(input)},
		}}
		results := assert.Value(turnOf(t, r).Run(t.Context(), m))(t)
		for _, m := range results {
			assert.False(t, len(assert.Only(t, m.OfUser.Content).OfToolResult.Content) == 0)
			mustJSON(t, m)
		}
	})
}
