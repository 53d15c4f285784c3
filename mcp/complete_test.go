// Tests of resources.go: completions.

package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// typed are the parameters for the completion of what was typed.
func typed(text string) *mcp.CompleteParams {
	return &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
		Argument: mcp.CompleteArgument{Name: "who", Value: text},
	}
}

// completes answers with what was typed and a star.
func completes(c *mcptest.Call) {
	var params mcp.CompleteParams
	if err := json.Unmarshal(c.Params, &params); err != nil {
		c.Error(-32602, err.Error())
		return
	}
	c.Result(fmt.Sprintf(`{"completion":{"values":[%q]}}`, params.Argument.Value+"*"))
}

func TestComplete(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, featured(t, revision, mcptest.Script{"completion/complete": mcptest.Result(
			`{"completion":{"values":["a","b"],"total":9007199254740993,"hasMore":true},"_meta":{"k":1}}`)}), nil)
		res := assert.Value(c.Complete(t.Context(), &mcp.CompleteParams{
			Meta:     mcp.Meta{"m": 1},
			Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "file:///{path}"},
			Argument: mcp.CompleteArgument{Name: "path", Value: "a\""},
			Context:  &mcp.CompleteContext{Arguments: map[string]string{"owner": "ann"}},
		}, nil))(t)
		got := res.Completion
		assert.List(t, got.Values, []string{"a", "b"})
		assert.Equal(t, [...]any{got.Total, got.HasMore, res.Meta["k"]}, [...]any{9007199254740993, true, json.Number("1")})
		params := string(server.Received("completion/complete")[0].Params)
		const want = `"ref":{"type":"ref/resource","uri":"file:///{path}"},"argument":{"name":"path","value":"a\""},"context":{"arguments":{"owner":"ann"}}}`
		assert.True(t, strings.HasSuffix(params, want), "params %s", params)
		assert.Contains(t, params, `"m":1`)
	})
}

func TestCompleteCutsOff(t *testing.T) {
	values := `"x"` + strings.Repeat(`,"x"`, 100)
	server := featured(t, mcp.Revision20260728, mcptest.Script{"completion/complete": mcptest.Result(`{"completion":{"values":[` + values + `]}}`)})
	var raw json.RawMessage
	res := assert.Value(newClient(t, server, nil).Complete(t.Context(), typed("x"), &mcp.RequestOptions{Raw: &raw}))(t)
	assert.Contains(t, string(raw), values, "the result as it came")
	assert.Equal(t, [...]any{len(res.Completion.Values), res.Completion.HasMore}, [...]any{100, true})
}

// A server that does not complete is not asked, unless it is too old to say so.
func TestCompleteUnsupported(t *testing.T) {
	for _, revision := range revisions() {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"completion/complete": completes})
		_, err := newClient(t, server, nil).Complete(t.Context(), typed("x"), nil)
		wantNotSent(t, err, errors.ErrUnsupported, "%s", revision)
		assert.Contains(t, err.Error(), `"scripted"`, "%s", revision)
		wantCount(t, server, "completion/complete", 0)
	}
	server := mcptest.NewServer(t, mcptest.Handshake("2024-11-05", ""), mcptest.Script{"completion/complete": completes})
	assert.OK(t, assert.Err(newClient(t, server, nil).Complete(t.Context(), typed("x"), nil)))
}

func TestCompleteRefusesNonsense(t *testing.T) {
	server, c := withClient(t, featured(t, mcp.Revision20251125, mcptest.Script{"completion/complete": completes}), nil)
	arg := mcp.CompleteArgument{Name: "x"}
	for _, params := range []*mcp.CompleteParams{
		nil,
		{Argument: arg},
		{Ref: &mcp.CompleteReference{Type: "ref/prompt"}, Argument: arg},
		{Ref: &mcp.CompleteReference{Type: "ref/resource", Name: "x"}, Argument: arg},
		{Ref: &mcp.CompleteReference{Type: "ref/other", Name: "x"}, Argument: arg},
		{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "x"}},
	} {
		wantOutcome(t, assert.Err(c.Complete(t.Context(), params, nil)), mcp.NotSent)
	}
	wantCount(t, server, "completion/complete", 0)
}

func TestCompleteRefused(t *testing.T) {
	refuses(t, "completion/complete", func(c *mcp.Client) error { return assert.Err(c.Complete(t.Context(), typed("x"), nil)) }, map[string]string{
		`7`: "result", `{}`: "completion.values", `{"completion":[]}`: "completion", `{"completion":{}}`: "completion.values",
		`{"completion":{"values":"x"}}`:                              "completion.values",
		`{"completion":{"values":["x",7]}}`:                          "completion.values[1]",
		`{"completion":{"values":[],"total":1.5}}`:                   "completion.total",
		`{"completion":{"values":[],"total":"1"}}`:                   "completion.total",
		`{"completion":{"values":[],"hasMore":1}}`:                   "completion.hasMore",
		`{"completion":{"values":[]},"resultType":"input_required"}`: "resultType",
	}, `{"completion":{"values":[]}}`)
}
