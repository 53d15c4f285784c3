package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// loosely calls a tool whose server answers with raw.
func loosely(t *testing.T, raw string) *mcp.CallToolResult {
	t.Helper()
	return mustCall(t, newClient(t, legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)}), nil), "x")
}

// Some servers write what the protocol calls isError in snake case. A failure is
// a failure however it is written.
func TestCallToolSnakeError(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"content":[{"type":"text","text":"boom"}],"is_error":true}`: true,
		`{"is_error":true,"isError":false}`:                           true,
		`{"isError":true,"is_error":false}`:                           true,
		`{"content":[],"is_error":false}`:                             false,
		`{"content":[],"is_error":null}`:                              false,
		`{"content":[7,{"type":"image","data":"!"}],"isError":true}`:  true,
	} {
		assert.Equal(t, loosely(t, raw).IsError, want, "%s: is error", raw)
	}
}

// Content is read in snake case, too, and with a resource that is not inside of a
// member of its own.
func TestCallToolSnakeContent(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"image","data":"AQI=","mime_type":"image/png"}`:                    `{"type":"image","mimeType":"image/png","data":"AQI="}`,
		`{"type":"image","data":"AQI=","mimeType":"a/b","mime_type":"c/d"}`:         `{"type":"image","mimeType":"a/b","data":"AQI="}`,
		`{"type":"image","data":"AQI=","mime_type":"c/d","mimeType":"a/b"}`:         `{"type":"image","mimeType":"a/b","data":"AQI="}`,
		`{"type":"resource_link","uri":"a:b","name":"n","mime_type":"x/y"}`:         `{"type":"resource_link","mimeType":"x/y","uri":"a:b","name":"n"}`,
		`{"type":"resource","uri":"a:b","mime_type":"text/plain","text":"x"}`:       `{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"x"}}`,
		`{"type":"resource","uri":"a:b","mime_type":null,"text":null}`:              `{"type":"resource","resource":{"uri":"a:b"}}`,
		`{"type":"resource","uri":"a:b","blob":"AQI="}`:                             `{"type":"resource","resource":{"uri":"a:b","blob":"AQI="}}`,
		`{"type":"resource","resource":{"uri":"a:b","mime_type":"x/y","text":"x"}}`: `{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","text":"x"}}`,
	} {
		res := loosely(t, `{"content":[`+raw+`]}`)
		if len(res.Content) != 1 {
			t.Errorf("%s: got %d blocks, want 1", raw, len(res.Content))
			continue
		}
		got := assert.Value(json.Marshal(res.Content[0]))(t)
		if !sameJSON(t, string(got), want) {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

// sameJSON reports whether got has all that want has.
func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	canonical := func(text string) string {
		var value any
		assert.OK(t, json.Unmarshal([]byte(text), &value), "%s", text)
		canon := assert.Value(json.Marshal(value))(t)
		return string(canon)
	}
	return canonical(got) == canonical(want)
}

// A block that cannot be read becomes a text of its own and spoils none of the
// others.
func TestCallToolUnreadableBlock(t *testing.T) {
	for _, raw := range []string{
		`{"type":"hologram","data":"no base64"}`, `{"type":"hologram","text":7,"uri":{},"resource":[]}`,
		`{"type":"image","data":"!"}`, `{"type":"audio","data":7}`, `{"type":"text","text":{"a":[1]}}`, `{"type":"text","annotations":7}`,
		`{"type":"resource"}`, `{"type":"resource","resource":7}`, `{"type":"resource","resource":{"uri":7},"uri":"a:b"}`,
		`{"type":"resource","uri":"a:b","blob":"!"}`, `{"type":"resource_link","size":"big"}`, `{"type":7}`, `{}`, `7`, `"plain"`, `null`, `[{"type":"text"}]`,
		`{},7`, // stand together
	} {
		res := loosely(t, `{"content":[{"type":"text","text":"before"}, `+raw+` ,{"type":"text","text":"after"}]}`)
		var got []string
		for _, c := range res.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				got = append(got, text.Text)
			}
		}
		assert.Equal(t, strings.Join(got, "|"), "before|"+raw+"|after")
	}
}

// Text that belongs to a kind is read only where the kind has it.
func TestCallToolStrayMembers(t *testing.T) {
	res := loosely(t, `{"content":[{"type":"text","text":"a","data":"no base64","blob":7}]}`)
	assert.Equal(t, cast[*mcp.TextContent](t, res.Content[0]).Text, "a", "text")
}
