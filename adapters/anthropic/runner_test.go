package anthropic_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A running conversation is that of the SDK's tool runner, a runner for each message
// of the user.
type running struct {
	client   anthropic.Client
	registry *registry.Registry
	opts     *belt.Options

	tools  *belt.RunnerTools
	runner *anthropic.BetaToolRunner
}

func (c *running) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	var messages []anthropic.BetaMessageParam
	if c.runner != nil {
		messages = c.tools.Messages(c.runner)
	}
	tools, err := belt.NewRunnerTools(ctx, c.registry, c.opts)
	if err != nil {
		return nil, err
	}
	c.tools = tools
	c.runner = c.client.Beta.Messages.NewToolRunner(tools.List(), anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "scripted", MaxTokens: 1024,
			Messages: append(messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(message))),
		},
	})
	return c.Resume(ctx)
}

func (c *running) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		var waiting *profile.WaitingError
		err := c.tools.Prepare(ctx, c.runner)
		switch {
		case errors.As(err, &waiting):
			return adaptertest.Waiting(waiting), nil
		case err != nil:
			return nil, err
		}
		message, err := c.runner.NextMessage(ctx)
		if err != nil {
			return nil, err
		}
		if message == nil {
			return &adaptertest.Turn{Text: c.runner.LastMessage().Content[0].Text}, nil
		}
	}
}

func TestToolRunner(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "anthropic", Runtime: "ToolRunner", Framework: framework,
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError` of `Prepare`",
		Without: map[string]string{"unknown": "the runner itself answers such a call, and does not say what is alike", "mended": "the runner itself answers such calls"},
		Start: func(_ *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &running{client: newClient(url), registry: r}
		},
	})
}

const pixelPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// newRunner returns a runner of the SDK with the tools of a registry.
func newRunner(t *testing.T, r *registry.Registry, model *endpoint, opts *belt.Options) (*belt.RunnerTools, *anthropic.BetaToolRunner) {
	t.Helper()
	return newClientRunner(t, r, newClient(model.URL), opts, anthropic.BetaToolRunnerParams{})
}

// newClientRunner returns a runner of a client, which has what params say.
func newClientRunner(t *testing.T, r *registry.Registry, client anthropic.Client, opts *belt.Options, params anthropic.BetaToolRunnerParams) (*belt.RunnerTools, *anthropic.BetaToolRunner) {
	t.Helper()
	tools := assert.Value(belt.NewRunnerTools(t.Context(), r, opts))(t)
	params.Model, params.MaxTokens = "scripted", 100
	params.Messages = []anthropic.BetaMessageParam{betaText("go")}
	return tools, client.Beta.Messages.NewToolRunner(tools.List(), params)
}

// step prepares a step, and has it.
func step(t *testing.T, tools *belt.RunnerTools, runner *anthropic.BetaToolRunner) *anthropic.BetaMessage {
	t.Helper()
	assert.OK(t, tools.Prepare(t.Context(), runner))
	return assert.Value(runner.NextMessage(t.Context()))(t)
}

// TestRunnerTriesAgain has no tool run twice, and no result sent twice, when a request
// fails.
func TestRunnerTriesAgain(t *testing.T) {
	it := counted("it")
	ran := 0
	it.result = func() *mcp.CallToolResult {
		ran++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", ran)}}}
	}
	r := newRegistry(t, it)
	model := newEndpoint(t, calls(use("a", "it", `{"n":1}`), use("b", "it", `{"n":12345678901234567890}`), use("c", "it", `{"n":1}`)),
		reply{status: 500}, reply{status: 529}, says("done"))
	tools, runner := newRunner(t, r, model, nil)
	step(t, tools, runner)
	for range 2 {
		assert.OK(t, tools.Prepare(t.Context(), runner))
		assert.Fails(t, assert.Err(runner.NextMessage(t.Context())), "the request did not fail")
	}
	assert.Equal(t, step(t, tools, runner).Content[0].Text, "done")
	if message := step(t, tools, runner); message != nil {
		t.Errorf("%+v", message)
	}
	got := it.calls()
	assert.True(t, len(got) == 3, "the tool ran with %q", got)
	exact := 0
	for _, args := range got {
		if args == `{"n":12345678901234567890}` {
			exact++
		}
	}
	assert.True(t, exact == 1, "the tool got %q", got)
	last := model.requests()[3]
	if len(last.Results) != 3 {
		t.Fatalf("got %d results, want 3", len(last.Results))
	}
	if a, b := last.Results[0].Text, last.Results[2].Text; a == b {
		t.Errorf("two calls alike have the result %q of one", a)
	}
}

// TestRunnerMaxIterations makes no calls whose results the model does not get any more.
func TestRunnerMaxIterations(t *testing.T) {
	it := counted("it")
	model := newEndpoint(t, calls(use("a", "it", `{}`)), calls(use("b", "it", `{}`)))
	tools, runner := newRunner(t, newRegistry(t, it), model, nil)
	runner.Params.MaxIterations = 2
	for range 2 {
		if step(t, tools, runner) == nil {
			t.Fatal("the runner ended")
		}
	}
	for range 2 {
		if message := step(t, tools, runner); message != nil || !runner.IsCompleted() {
			t.Errorf("%+v", message)
		}
	}
	assert.Equal(t, len(it.calls()), 1)
}

// TestRunnerOwnResult gives each call its own result, whichever the runner runs first.
func TestRunnerOwnResult(t *testing.T) {
	echo := registry.MustFunc("echo", "says n", func(_ context.Context, in struct{ N int }) (int, error) { return in.N, nil })
	var uses []string
	for i := range 16 {
		uses = append(uses, use(fmt.Sprint("id", i), "echo", fmt.Sprintf(`{"N":%d}`, i)))
	}
	model := newEndpoint(t, calls(uses...), says("done"))
	tools, runner := newRunner(t, newRegistry(t, echo), model, nil)
	step(t, tools, runner)
	step(t, tools, runner)
	for i, r := range model.requests()[1].Results {
		assert.Equal(t, r.Text, fmt.Sprint(i), "call %d has the result", i)
	}
}

// TestRunnerCutOff makes no calls of a message with which the runner stops.
func TestRunnerCutOff(t *testing.T) {
	it := counted("it")
	model := newEndpoint(t, reply{stop: "max_tokens", content: use("a", "it", `{}`) + "," + use("b", "it", `{}`)})
	tools, runner := newRunner(t, newRegistry(t, it), model, nil)
	step(t, tools, runner)
	if message := step(t, tools, runner); message != nil || len(it.calls()) != 0 {
		t.Errorf("%d calls, %+v", len(it.calls()), message)
	}
}

// TestRunnerWithout has the runner work without Prepare.
func TestRunnerWithout(t *testing.T) {
	policy := assert.Value(policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "danger"}))(t)
	r := registry.New(&registry.Options{Approver: policy})
	danger := counted("danger")
	pixel := assert.Value(base64.StdEncoding.DecodeString(pixelPNG))(t)
	failed := counted("failed")
	failed.result = func() *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "see"}, &mcp.ImageContent{MIMEType: "image/png", Data: pixel}}}
	}
	assert.OK(t, r.Add(danger, failed, tool("safe")))
	model := newEndpoint(t, calls(use("a", "safe", `{}`), use("b", "danger", `{}`), use("c", "failed", `{}`)), says("done"))
	_, runner := newRunner(t, r, model, nil)
	assert.Equal(t, assert.Value(runner.RunToCompletion(t.Context()))(t).Content[0].Text, "done")
	got := model.requests()[1].Results
	if len(danger.calls()) != 0 || len(got) != 3 || got[0].Text != "safe done" || got[0].Failed {
		t.Fatalf("%+v", got)
	}
	assert.True(t, got[1].Failed, "of a call that waits the model is told")
	assert.Contains(t, got[1].Text, "approv", "of a call that waits the model is told")
	assert.Equal(t, len(got[2].Media), 1, "of a failure with an image the model is told")
	assert.Contains(t, got[2].Text, "The tool failed:", "of a failure with an image the model is told")
}

func toolNames(r received) []string {
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// TestRunnerFixed says nothing of new tools.
func TestRunnerFixed(t *testing.T) {
	r := newRegistry(t, tool("it"))
	model := newEndpoint(t, calls(use("a", "it", `{}`)), says("done"))
	tools, runner := newRunner(t, r, model, nil)
	step(t, tools, runner)
	assert.OK(t, r.Add(tool("new")))
	step(t, tools, runner)
	assert.List(t, toolNames(model.requests()[1]), []string{"it"}, "the model is told of")
}

// TestRunnerDeclares has what the SDK's tools cannot say in the runner's requests.
func TestRunnerDeclares(t *testing.T) {
	r := newRegistry(t, tool("it"), tool("later"))
	model := newEndpoint(t, calls(use("a", "later", `{}`)), says("done"))
	tools, runner := newRunner(t, r, model, &belt.Options{
		Turn:  profile.TurnOptions{Options: profile.Options{Deferred: func(d *registry.Definition) bool { return d.Name == "later" }}},
		Cache: anthropic.CacheControlEphemeralTTLTTL5m,
	})
	step(t, tools, runner)
	step(t, tools, runner)
	first := model.requests()[0]
	raw := string(mustJSON(t, first.Raw))
	assert.Equal(t, len(first.Raw), 3)
	assert.Contains(t, raw, "tool_search_tool_bm25")
	assert.Contains(t, raw, `"cache_control":{"ttl":"5m"`)
	for _, tool := range first.Tools {
		assert.True(t, tool.Deferred == (tool.Name == "later"), "%+v", tool)
	}
	assert.Equal(t, assert.Only(t, model.requests()[1].Results).Text, "later done")
}

// TestRunnerOther leaves tools of the program alone.
func TestRunnerOther(t *testing.T) {
	same := counted("same")
	r := newRegistry(t, tool("it"), same)
	model := newEndpoint(t, calls(use("a", "same", `{}`), use("b", "it", `{}`)), says("done"))
	tools := assert.Value(belt.NewRunnerTools(t.Context(), r, &belt.Options{Turn: profile.TurnOptions{Keep: func(d *registry.Definition) bool { return d.Name != "same" }}}))(t)
	own := &ownTool{name: "same"}
	client := newClient(model.URL)
	runner := client.Beta.Messages.NewToolRunner(append(tools.List(), own), anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "scripted", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
	}})
	step(t, tools, runner)
	step(t, tools, runner)
	got := model.requests()[1].Results
	if own.ran != 1 || len(same.calls()) != 0 || len(got) != 2 || got[0].Text != "own" || got[1].Text != "it done" {
		t.Errorf("the program's ran %d times, the registry's %d; %+v", own.ran, len(same.calls()), got)
	}
}

type ownTool struct {
	name string
	ran  int
}

func (o *ownTool) Name() string        { return o.name }
func (o *ownTool) Description() string { return "the program's" }
func (o *ownTool) InputSchema() anthropic.BetaToolInputSchemaParam {
	return anthropic.BetaToolInputSchemaParam{Properties: map[string]any{}}
}
func (o *ownTool) Execute(context.Context, json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	o.ran++
	return []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: "own"}}}, nil
}

// TestRunnerStreaming has the runner that streams wait for an approval.
func TestRunnerStreaming(t *testing.T) {
	policy := assert.Value(policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "danger"}))(t)
	r := registry.New(&registry.Options{Approver: policy})
	assert.OK(t, r.Add(tool("danger")))
	model := adaptertest.NewModel(t, adaptertest.Anthropic{})
	model.Then(func(*adaptertest.Request) adaptertest.Reply {
		return adaptertest.Reply{Text: "so", Calls: []adaptertest.Call{{ID: "a", Name: "danger", Arguments: json.RawMessage(`{}`)}}}
	}, func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
	tools := assert.Value(belt.NewRunnerTools(t.Context(), r, nil))(t)
	client := newClient(model.URL)
	runner := client.Beta.Messages.NewToolRunnerStreaming(tools.List(), anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "scripted", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
	}})
	waited := 0
	for !runner.IsCompleted() {
		var waiting *profile.WaitingError
		if err := tools.PrepareStreaming(t.Context(), runner); errors.As(err, &waiting) {
			waited++
			assert.Value(r.Approve(t.Context(), waiting.Waiting()[0].Approval().ID, nil))(t)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for _, err := range runner.NextStreaming(t.Context()) {
			assert.OK(t, err)
		}
	}
	got := model.Requests()
	if waited != 1 || len(got) != 2 || len(got[1].Results) != 1 || got[1].Results[0].Text != "danger done" {
		t.Errorf("waited %d times; %+v", waited, got)
	}
}

// TestRunnerTriesAgainBesideOthers has no result sent twice when a request fails in which
// results of the program's own tools stand, too.
func TestRunnerTriesAgainBesideOthers(t *testing.T) {
	for name, uses := range map[string][]string{
		"both": {use("a", "it", `{}`), use("b", "own", `{}`)},
		"own":  {use("b", "own", `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			it := counted("it")
			model := newEndpoint(t, calls(uses...), reply{status: 500}, reply{status: 500}, says("done"))
			tools := assert.Value(belt.NewRunnerTools(t.Context(), newRegistry(t, it), nil))(t)
			client := newClient(model.URL)
			runner := client.Beta.Messages.NewToolRunner(append(tools.List(), &ownTool{name: "own"}), anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
				Model: "scripted", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
			}})
			step(t, tools, runner)
			for range 2 {
				assert.OK(t, tools.Prepare(t.Context(), runner))
				assert.Fails(t, assert.Err(runner.NextMessage(t.Context())), "the request did not fail")
			}
			assert.Equal(t, step(t, tools, runner).Content[0].Text, "done")
			if got := model.requests()[3].Results; len(got) != len(uses) || len(it.calls()) != len(uses)-1 {
				t.Errorf("%d results, %d calls", len(got), len(it.calls()))
			}
		})
	}
}
