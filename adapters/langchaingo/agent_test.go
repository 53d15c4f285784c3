package langchaingo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	belt "github.com/mcpbelt/mcpbelt/adapters/langchaingo"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A raw tool returns its arguments.
type raw struct{ name, description, schema string }

func (r raw) Definition() *registry.Definition {
	return &registry.Definition{Name: r.name, Description: r.description, InputSchema: json.RawMessage(r.schema)}
}

func (r raw) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(args)}}}, nil
}

const (
	none   = `{"type":"object"}`
	one    = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	maybe  = `{"type":"object","properties":{"city":{"type":["null","string"]}}}`
	number = `{"type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}`
	two    = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`
	secret = `{"type":"object","properties":{"__arg1":{"type":"string"}},"required":["__arg1"]}`
)

func newRegistry(t *testing.T, opts *registry.Options, all ...registry.Tool) *registry.Registry {
	t.Helper()
	r := registry.New(opts)
	assert.OK(t, r.Add(all...))
	return r
}

// agentTools returns the tools of a turn by name.
func agentTools(t *testing.T, r *registry.Registry, opts *belt.Options) map[string]tools.Tool {
	t.Helper()
	turn := assert.Value(belt.Tools(t.Context(), r, opts))(t)
	all := map[string]tools.Tool{}
	for _, tool := range turn.AgentTools() {
		all[tool.Name()] = tool
	}
	return all
}

func TestInput(t *testing.T) {
	all := agentTools(t, newRegistry(t, nil,
		raw{"none", "", none}, raw{"one", "", one}, raw{"maybe", "", maybe}, raw{"number", "", number}, raw{"two", "", two}, raw{"secret", "", secret}), nil)
	for _, c := range []struct{ tool, input, want string }{
		{"one", `{"city":"Bonn"}`, `{"city":"Bonn"}`},
		{"one", " \n{\"city\":\"Bonn\"}\n ", `{"city":"Bonn"}`},
		{"one", "Bonn", `{"city":"Bonn"}`},
		{"one", `"Bonn"`, `{"city":"Bonn"}`},
		{"one", `"Bonn" am Rhein`, `{"city":"\"Bonn\" am Rhein"}`},
		{"one", "```json\n{\"city\":\"Bonn\"}\n```", `{"city":"Bonn"}`},
		{"one", "```\nBonn\n```", `{"city":"Bonn"}`},
		{"one", "```Bonn", "{\"city\":\"```Bonn\"}"},
		{"one", "```Bonn```", "{\"city\":\"```Bonn```\"}"},
		{"one", `["Bonn"]`, `{"city":"[\"Bonn\"]"}`},
		{"one", "12", `{"city":"12"}`},
		{"one", `{"__arg1":"Bonn"}`, `{"city":"Bonn"}`},
		{"one", `{"__arg1":{"city":"Bonn"}}`, `{"city":"Bonn"}`},
		{"one", `{"__arg1":"{\"city\":\"Bonn\"}"}`, `{"city":"Bonn"}`},
		{"one", `{"__arg1":"Berlin","city":"Bonn"}`, `{"__arg1":"Berlin","city":"Bonn"}`},
		{"secret", `{"__arg1":"{\"__arg1\":1}"}`, `{"__arg1":"{\"__arg1\":1}"}`},
		{"one", `{"city":"Bo`, "The input of one has to be a JSON object of this schema: "},
		{"one", `{"__arg1":"Bo`, "The input of one has to be a JSON object of this schema: "},
		{"none", "{", "The input of none has to be a JSON object of this schema: "},
		{"one", "", "city"},
		{"one", "null", "city"},
		{"one", `{"town":"Bonn"}`, "city"},
		{"maybe", "Bonn", `{"city":"Bonn"}`},
		{"maybe", "", `{}`},
		{"maybe", "null", `{}`},
		{"none", "", `{}`},
		{"none", "null", `{}`},
		{"none", "{}", `{}`},
		{"none", "now", `"type":"object"`},
		{"number", "7", "The input of number has to be a JSON object of this schema: "},
		{"number", `{"days":7}`, `{"days":7}`},
		{"two", "Bonn", "The input of two has to be a JSON object of this schema: "},
		{"two", `{"city":"Bonn","days":9007199254740993}`, `{"city":"Bonn","days":9007199254740993}`},
		{"secret", "Bonn", `{"__arg1":"Bonn"}`},
		{"secret", `{"__arg1":"Bonn"}`, `{"__arg1":"Bonn"}`},
		{"one", strings.Repeat(`{"__arg1":`, 2000) + `"x"` + strings.Repeat("}", 2000), "The tool failed:"},
	} {
		got, err := all[c.tool].Call(t.Context(), c.input)
		ran := strings.HasPrefix(c.want, "{")
		if err != nil || ran && got != c.want || !strings.Contains(got, c.want) || ran == strings.HasPrefix(got, "The tool failed:") {
			t.Errorf("%s(%q) is %q, %v; want %q", c.tool, c.input, got, err, c.want)
		}
	}
}

func FuzzInput(f *testing.F) {
	for _, s := range []string{"Bonn", `{"city":"Bonn"}`, `"a"`, "```json\n{}\n```", `{"__arg1":"x"}`, "\xff", "{", "null", "\x00"} {
		f.Add(s)
	}
	r := registry.New(nil)
	assert.OK(f, r.Add(raw{"one", "", one}, raw{"two", "", two}, raw{"none", "", none}))
	turn := assert.Value(belt.Tools(f.Context(), r, nil))(f)
	f.Fuzz(func(t *testing.T, input string) {
		for _, tool := range turn.AgentTools() {
			got := assert.Value(tool.Call(t.Context(), input))(t)
			assert.False(t, got == "")
			if !strings.HasPrefix(got, "The tool failed:") && !json.Valid([]byte(got)) {
				t.Errorf("%s got %q", tool.Name(), got)
			}
		}
	})
}

// The executor looks tools up by name, whatever the case.
func TestNamesThatDifferInCase(t *testing.T) {
	all := agentTools(t, newRegistry(t, nil, raw{"erase", "", none}, raw{"Erase", "", none}, raw{"other", "", none}), nil)
	assert.False(t, len(all) != 2 || all["other"] == nil, "the tools are %v", all)
}

func TestDescriptionOfAgentTool(t *testing.T) {
	all := agentTools(t, newRegistry(t, nil, raw{"one", "does one", one}, raw{"none", "does none", none}, raw{"bare", "", number}), nil)
	if got := all["one"].Description(); !strings.HasPrefix(got, "does one\nThe input is a JSON object of this schema: {") || !strings.Contains(got, "city") {
		t.Errorf("%q", got)
	}
	assert.Equal(t, all["none"].Description(), "does none")
	assert.True(t, strings.HasPrefix(all["bare"].Description(), "The input is"))
}

func scripted(t *testing.T, replies ...adaptertest.Reply) (llms.Model, *adaptertest.Model) {
	t.Helper()
	m := adaptertest.NewModel(t, adaptertest.OpenAIChat{})
	for _, reply := range replies {
		m.Then(func(*adaptertest.Request) adaptertest.Reply { return reply })
	}
	return newModel(t, m.URL), m
}

// An agent that writes text finds what it needs in the descriptions.
func TestReAct(t *testing.T) {
	turn := assert.Value(belt.Tools(t.Context(), newRegistry(t, nil, raw{"one", "tells the weather", one}, raw{"two", "tells more", two}), nil))(t)
	llm, model := scripted(t,
		adaptertest.Reply{Text: "Thought: let me see\nAction: one\nAction Input: Bonn"},
		adaptertest.Reply{Text: "Thought: more\nAction: two\nAction Input: Bonn, 3 days"},
		adaptertest.Reply{Text: "Thought: I see\nAction: two\nAction Input: {\"city\": \"Bonn\", \"days\": 3}"},
		adaptertest.Reply{Text: "Thought: done\nFinal Answer: it rains"})
	executor := agents.NewExecutor(agents.NewOneShotAgent(llm, turn.AgentTools()))
	assert.Equal(t, assert.Value(chains.Run(t.Context(), executor, "What is the weather?"))(t), "it rains")
	requests := model.Requests()
	last := strings.Join(requests[len(requests)-1].Users, "\n")
	for _, want := range []string{
		"tells the weather", `"days":{"type":"integer"}`, `Observation: {"city":"Bonn"}`,
		"Observation: The tool failed:\nThe input of two has to be a JSON object of this schema: {", `Observation: {"city": "Bonn", "days": 3}`,
	} {
		assert.True(t, strings.Contains(last, want), "the model has no %q before it:\n%s", want, last)
	}
}

func call(id, name, args string) adaptertest.Call {
	return adaptertest.Call{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

// Without the wrapper an agent of function calls has its own schema.
func TestAgentWithItsOwnSchema(t *testing.T) {
	turn := assert.Value(belt.Tools(t.Context(), newRegistry(t, nil, raw{"two", "", two}), nil))(t)
	llm, model := scripted(t,
		adaptertest.Reply{Calls: []adaptertest.Call{call("a", "two", `{"__arg1":"{\"city\":\"Bonn\"}"}`), call("b", "two", `{"__arg1":{"city":"Ulm"}}`), call("c", "two", `{"txet":1}`)}},
		adaptertest.Reply{Text: "done"})
	executor := agents.NewExecutor(agents.NewOpenAIFunctionsAgent(llm, turn.AgentTools()))
	assert.Equal(t, assert.Value(chains.Run(t.Context(), executor, "go"))(t), "done")
	results := model.Requests()[1].Results
	if len(results) != 3 || results[0].Text != `{"city":"Bonn"}` || results[1].Text != `{"city":"Ulm"}` ||
		!strings.HasPrefix(results[2].Text, "The tool failed:") || !strings.Contains(results[2].Text, "city") {
		t.Errorf("%+v", results)
	}
}

func asking(t *testing.T) *registry.Options {
	t.Helper()
	policy := assert.Value(policy.New(approval.Ask))(t)
	return &registry.Options{Approver: policy}
}

func TestExecutorThatDoesNotWait(t *testing.T) {
	turn, err := belt.Tools(t.Context(), newRegistry(t, asking(t), raw{"none", "", none}), nil)
	assert.OK(t, err)
	llm, _ := scripted(t, adaptertest.Reply{Calls: []adaptertest.Call{call("a", "none", `{}`)}})
	_, err = chains.Run(t.Context(), agents.NewExecutor(agents.NewOpenAIFunctionsAgent(turn.Model(llm), turn.AgentTools())), "go")
	var waiting *profile.WaitingError
	assert.False(t, !errors.As(err, &waiting) || len(waiting.Waiting()) != 1, "the program gets %v", err)
}

func TestWaitingRefuses(t *testing.T) {
	mine := errors.New("nobody is there")
	r := newRegistry(t, asking(t), raw{"none", "", none})
	all := agentTools(t, r, &belt.Options{Waiting: func(context.Context, *profile.WaitingError) error { return mine }})
	if got, err := all["none"].Call(t.Context(), "{}"); !errors.Is(err, mine) || got != "" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user has gone")
	r := newRegistry(t, asking(t), raw{"none", "", none})
	all := agentTools(t, r, &belt.Options{Waiting: func(context.Context, *profile.WaitingError) error { cancel(gone); return nil }})
	if got, err := all["none"].Call(ctx, "{}"); !errors.Is(err, gone) || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	assert.True(t, len(r.Approvals(t.Context())) == 1, "the call does not wait any more")
}

// The wrapper leaves alone what is not of the belt.
func TestModelKeepsOtherFunctions(t *testing.T) {
	turn := assert.Value(belt.Tools(t.Context(), newRegistry(t, nil, raw{"two", "does two", two}), nil))(t)
	llm, model := scripted(t, adaptertest.Reply{Text: "done"})
	mine := []llms.FunctionDefinition{
		{Name: "mine", Description: "does mine", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "two", Description: "?", Parameters: json.RawMessage(one)},
	}
	assert.Value(turn.Model(llm).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hi")}, llms.WithFunctions(mine)))(t)
	told := model.Requests()[0].Tools
	if len(told) != 2 || told[0].Description != "does mine" || told[1].Description != "does two" || !strings.Contains(string(told[1].Schema), "days") {
		t.Errorf("%+v", told)
	}
	assert.True(t, mine[1].Description == "?", "the caller's own functions have changed")
}

// An agent gets the line that stands for an image, and no image.
func TestImageForAgent(t *testing.T) {
	look := registry.Tool(pictures{raw{"look", "", none}})
	assert.Equal(t, assert.Value(agentTools(t, newRegistry(t, nil, look), nil)["look"].Call(t.Context(), "{}"))(t), "[image image/gif, 35 bytes]")
}

type pictures struct{ raw }

func (pictures) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return gif(), nil
}

// A call whose arguments never came is no call without arguments.
func TestAgentCallThatWasCutOff(t *testing.T) {
	turn := assert.Value(belt.Tools(t.Context(), newRegistry(t, nil, raw{"none", "", none}), nil))(t)
	for reason, cut := range map[string]bool{"length": true, "": true, "tool_calls": false} {
		llm := &cutOffModel{reason: reason}
		executor := agents.NewExecutor(agents.NewOpenAIFunctionsAgent(turn.Model(llm), turn.AgentTools()))
		if got, err := chains.Run(t.Context(), executor, "go"); err != nil || got != "done" || strings.HasPrefix(llm.told, "The tool failed:") != cut {
			t.Errorf("%s: %q, %v, %q", reason, got, err, llm.told)
		}
	}
}

// A cutOffModel comes to its limit before the arguments of a call.
type cutOffModel struct {
	llms.Model
	reason string
	told   string
}

func (m *cutOffModel) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	choice := &llms.ContentChoice{Content: "done", StopReason: "stop"}
	if r, ok := messages[len(messages)-1].Parts[0].(llms.ToolCallResponse); ok {
		m.told = r.Content
	} else {
		choice = &llms.ContentChoice{StopReason: m.reason, ToolCalls: []llms.ToolCall{toolCall("1", "none", "")}}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{nil, choice}[1:]}, nil
}
