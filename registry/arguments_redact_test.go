package registry_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

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
	if _, err := r.Replace(registry.Server{Name: "notes"}, []registry.Tool{tool}); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(native); err != nil {
		t.Fatal(err)
	}
	args := `{"n":1.0,"text":"my key is ` + token + `, of badge 12","list":["` + token + `"]}`
	if _, err := r.Call(t.Context(), "notes__add", json.RawMessage(args)); err != nil {
		t.Fatal(err)
	}
	if want := `{"n":1.0,"text":"my key is [redacted: Notion token], of badge [redacted: badge]","list":["[redacted: Notion token]"]}`; sent != want {
		t.Errorf("got %s sent, want %s", sent, want)
	}
	if seen != args {
		t.Errorf("got %s at the middleware, want %s", seen, args)
	}
	if _, err := r.Call(t.Context(), "keep", json.RawMessage(`{"text":"`+token+`"}`)); err != nil {
		t.Fatal(err)
	}
	if sent != token {
		t.Errorf("got %q at a tool of the program, want the token", sent)
	}
}
