package mcp_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// Of a list, the tools whose header annotations are invalid are left out, and
// the log says which and why. To older revisions an annotation means nothing.
func TestInvalidHeaderToolIsLeftOut(t *testing.T) {
	property := func(schema string) string { return `"properties":{"p":` + schema + `}` }
	reasons := map[string]string{ // by tool
		"bad_token":    "no header token",
		"bad_type":     "must have type",
		"bad_place":    "path of properties",
		"bad_repeated": "is taken",
	}
	list := func(name, schema string) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object",%s}}`, name, schema)
	}
	answer := mcptest.Result(`{"tools":[` + strings.Join([]string{
		list("good_first", property(`{"type":"string","x-mcp-header":"A"}`)),
		list("bad_token", property(`{"type":"string","x-mcp-header":"a b"}`)),
		list("bad_type", property(`{"type":"number","x-mcp-header":"A"}`)),
		list("bad_place", property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`)),
		list("bad_repeated", `"properties":{"p":{"type":"string","x-mcp-header":"A"},"q":{"type":"string","x-mcp-header":"a"}}`),
		list("good_last", property(`{"type":"string"}`)),
	}, ",") + `]}`)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		var log bytes.Buffer
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": answer})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if revision != mcp.Revision20260728 {
			wantTools(t, c, "good_first bad_token bad_type bad_place bad_repeated good_last")
			return
		}
		wantTools(t, c, "good_first good_last")
		for tool, reason := range reasons {
			found := false
			for line := range strings.Lines(log.String()) {
				found = found || strings.Contains(line, "level=WARN") && strings.Contains(line, tool) && strings.Contains(line, reason)
			}
			assert.Equal(t, found, true, "found")
		}
	})
}

// Who calls a tool before the tools were listed does not know what to repeat:
// the server refuses, the list tells, and the call is made again.
func TestHeaderMismatchBeforeList(t *testing.T) {
	s := newSite(t, mcp.Revision20260728, map[string]func(*visit){
		"tools/list": result(`{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object","properties":{
			"where":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}},
			"zone":{"type":"string","x-mcp-header":"Zone"}}}}]}`),
		"tools/call": func(v *visit) {
			if v.Header.Get("Mcp-Param-Region") == "" {
				v.reply(400, `"error":{"code":-32020,"message":"header mismatch"}`)
				return
			}
			v.reply(200, `"result":{"resultType":"complete","content":[]}`)
		},
	})
	c := newClient(t, &s.HTTP, nil)
	assert.Value(c.CallTool(t.Context(), "x", []byte(`{"where":{"region":"=?base64?eA==?="},"zone":null}`), nil))(t)
	calls := s.of("tools/call")
	wantLen(t, calls, 2, "calls")
	assert.Equal(t, len(s.of("tools/list")), 1, "tools/list")
	if string(calls[0].ID) == string(calls[1].ID) {
		t.Errorf("%d calls, %d lists", len(calls), len(s.of("tools/list")))
	}
	assert.Equal(t, calls[1].Header.Get("Mcp-Param-Region"), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", "Mcp-Param-Region")
	if _, sent := calls[1].Header["Mcp-Param-Zone"]; sent {
		t.Error("null is repeated")
	}
}
