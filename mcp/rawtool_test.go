package mcp_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What is known of a tool stays its own when a later list has another one of its name.
func TestToolRawOfAnEarlierList(t *testing.T) {
	list := func(hint string) mcptest.Handler {
		return mcptest.Result(`{"tools":[{"name":"a","annotations":{"executionTimeHint":"` + hint + `"}}]}`)
	}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), mcptest.Script{"tools/list": mcptest.Sequence(list("fast"), list("medium"), list("slow"))})
	c := newClient(t, server, nil) // the list is read each time: nothing says how long it is good
	var tools []*mcp.Tool
	for range 3 {
		listed := assert.Value(c.Tools(t.Context()))(t)
		tools = append(tools, listed[0])
	}
	for i, want := range []string{"fast", "medium", "slow"} {
		assert.Equal(t, memberOf(t, tools[i].Raw, "annotations"), `{"executionTimeHint":"`+want+`"}`, "list %d", i)
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

// A tool has all that its server said, and can be read back from that.
func TestToolRaw(t *testing.T) {
	const (
		first = `{"inputSchema":{"x":1.0},"name":"a","execution":{"taskSupport":"optional"},"_meta":{"n":12345678901234567891,"e":1e400},` +
			`"x":[0.10],"annotations":{"side_effects_hint":false,"title":"T\u0065","y":1.00}}`
		second = `{"name":"b","icons":[{"src":"javascript:x"}],"annotations":null}`
	)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[` + first + `, ` + second + `]}`)}, refuseDiscover(revision))
		tools := assert.Value(newClient(t, p.to(server), nil).Tools(t.Context()))(t)
		for i, want := range []string{first, second} {
			assert.Equal(t, string(tools[i].Raw), want)
			var read mcp.Tool
			assert.OK(t, json.Unmarshal(tools[i].Raw, &read))
			if !reflect.DeepEqual(&read, tools[i]) {
				t.Errorf("got %+v of Raw, want %+v", read, *tools[i])
			}
		}
		want := mcp.Meta{"n": json.Number("12345678901234567891"), "e": json.Number("1e400")}
		if got := tools[0].Meta; !reflect.DeepEqual(got, want) {
			t.Errorf("got the _meta %v, want %v", got, want)
		}
	})
}

func TestToolUnmarshalRefuses(t *testing.T) {
	for _, data := range []string{`7`, `{}`, `{"name":"a","name":"b"}`, `{"name":"a","inputSchema":7}`} {
		assert.As[*mcp.ProtocolError](t, new(mcp.Tool).UnmarshalJSON([]byte(data)), "%s", data)
	}
	assert.Fails(t, new(mcp.Tool).UnmarshalJSON(nil), "got no error for no JSON, want one")
}
