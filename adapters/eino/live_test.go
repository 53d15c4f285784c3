package eino_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// newInstaller returns a registry whose tool install adds the tool picture, and removes
// itself.
func newInstaller(t *testing.T) *registry.Registry {
	t.Helper()
	r := registry.New(nil)
	assert.OK(t, r.Add(returning("install", func() (*mcp.CallToolResult, error) {
		r.Remove("install")
		return &mcp.CallToolResult{}, r.Add(pictureTool("picture", func() {}))
	})))
	return r
}

// ownTool is a tool of the program, not of the registry.
func ownTool(t *testing.T) tool.BaseTool {
	t.Helper()
	return assert.Value(utils.InferTool("own", "is of the program", func(context.Context, target) (string, error) { return "mine", nil }))(t)
}

func told(r *adaptertest.Request) []string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// A tool that comes while the agent runs is told of in its next step, and called with all
// that it returns. One that goes is not told of any more.
func TestListChangesWhileAgentRuns(t *testing.T) {
	model := newModel(t)
	b := belt.New(newInstaller(t), nil)
	config := assert.Value(b.ToolsNode(t.Context()))(t)
	own := ownTool(t)
	config.Tools = append(config.Tools, own)
	reacting := assert.Value(react.NewAgent(t.Context(), &react.AgentConfig{ToolCallingModel: b.Model(newModelOf(t, "", model.URL)), ToolsConfig: config, MaxStep: 20}))(t)
	model.Then(calls("install", `{}`), calls("picture", `{}`, "own", `{"name":"x"}`), calls("install", `{}`), says("done"))
	answer := assert.Value(reacting.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")}, agent.WithComposeOptions(b.Live(t.Context(), own))))(t)
	assert.Equal(t, answer.Content, "done")
	requests := model.Requests()
	assert.List(t, told(requests[0]), []string{"install", "own"}, "first the model is told of")
	assert.List(t, told(requests[1]), []string{"own", "picture"}, "then the model is told of")
	last := requests[3]
	assert.Equal(t, len(last.Media), 1, "the model")
	assert.Equal(t, last.Results[2].Text, "mine", "the model")
	assert.Contains(t, last.Results[3].Text, "The tool failed:", "the model")
}

// The agent of adk calls such a tool too, as text until the run is over, and sends an
// event for each result.
func TestListChangesWhileAgentOfADKRuns(t *testing.T) {
	for _, text := range []bool{false, true} {
		model := newModel(t)
		model.Then(calls("install", `{}`), calls("picture", `{}`), says("done"))
		a := &adkAgent{belt: belt.New(newInstaller(t), &belt.Options{Turn: profile.TurnOptions{TextOnly: text}}), model: newModelOf(t, "", model.URL), store: newStore()}
		assert.Equal(t, assert.Value(a.Ask(t.Context(), "go"))(t).Text, "done")
		last := model.Requests()[2]
		assert.List(t, told(last), []string{"picture"}, "the model")
		assert.Equal(t, last.Results[1].Text, "look:\n[image image/png, 71 bytes]", "the model")
		var roles []string
		for _, m := range a.messages {
			roles = append(roles, string(m.Role))
		}
		assert.True(t, slices.Equal(roles, []string{"user", "assistant", "tool", "assistant", "tool", "assistant"}), "the events are %q", roles)
	}
}

// The agent's own tools for transfer and exit stay beside those of the registry.
func TestOtherToolsOfAgent(t *testing.T) {
	model := newModel(t)
	b := belt.New(newInstaller(t), nil)
	tools := assert.Value(b.AgentTools(t.Context()))(t)
	made := assert.Value(adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "agent", Description: "ends", Model: b.Model(newModelOf(t, "", model.URL)), ToolsConfig: tools, Exit: adk.ExitTool{},
	}))(t)
	model.Then(calls("install", `{}`), calls("exit", `{"final_result":"over"}`))
	a := &adkAgent{}
	assert.Equal(t, assert.Value(a.events(adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: made}).Query(t.Context(), "go")))(t).Text, "over")
	assert.List(t, told(model.Requests()[1]), []string{"exit", "picture"}, "the model is told of")
}

// The tools that go with a request as an option are replaced as well.
func TestToolsAsOptions(t *testing.T) {
	model := newModel(t)
	b := belt.New(newInstaller(t), nil)
	reacting := assert.Value(react.NewAgent(t.Context(), &react.AgentConfig{ToolCallingModel: b.Model(newModelOf(t, "", model.URL)), MaxStep: 20,
		ToolsConfig: compose.ToolsNodeConfig{UnknownToolsHandler: b.Unknown}}))(t)
	tools := assert.Value(b.Tools(t.Context()))(t)
	opts := assert.Value(react.WithTools(t.Context(), append(tools, ownTool(t))...))(t)
	model.Then(calls("install", `{}`), calls("picture", `{}`, "own", `{"name":"x"}`), says("done"))
	assert.Equal(t, assert.Value(reacting.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")}, opts...))(t).Content, "done")
	assert.List(t, told(model.Requests()[2]), []string{"own", "picture"}, "the model is told of")
	if got := model.Requests()[2].Results; got[1].Text != "look:\n[image image/png, 71 bytes]" || got[2].Text != "mine" {
		t.Errorf("the model got %+v", got)
	}
}

// Without tools there is nothing that a model would refuse.
func TestNoTools(t *testing.T) {
	model := newModel(t)
	reg := registry.New(nil)
	m := belt.New(reg, nil).Model(newModelOf(t, "", model.URL))
	model.Then(says("one"), says("two"))
	assert.Value(m.Generate(t.Context(), []*schema.Message{schema.UserMessage("a")}))(t)
	assert.OK(t, reg.Add(pictureTool("picture", func() {})))
	assert.Value(assert.Value(m.WithTools(nil))(t).Generate(t.Context(), []*schema.Message{schema.UserMessage("a")}))(t)
	if got := model.Requests(); len(got[0].Tools) != 0 || !slices.Equal(told(got[1]), []string{"picture"}) {
		t.Errorf("the model was told of %+v, %+v", got[0].Tools, got[1].Tools)
	}
}

func TestUnknownProvider(t *testing.T) {
	b := belt.New(registry.New(nil), &belt.Options{Provider: "somebody"})
	assert.Fails(t, assert.Err(b.Tools(t.Context())), "Tools has made tools")
	assert.Fails(t, assert.Err(b.ToolsNode(t.Context())), "ToolsNode has made tools")
	assert.Fails(t, assert.Err(b.AgentTools(t.Context())), "AgentTools has made tools")
	assert.Fails(t, assert.Err(b.Unknown(t.Context(), "x", "{}")), "Unknown has made a call")
	assert.Fails(t, assert.Err(b.Model(&toldModel{}).Generate(t.Context(), nil)), "the model was asked")
	assert.Fails(t, assert.Err(b.Model(&toldModel{}).Stream(t.Context(), nil)), "the model was asked")
}
