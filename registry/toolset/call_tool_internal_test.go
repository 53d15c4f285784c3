package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// aTool returns a definition with parameters.
func aTool(name, parameters string) registry.Tool {
	return describedTool{&registry.Definition{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":` + parameters + `}`)}}
}

func TestTargetOfACall(t *testing.T) {
	r := registry.New(nil)
	assert.Value(New(r, nil))(t)
	assert.OK(t, r.Add(aTool("create_issue", `{"title":{},"body":{}}`), aTool("rename", `{"name":{},"to":{}}`)))
	call := newRelay(r)
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct{ args, name, inner, err string }{
		// As it should be: the bytes stay.
		{args: `{"name":"x","arguments":{ "b" : 1e2,"a":[ ] }}`, name: "x", inner: `{ "b" : 1e2,"a":[ ] }`},
		{args: `{"arguments":{"a":12345678901234567890},"name":"x"}`, name: "x", inner: `{"a":12345678901234567890}`},
		{args: `{"name":"x"}`, name: "x", inner: `{}`},
		{args: `{"name":"x","arguments":null}`, name: "x", inner: `{}`},
		// Within a string.
		{args: `{"name":"x","arguments":"{\"a\":\"\\u00e9\"}"}`, name: "x", inner: `{"a":"\u00e9"}`},
		{args: `{"name":"x","arguments":""}`, name: "x", inner: `{}`},
		{args: `{"name":"x","arguments":" null "}`, name: "x", inner: `{}`},
		{args: `{"name":"x","arguments":"{not JSON"}`, name: "x", inner: `{not JSON`}, // the tool's arguments are checked anyway
		{args: `{"name":"x","arguments":"hello"}`, err: `"arguments" must be an object, not a string`},
		{args: `{"name":"x","arguments":"\"{}\""}`, err: `"arguments" must be an object, not a string`},
		{args: `{"name":"x","arguments":["a"]}`, err: `"arguments" must be an object, not an array`},
		{args: `{"name":"x","arguments":3}`, err: `"arguments" must be an object, not a number`},
		// Beside the name.
		{args: `{"name":"create_issue","title":"a","body": [1, 2]}`, name: "create_issue", inner: `{"title":"a","body":[1, 2]}`},
		{args: `{"body":"b","name":"CreateIssue"}`, name: "CreateIssue", inner: `{"body":"b"}`},
		{args: `{"name":"create_issue","args":{"title":"secret"}}`, err: `"args" must not stand beside "name"; the arguments of the tool belong into "arguments": {"name":"create_issue","arguments":{…}}`},
		{args: `{"name":"create_issue","title":"secret","arguments":{}}`, err: `"title" must not stand`},
		{args: `{"name":"create_issue","title":"secret","arguments":null}`, err: `"title" must not stand`},
		{args: `{"name":"rename","to":"secret"}`, err: `"to" must not stand`},
		{args: `{"name":"nothing","title":"secret"}`, err: `"title" must not stand`},
		// Without a name.
		{args: ``, err: `"name" is missing`},
		{args: `{}`, err: `"name" is missing`},
		{args: `{"name":" "}`, err: `"name" is missing`},
		{args: `{"arguments":{"name":"x"}}`, err: `"name" is missing`},
		{args: `{"name":7}`, err: `"name" must be a string, not a number`},
		{args: `{"name":null}`, err: `"name" must be a string, not null`},
		{args: `{"name":{}}`, err: `"name" must be a string, not an object`},
		// What can be read in two ways.
		{args: `{"name":"x","name":"y"}`, err: `name`},
		{args: `{"name":"x","arguments":{},"arguments":{"a":1}}`, err: `arguments`},
		{args: `{"name":"x","arguments":{"a":1,"a":2}}`, err: `a`},
		{args: "{\"name\":\"x\xff\"}", err: `UTF-8`},
		{args: `{"name":"x","arguments":{"a":` + deep + `}}`, err: `nest`},
		{args: `[]`, err: `must be a JSON object, not an array`},
		{args: `{"name":"x"`, err: `not valid JSON`},
	} {
		if c.err == "" {
			name, inner, err := call.Target(json.RawMessage(c.args))
			assert.OK(t, err, "%s", c.args)
			assert.Equal(t, name, c.name, "%s", c.args)
			assert.Equal(t, string(inner), c.inner, "%s", c.args)
			continue
		}
		_, err := r.Call(t.Context(), callToolName, json.RawMessage(c.args))
		var wrong *registry.ArgumentsError
		if !errors.As(err, &wrong) || wrong.Tool != callToolName || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want an *registry.ArgumentsError with %s", c.args, err, c.err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error holds a value: %v", c.args, err)
		}
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s", c.args)
	}
}

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{`{"name":"x","arguments":{"a":1}}`, `{"name":"x","arguments":"{}"}`, `{"name":"create_issue","title":1}`, `{`} {
		f.Add([]byte(seed))
	}
	r := registry.New(nil)
	assert.OK(f, r.Add(aTool("create_issue", `{"title":{},"body":{}}`)))
	call := newRelay(r)
	f.Fuzz(func(t *testing.T, args []byte) {
		if !json.Valid(args) || args[0] != '{' {
			return // which a registry refuses
		}
		name, inner, err := call.Target(args)
		if err != nil {
			return
		}
		if strings.TrimSpace(name) == "" || !strings.HasPrefix(strings.TrimLeft(string(inner), " \t\r\n"), "{") {
			t.Errorf("%q: %q, %q", args, name, inner)
		}
	})
}

type describedTool struct{ def *registry.Definition }

func (t describedTool) Definition() *registry.Definition { return t.def }

func (t describedTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}
