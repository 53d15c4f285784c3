// Tests of func.go: the tool read_result.

package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/transport"
)

// galleryTools returns the tools of a server: show answers with every kind of content
// there is, and log with a long text.
func galleryTools(t *testing.T, answer *sdk.CallToolResult, log string) []registry.Tool {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "gallery", Version: "1"}, nil)
	add := func(name string, res *sdk.CallToolResult) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return res, nil
		})
	}
	add("show", answer)
	add("log", servedText(log))
	return remotes(t, "gallery", newClient(t, "gallery", &transport.Pipe{Serve: s.Run}))
}

// A server's result comes whole through Registry.Call: every kind of content, in
// order, and structured content byte for byte, an array included.
func TestServersResultComesWhole(t *testing.T) {
	size := int64(7)
	raw := json.RawMessage(`[{"n":12345678901234567890,"f":1.50},"caf\u00e9"]`)
	answer := &sdk.CallToolResult{
		Meta: sdk.Meta{"trace": "1"},
		Content: []sdk.Content{
			&sdk.ImageContent{Data: bytes.Repeat([]byte{0xff, 0}, 50000), MIMEType: "image/png", Annotations: &sdk.Annotations{Audience: []sdk.Role{"user"}}},
			&sdk.AudioContent{Data: []byte{1, 2, 3}, MIMEType: "audio/wav"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside", Meta: sdk.Meta{"k": "v"}}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Blob: []byte{9}}},
			&sdk.ResourceLink{URI: "file:///c", Name: "c", Size: &size},
			&sdk.TextContent{Text: "words", Meta: sdk.Meta{"k": "v"}},
		},
		StructuredContent: raw,
	}
	want := assert.Value(json.Marshal(answer.Content))(t)
	for name, opts := range map[string]*result.Options{"as it came": nil, "shaped": {}, "redacted": {Redact: true}} {
		r := registry.New(&registry.Options{Results: opts})
		mustReplace(t, r, "gallery", galleryTools(t, answer, "")...)
		res := assert.Value(r.Call(t.Context(), "gallery__show", nil))(t)
		assert.Equal(t, string(assert.Value(json.Marshal(res.Content))(t)), string(want), "%s, content", name)
		got, _ := res.StructuredContent.(json.RawMessage)
		assert.Equal(t, string(got), string(raw), "%s, structured content", name)
		assert.Equal(t, res.Meta["trace"], "1", "%s, _meta", name)
	}
}

// A long log of a server is shortened, wrapped and read on, and each model sees
// only its own.
func TestServersLogIsReadOn(t *testing.T) {
	log := strings.Repeat("12:00 all is well\n", 10000) + "12:01 Error: password=ghp_" + strings.Repeat("a1", 18) + "\n"
	r := registry.New(&registry.Options{Results: &result.Options{Wrap: true, Redact: true}})
	mustReplace(t, r, "gallery", galleryTools(t, &sdk.CallToolResult{}, log)...)
	text := result.Text(assert.Value(r.Call(registry.WithConversation(t.Context(), "1"), "gallery__log", nil))(t))
	assert.Between(t, len(text), 0, 32<<10, "bytes")
	assert.Equal(t, text[:26], `<untrusted-content nonce="`)
	assert.Contains(t, text, ` server="gallery" tool="log">`+"\n12:00 all is well\n", "bytes")
	assert.Contains(t, text, "12:01 Error: password=[redacted: GitHub token]\n", "bytes")
	args := regexp.MustCompile(`\{"handle":.*?\}`).FindString(text)
	page := assert.Value(r.Call(registry.WithConversation(t.Context(), "1"), "read_result", json.RawMessage(args)))(t)
	assert.False(t, page.IsError, "%s: isError", args)
	assert.Contains(t, result.Text(page), "go on with offset", "%s", args)
	page = assert.Value(r.Call(registry.WithConversation(t.Context(), "2"), "read_result", json.RawMessage(args)))(t)
	assert.True(t, page.IsError, "another conversation: isError")
}

// What goes to the user, and what was read, is not shaped again.
func TestResultsThatStayWhole(t *testing.T) {
	r := registry.New(&registry.Options{Results: &result.Options{MaxBytes: 2048, Redact: true, Wrap: true}})
	long := strings.Repeat("x", 10_000)
	direct := &plainTool{serverTool("web", "direct", "").def, textResult(long)}
	direct.def.ReturnDirect = true
	mustReplace(t, r, "web", direct, &plainTool{serverTool("web", "get", "").def, textResult(long)})
	assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "web__direct", nil))(t)), long)
	res := assert.Value(r.Call(t.Context(), "web__get", nil))(t)
	handle := regexp.MustCompile(`"handle":"[A-Z0-9]+"`).FindString(result.Text(res))
	page := assert.Value(r.Call(t.Context(), result.ReaderName, json.RawMessage("{"+handle+"}")))(t)
	assert.Equal(t, strings.Count(result.Text(page), "<untrusted-content"), 1, "a page with envelopes")
	reader, _ := r.Resolve(result.ReaderName)
	assert.True(t, reader.Annotations.ReadOnlyHint, "is read-only")
	assert.Equal(t, reader.Origin, registry.Origin{})
}
