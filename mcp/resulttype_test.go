package mcp_test

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A result without a type is complete; one of a type that nobody knows, or that
// the method cannot have, is no result.
func TestResultTypes(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
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
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/call": mcptest.Result(`{` + kind + `"content":[]}`),
				"tools/list": mcptest.Result(`{` + kind + `"tools":[]}`),
			})
			c := newClient(t, p.to(server), nil)
			_, err := call(t, c, "x")
			wantValid(t, "tools/call with "+kind, err, valid)
			_, err = c.Tools(t.Context())
			wantValid(t, "tools/list with "+kind, err, valid)
		}
		// Input is for some methods only, and lists are none of them.
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(`{"resultType":"input_required","tools":[]}`),
		})
		_, err := newClient(t, p.to(server), nil).Tools(t.Context())
		wantValid(t, "a list that wants input", err, false)
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
