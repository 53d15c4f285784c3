package mcp_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// Annotations come through byte for byte, also those that the protocol does not
// know.
func TestRawAnnotations(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		const (
			known   = `{"readOnlyHint":true,"title":"T\u0065"}`
			unknown = `{"side_effects_hint":false,"executionTimeHint":"fast","x":[1.00,{}]}`
		)
		server := featured(t, revision, mcptest.Script{
			"tools/list": mcptest.Result(fmt.Sprintf(`{"tools":[{"name":"known","annotations":%s},{"name":"unknown","annotations":%s},
				{"name":"none"},{"name":"null","annotations":null},{"name":"empty","annotations":{}}]}`, known, unknown)),
		}, refuseDiscover(revision))
		c := newClient(t, p.to(server), nil)
		tools, err := c.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"known": known, "unknown": unknown, "empty": "{}"}
		for _, tool := range tools {
			raw := c.RawAnnotations(tool)
			if string(raw) != want[tool.Name] || (raw == nil) != (want[tool.Name] == "") {
				t.Errorf("%s: %q, want %q", tool.Name, raw, want[tool.Name])
			}
		}
		other := *tools[0]
		if raw := c.RawAnnotations(&other); raw != nil {
			t.Errorf("a copy has %s", raw)
		}
		if raw := c.RawAnnotations(nil); raw != nil {
			t.Errorf("no tool has %s", raw)
		}
	})
}

// The annotations of a tool stay its own when a later list has another one of its
// name.
func TestRawAnnotationsOfAnEarlierList(t *testing.T) {
	list := func(hint string) mcptest.Handler {
		return mcptest.Result(`{"tools":[{"name":"a","annotations":{"executionTimeHint":"` + hint + `"}}]}`)
	}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), mcptest.Script{"tools/list": mcptest.Sequence(list("fast"), list("medium"), list("slow"))})
	c := newClient(t, server, nil) // the list is read each time: nothing says how long it is good
	var tools []*mcp.Tool
	for range 3 {
		listed, err := c.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, listed[0])
	}
	for i, want := range []string{"fast", "medium", "slow"} {
		if raw := string(c.RawAnnotations(tools[i])); raw != `{"executionTimeHint":"`+want+`"}` {
			t.Errorf("list %d: %s, want %s", i, raw, want)
		}
	}
}

// Annotations that are no object make a tool invalid, as ever.
func TestAnnotationsOfAnotherType(t *testing.T) {
	server := modern(t, mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","annotations":[]},{"name":"b","annotations":"x"},{"name":"c","annotations":{"readOnlyHint":"true"}},{"name":"d","annotations":{"read_only_hint":"true"}}]}`),
	})
	c := newClient(t, server, nil)
	wantTools(t, c, "d")
}
