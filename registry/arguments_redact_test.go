package registry_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Secrets in arguments do not go out to servers, and tools of the program get them.
func TestArgumentsAreRedacted(t *testing.T) {
	var sent string
	tool := &recordedTool{
		def: &registry.Definition{InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "notes", Tool: "add"}},
		call: func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			sent = string(args)
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		},
	}
	native := registry.MustFunc("keep", "", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		sent = in.Text
		return "", nil
	})
	token := "ntn_" + strings.Repeat("aB3dE5gH7j", 5)
	var seen string
	r := registry.New(&registry.Options{
		Arguments: registry.ArgumentOptions{Redact: true},
		Results:   &result.Options{Secrets: map[string]*regexp.Regexp{"badge": regexp.MustCompile(`badge (\d+)`)}},
		Middleware: []registry.Middleware{func(next registry.Handler) registry.Handler {
			return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
				seen = string(c.Args)
				return next(ctx, c)
			}
		}},
	})
	assert.Value(r.Replace(registry.Server{Name: "notes"}, []registry.Tool{tool}))(t)
	assert.OK(t, r.Add(native))
	args := `{"n":1.0,"text":"my key is ` + token + `, of badge 12","list":["` + token + `"]}`
	assert.Value(r.Call(t.Context(), "notes__add", json.RawMessage(args)))(t)
	assert.Equal(t, sent, `{"n":1.0,"text":"my key is [redacted: Notion token], of badge [redacted: badge]","list":["[redacted: Notion token]"]}`, "sent")
	assert.Equal(t, seen, args, "at the middleware")
	assert.Value(r.Call(t.Context(), "keep", json.RawMessage(`{"text":"`+token+`"}`)))(t)
	assert.Equal(t, sent, token, "at a tool of the program")
}
