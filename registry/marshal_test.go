package registry_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// What programs send to pages has names in camel case, and no fields that say nothing.
func TestMarshal(t *testing.T) {
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{
			"a request that waits", &registry.ApprovalRequest{
				ID: "A1", Approved: true, User: "ann", Conversation: "c", CallID: "call_1",
				Tool: &registry.Definition{
					Name: "files__delete", Alias: "delete", Title: "Delete", Description: "Deletes a file",
					InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`),
					Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, RawAnnotations: json.RawMessage(`{"readOnlyHint":true}`),
					ReturnDirect: true, Origin: registry.Origin{Server: "files", Tool: "rm"},
				},
				Hints:   registry.Hints{Annotated: true, ReadOnly: true, ExecutionTime: registry.Slow},
				Trusted: true, Subject: "ab12", ForSession: true, Args: json.RawMessage(`{"path":"a"}`), Reason: "it destroys", Asked: at, Expires: at.Add(time.Minute),
			},
			`{"id":"A1","approved":true,"user":"ann","conversation":"c","callId":"call_1",` +
				`"tool":{"name":"files__delete","alias":"delete","title":"Delete","description":"Deletes a file",` +
				`"inputSchema":{"type":"object"},"outputSchema":{"type":"object"},` +
				`"annotations":{"idempotentHint":false,"readOnlyHint":true},"rawAnnotations":{"readOnlyHint":true},` +
				`"returnDirect":true,"origin":{"server":"files","tool":"rm"}},` +
				`"hints":{"annotated":true,"readOnly":true,"destructive":false,"idempotent":false,"openWorld":false,"sideEffects":false,"executionTime":"slow"},` +
				`"trusted":true,"subject":"ab12","forSession":true,"args":{"path":"a"},"reason":"it destroys","asked":"2026-07-28T12:00:00Z","expires":"2026-07-28T12:01:00Z"}`,
		},
		{
			"a request that does not wait", &registry.ApprovalRequest{
				Tool: &registry.Definition{Name: "add", InputSchema: json.RawMessage(`{}`)}, Args: json.RawMessage(`{}`),
			},
			`{"approved":false,"tool":{"name":"add","inputSchema":{}},` +
				`"hints":{"annotated":false,"readOnly":false,"destructive":false,"idempotent":false,"openWorld":false,"sideEffects":false},` +
				`"trusted":false,"args":{}}`,
		},
		{
			"a tool that has changed", &ledger.Change{
				Server: "files", Tool: "rm", Kind: ledger.ToolChanged, Hash: "abc",
				Fields: []ledger.FieldChange{{Field: "/description", Before: `"a"`, After: `"b"`}, {Field: "/title", After: `"T"`}},
				More:   2, Surface: json.RawMessage(`{"name":"rm"}`), Since: at,
			},
			`{"server":"files","tool":"rm","kind":"changed","hash":"abc",` +
				`"fields":[{"field":"/description","before":"\"a\"","after":"\"b\""},{"field":"/title","after":"\"T\""}],` +
				`"more":2,"surface":{"name":"rm"},"since":"2026-07-28T12:00:00Z"}`,
		},
		{
			"a server that has changed", &ledger.Change{Server: "files", Kind: ledger.ServerChanged, Hash: "abc"},
			`{"server":"files","kind":"server_changed","hash":"abc"}`,
		},
	} {
		got := assert.Value(json.Marshal(c.value))(t)
		if string(got) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
