package mcp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// typedMethods are the requests whose results are decoded, with the members that
// a result needs.
var typedMethods = []struct {
	method, members string
	asks            bool // the server may ask for input in revision 2026-07-28
	ask             func(context.Context, *mcp.Client) error
}{
	{"tools/call", `"content":[]`, true, func(ctx context.Context, c *mcp.Client) error { return errOf(c.CallTool(ctx, "x", nil, nil)) }},
	{"prompts/get", `"messages":[]`, true, func(ctx context.Context, c *mcp.Client) error { return errOf(c.GetPrompt(ctx, "x", nil, nil)) }},
	{"resources/read", `"contents":[]`, true, func(ctx context.Context, c *mcp.Client) error { return errOf(c.ReadResource(ctx, "a:x", nil)) }},
	{"tools/list", `"tools":[]`, false, func(ctx context.Context, c *mcp.Client) error { return errOf(c.Tools(ctx)) }},
	{"prompts/list", `"prompts":[]`, false, func(ctx context.Context, c *mcp.Client) error { return errOf(collect(c.Prompts(ctx))) }},
	{"resources/list", `"resources":[]`, false, func(ctx context.Context, c *mcp.Client) error { return errOf(collect(c.Resources(ctx))) }},
	{"resources/templates/list", `"resourceTemplates":[]`, false, func(ctx context.Context, c *mcp.Client) error { return errOf(collect(c.ResourceTemplates(ctx))) }},
	{"completion/complete", `"completion":{"values":[]}`, false, func(ctx context.Context, c *mcp.Client) error {
		return errOf(c.Complete(ctx, &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "x"}, Argument: mcp.CompleteArgument{Name: "a"},
		}, nil))
	}},
}

// A result without a type is complete; one of a type that nobody knows, or that
// the method cannot have, is no result.
func TestResultTypes(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, m := range typedMethods {
			for kind, valid := range map[string]bool{
				``:                                true,
				`"resultType":"complete",`:        true,
				`"resultType":"bogus",`:           false,
				`"resultType":"Complete",`:        false,
				`"resultType":"",`:                false,
				`"resultType":7,`:                 false,
				`"RESULTTYPE":"bogus",`:           true, // no such member
				`"_meta":{"resultType":"bogus"},`: true,
			} {
				server := featured(t, revision, mcptest.Script{m.method: mcptest.Result(`{` + kind + m.members + `}`)})
				err := m.ask(t.Context(), newClient(t, p.to(server), nil))
				wantValid(t, m.method+" with "+kind, err, valid)
			}
		}
	})
}

// Input is for some methods of revision 2026-07-28 only.
func TestInputRequiredOf(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, m := range typedMethods {
			server := featured(t, revision, mcptest.Script{m.method: mcptest.Sequence(
				mcptest.Result(`{"resultType":"input_required","inputRequests":{"q":`+inputRequest+`},`+m.members+`}`),
				mcptest.Result(`{`+m.members+`}`),
			)})
			asked := 0
			c := newClient(t, p.to(server), &mcp.ClientOptions{
				Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					return annAnswers(ctx, r)
				},
			})
			may := m.asks && revision == mcp.Revision20260728
			wantValid(t, m.method+" that wants input", m.ask(t.Context(), c), may)
			assert.Equal(t, asked == 1, may, "%s", m.method)
			if !may {
				continue
			}
			assert.Contains(t, string(server.Received(m.method)[1].Params), `"inputResponses":{"q":`, "%s: asked again with", m.method)
		}
	})
}

// wantValid fails the test if an answer was taken for valid, or not, wrongly.
func wantValid(t *testing.T, what string, err error, valid bool) {
	t.Helper()
	var invalid *mcp.ProtocolError
	switch {
	case valid && err != nil:
		t.Errorf("%s: %v", what, err)
	case !valid && (!errors.As(err, &invalid) || invalid.Path != "resultType"):
		t.Errorf("%s: error %v, want one at resultType", what, err)
	}
}
