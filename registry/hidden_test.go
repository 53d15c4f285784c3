package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

const (
	hides     = "pay\u200b to\u00ad\u2060 ann\ue000\u3164 \U0001f468\u200d\U0001f4bb"
	hidesNone = "pay to ann \U0001f468\u200d\U0001f4bb"
)

// hiding is a tool whose server hides characters wherever it can, and what it was called
// with last.
func hiding(t *testing.T) registry.Tool {
	t.Helper()
	quoted := `"` + hides + ` \u200b"`
	tool := &mcp.Tool{
		Name: "pay", Title: hides, Description: hides,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","description":` + quoted + `}}}`),
	}
	return registry.Remote("s", tool, func(context.Context, string, json.RawMessage, *mcp.CallToolOptions) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content: []mcp.Content{
				&mcp.TextContent{Text: hides},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: hides}},
				&mcp.ResourceLink{URI: "file:///b", Name: "b", Description: hides},
			},
			StructuredContent: json.RawMessage(`{"n": 1.0, "said":` + quoted + `}`),
		}, nil
	})
}

// A model is given nothing of an untrusted server that people cannot see.
func TestHiddenCharactersDoNotReachModels(t *testing.T) {
	const structured = `{"n": 1.0, "said":"` + hidesNone + ` "}`
	for _, opts := range []*result.Options{nil, {}, {Wrap: true}, {Form: result.FormStructured}} {
		r := registry.New(&registry.Options{Results: opts, Ledger: ledger.New(nil)})
		var raw string // as middleware gets it
		r.Use(func(next registry.Handler) registry.Handler {
			return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
				res, err := next(ctx, c)
				raw = result.Text(res)
				return res, err
			}
		})
		// Twice, since the second list is compared with the first.
		for range 2 {
			if diff := mustReplace(t, r, "s", hiding(t)); len(diff.Rejected)+len(diff.Quarantined)+len(diff.Changed) > 0 {
				t.Fatalf("got %+v, want that the tool is listed", diff)
			}
		}
		listed, ok := r.Snapshot().Lookup("s__pay")
		if !ok {
			t.Fatal("got no tool s__pay")
		}
		def := listed.Definition()
		for what, text := range map[string]string{"title": def.Title, "description": def.Description} {
			assert.Equal(t, text, hidesNone, "%s", what)
		}
		if got, want := string(def.InputSchema), hidesNone+` "`; !strings.Contains(got, want) || strings.Contains(got, "\u200b") {
			t.Errorf("schema: got %q, want %q in it", got, want)
		}
		if got := len(r.Snapshot().Findings(def.Name)); got == 0 {
			t.Error("got no findings, want those of what the server says")
		}
		res := assert.Value(r.Call(t.Context(), def.Name, json.RawMessage(`{}`)))(t)
		if got := result.Text(res); strings.ContainsAny(got, "\u200b\u00ad\u2060\ue000\u3164") {
			t.Errorf("%+v: got %q, want nothing hidden", opts, got)
		}
		if got, ok := res.StructuredContent.(json.RawMessage); ok && string(got) != structured {
			t.Errorf("%+v: got %s, want %s", opts, got, structured)
		}
		assert.Contains(t, raw, hides, "middleware")
	}
}

// What a trusted server says, and results for users, stay as they came.
func TestHiddenCharactersOfTrustedServersStay(t *testing.T) {
	r := registry.New(nil)
	assert.Value(r.Replace(registry.Server{Name: "s", Trusted: true}, []registry.Tool{hiding(t)}))(t)
	def := r.Snapshot().Tools()[0].Definition()
	assert.Equal(t, def.Description, hides)
	res := assert.Value(r.Call(t.Context(), def.Name, json.RawMessage(`{}`)))(t)
	if got := result.Text(res); !strings.Contains(got, hides) {
		t.Errorf("got %q, want %q in it", got, hides)
	}
}

// The ledger goes on comparing what the server says.
func TestLedgerComparesWhatIsHidden(t *testing.T) {
	l := ledger.New(nil)
	r := registry.New(&registry.Options{Ledger: l})
	mustReplace(t, r, "s", serverTool("s", "a", "plain"))
	mustReplace(t, r, "s", serverTool("s", "a", "pla\u200bin"))
	assert.Equal(t, len(r.Snapshot().Quarantined()), 1, "tools held back")
}
