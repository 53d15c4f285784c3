package fantasy_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"charm.land/fantasy"

	belt "github.com/mcpbelt/mcpbelt/adapters/fantasy"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A returning tool returns one result.
type returning struct{ res *mcp.CallToolResult }

func (returning) Definition() *registry.Definition {
	return &registry.Definition{Name: "look", Description: "looks", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// A shaped tool has a schema.
type shaped struct {
	returning
	schema string
}

func (s shaped) Definition() *registry.Definition {
	return &registry.Definition{Name: "look", InputSchema: json.RawMessage(s.schema)}
}

// A named model has nothing but the name of its provider.
type named struct {
	fantasy.LanguageModel
	provider string
}

func (n named) Provider() string { return n.provider }

// TestSchemasForGoogle has schemas of which fantasy's converter for Google keeps one type,
// or text, and what is required.
func TestSchemasForGoogle(t *testing.T) {
	for _, test := range []struct{ provider, schema, want string }{
		//report: Models | taylorwilsdon/google_workspace_mcp#1099 | a server writes an optional argument as a number or null, and the converter for Gemini, which reads one type, tells the model text | the number is told as a number that may be null
		{"google", `{"type":"object","properties":{"days":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"how many"}}}`,
			`{"days":{"description":"how many\nMay be null.","type":"integer"}} []`},
		//report: Models | google-gemini/gemini-cli#21094, t8y2/dbx#6233 | a list of types, with null among them, stands where the converter for Gemini reads one name | the first type that is not null is told, with the items of lists
		{"google", `{"type":"object","properties":{"days":{"type":["array","null"],"items":{"type":["integer","null"]}}}}`,
			`{"days":{"description":"May be null.","items":{"description":"May be null.","type":"integer"},"type":"array"}} []`},
		//report: Models | moltis-org/moltis#747, anomalyco/opencode#3140, iBUHub/AIStudioToAPI#154 | one tool requires an argument that its schema does not have, and Gemini refuses the request with all tools | the name is left out of what is required, and the request is taken
		{"google", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, `{"a":{"type":"string"}} [a]`},
		{"anthropic", `{"type":"object","properties":{"days":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`,
			`{"days":{"anyOf":[{"type":"integer"},{"type":"null"}]}} []`},
	} {
		prepare := belt.PrepareStep(filled(t, nil, shaped{schema: test.schema}), nil)
		_, step, err := prepare(t.Context(), fantasy.PrepareStepFunctionOptions{Model: named{provider: test.provider}})
		if err != nil || len(step.Tools) != 1 {
			t.Fatalf("got %d tools, %v", len(step.Tools), err)
		}
		info := step.Tools[0].Info()
		properties := assert.Value(json.Marshal(info.Parameters))(t)
		assert.Equal(t, fmt.Sprint(string(properties), " ", info.Required), test.want, test.provider+" "+test.schema)
	}
}

func (r returning) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return r.res, nil
}

// run calls the only tool of a registry.
func run(t *testing.T, r *registry.Registry, opts *belt.Options) fantasy.ToolResponse {
	t.Helper()
	tools := assert.Value(belt.Tools(t.Context(), r, opts))(t)
	if len(tools) != 1 {
		t.Fatalf("got %d tools, want 1", len(tools))
	}
	res, err := tools[0].Run(t.Context(), fantasy.ToolCall{ID: "call_1", Name: tools[0].Info().Name, Input: `{}`})
	assert.Equal(t, err, nil, "got the error %v, want none", err)
	return res
}

func filled(t *testing.T, opts *registry.Options, tool registry.Tool) *registry.Registry {
	t.Helper()
	r := registry.New(opts)
	assert.OK(t, r.Add(tool))
	return r
}

// TestImages has results with two images: fantasy takes one, and none of a tool that
// failed or for a model that takes text alone.
func TestImages(t *testing.T) {
	png := assert.Value(base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))(t)
	picture := &mcp.ImageContent{MIMEType: "image/png", Data: png}
	for _, test := range []struct {
		name     string
		failed   bool
		opts     *belt.Options
		kind     string
		attached int
	}{
		{"two images", false, nil, "image", 1},
		{"a failure", true, nil, "text", 0},
		{"text alone", false, &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, "text", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := run(t, filled(t, nil, returning{&mcp.CallToolResult{IsError: test.failed, Content: []mcp.Content{picture, picture}}}), test.opts)
			assert.Equal(t, res.Type, test.kind, "type")
			got := res.Data != nil
			assert.Equal(t, got, test.kind == "image", "got data")
			assert.Equal(t, strings.Count(res.Content, "[image image/png"), 2)
			assert.Equal(t, strings.Count(res.Content, ", attached]"), test.attached)
			assert.Equal(t, res.IsError, test.failed, "IsError")
		})
	}
}

// TestWaiting has a call that nobody waits for.
func TestWaiting(t *testing.T) {
	ask := assert.Value(policy.New(approval.Ask))(t)
	for _, test := range []struct {
		name string
		opts *belt.Options
		stop bool
	}{
		{"the model is told", nil, false},
		{"the agent stops", &belt.Options{Waiting: func(context.Context, *profile.WaitingError) error { return errors.New("later") }}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := filled(t, &registry.Options{Approver: ask}, returning{&mcp.CallToolResult{}})
			res := run(t, r, test.opts)
			assert.Equal(t, res.StopTurn, test.stop, "StopTurn")
			assert.True(t, res.IsError, "got %q with IsError %v, want a failure", res.Content, res.IsError)
			assert.True(t, strings.HasPrefix(res.Content, profile.Failure), "got %q with IsError %v, want a failure", res.Content, res.IsError)
			assert.Equal(t, len(r.Approvals(t.Context())), 1)
		})
	}
}

// TestNoTools has an empty registry: an agent keeps its former tools for nil.
func TestNoTools(t *testing.T) {
	tools, err := belt.Tools(t.Context(), registry.New(nil), nil)
	assert.False(t, tools == nil || len(tools) > 0 || err != nil, "got %#v, %v, want an empty slice", tools, err)
}
