package registry_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

func TestWithEditsACopy(t *testing.T) {
	base := serverTool("notes", "create", "makes a note")
	base.def.Annotations = &mcp.ToolAnnotations{DestructiveHint: ptr(true), OpenWorldHint: ptr(true)}
	schema := string(base.def.InputSchema)

	edited := describe(t, base, func(d *registry.Definition) {
		d.Name = "note"
		d.Title = "Note"
		*d.Annotations.DestructiveHint = false
		*d.Annotations.OpenWorldHint = false
		d.InputSchema[1] = ' '
		d.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	})
	d := edited.Definition()
	assert.Equal(t, fmt.Sprintf("%s, %s, %v, %t", d.Name, d.Title, d.Origin, *d.Annotations.DestructiveHint), `note, Note, tool "create" of server "notes", false`, "edited")
	d = base.def
	assert.Equal(t, fmt.Sprintf("%s, %q, %t, %t", d.Name, d.Title, *d.Annotations.DestructiveHint, *d.Annotations.OpenWorldHint), `notes__create, "", true, true`, "the original")
	assert.Equal(t, string(d.InputSchema), schema, "the original")
	assert.Equal(t, assert.Value(edited.Call(t.Context(), nil))(t), base.answer)

	d = describe(t, edited, func(d *registry.Definition) { d.Title = "Again" }).Definition()
	assert.Equal(t, d.Name+" "+d.Title, "note Again", "edited twice")
	assert.Equal(t, edited.Definition().Title, "Note", "the second edit reached the first tool")
}

func TestWithKeepsAnnotationsNil(t *testing.T) {
	d := describe(t, native("add"), nil).Definition()
	assert.True(t, d.Annotations == nil && d.OutputSchema == nil, "both are nil")
}

func TestDefinitionsThatCannotBeListed(t *testing.T) {
	change := func(edit func(*registry.Definition)) registry.Tool {
		tool := native("add")
		edit(tool.def)
		return tool
	}
	var nilPointer *plainTool
	for what, test := range map[string]struct {
		tool  registry.Tool
		field string
	}{
		"nil":                     {nil, ""},
		"nil pointer":             {nilPointer, ""},
		"nil definition":          {&plainTool{}, ""},
		"no name":                 {change(func(d *registry.Definition) { d.Name = "" }), "Name"},
		"long name":               {change(func(d *registry.Definition) { d.Name = strings.Repeat("x", 257) }), "Name"},
		"control character":       {change(func(d *registry.Definition) { d.Name = "a\nb" }), "Name"},
		"invalid UTF-8":           {change(func(d *registry.Definition) { d.Name = "a\xff" }), "Name"},
		"no input schema":         {change(func(d *registry.Definition) { d.InputSchema = nil }), "InputSchema"},
		"boolean input schema":    {change(func(d *registry.Definition) { d.InputSchema = json.RawMessage("true") }), "InputSchema"},
		"broken input schema":     {change(func(d *registry.Definition) { d.InputSchema = json.RawMessage(`{"a"`) }), "InputSchema"},
		"broken output schema":    {change(func(d *registry.Definition) { d.OutputSchema = json.RawMessage(`{"a"`) }), "OutputSchema"},
		"null as an outputschema": {change(func(d *registry.Definition) { d.OutputSchema = json.RawMessage(`null`) }), "OutputSchema"},
	} {
		t.Run(what, func(t *testing.T) {
			r := registry.New(nil)
			err := r.Add(native("other"), test.tool)
			assert.Equal(t, assert.As[*registry.DefinitionError](t, err, "Add").Field, test.field, "Add: field")
			assert.True(t, listedNames(r.Snapshot()) == nil, "catalogue")
			assert.Lacks(t, err.Error(), "\n")
			assert.Between(t, len(err.Error()), 0, 400, "bytes of the error")
			assert.Equal(t, assert.As[*registry.DefinitionError](t, assert.Err(registry.With(test.tool, nil)), "With").Field, test.field, "With: field")
		})
	}
}

func TestOriginString(t *testing.T) {
	assert.Equal(t, (registry.Origin{}).String(), "a native tool")
	assert.Equal(t, (registry.Origin{Server: "notes", Tool: "create"}).String(), `tool "create" of server "notes"`)
}

// Tools of one name live side by side, told apart by the name that their server
// has here, and each is called at its server by the name that it has there: with
// points and dashes, in its case, and as long as the protocol allows.
func TestNamesOfServersTools(t *testing.T) {
	tools := []string{"search", "Search", "admin.users-list_all", "admin_users-list_all", strings.Repeat("n", 128)}
	r := registry.New(nil)
	wanted := map[string]registry.Origin{}
	for _, server := range []string{"docs", "web"} {
		assert.Equal(t, len(mustReplace(t, r, server, remoteTools(t, server, tools...)...).Rejected), 0, "%s, rejected", server)
		for _, tool := range tools {
			wanted[names.ServerTool.Name(server, tool)] = registry.Origin{Server: server, Tool: tool}
		}
	}
	assert.List(t, listedNames(r.Snapshot()), slices.Sorted(maps.Keys(wanted)), "tools")
	assert.Equal(t, len(wanted), 10, "tools")
	for name, origin := range wanted {
		assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), name, nil))(t)), origin.Server+" "+origin.Tool, "%s was answered by", name)
		def, _ := r.Resolve(name)
		assert.Equal(t, def.Origin, origin, "%s comes from", name)
	}

	// What would become the same is told apart.
	mustReplace(t, r, "a", remoteTools(t, "a", "b__c")...)
	assert.Equal(t, len(mustReplace(t, r, "a__b", remoteTools(t, "a__b", "c")...).Rejected), 0, "rejected")
	assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "a__b__c", nil))(t)), "a b__c", "name is answered by")
}

// In other schemes a registry names the tools of servers itself, also those that
// were made with another name, but for a name that a person chose.
func TestSchemesOfARegistry(t *testing.T) {
	for scheme, want := range map[names.Scheme][]string{
		names.ServerTool:    {"chosen", "docs__find", "docs__search", "web__search"},
		names.MCPServerTool: {"chosen", "mcp__docs__find", "mcp__docs__search", "mcp__web__search"},
		names.ColonTool:     {"chosen", "docs:find", "docs:search", "web:search"},
		names.BareTool:      {"chosen", "find", "search"},
	} {
		r := registry.New(&registry.Options{Names: scheme})
		docs := remoteTools(t, "docs", "hidden", "other", "search")
		docs[0] = describe(t, docs[0], func(d *registry.Definition) { d.Alias = "find" })
		docs[1] = describe(t, docs[1], func(d *registry.Definition) { d.Name = "chosen" })
		mustReplace(t, r, "docs", docs...)
		diff := mustReplace(t, r, "web", remoteTools(t, "web", "search")...)
		if scheme == names.BareTool {
			assert.Equal(t, assert.As[*registry.DuplicateError](t, assert.Only(t, diff.Rejected).Err).Holder.Server, "docs", "server")
		}
		assert.List(t, listedNames(r.Snapshot()), want, "%s", scheme)
		for i, answer := range []string{"docs other", "docs hidden", "docs search", "web search"}[:len(want)] {
			assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), want[i], nil))(t)), answer, "%s", scheme)
		}
	}
}

func TestDisplayName(t *testing.T) {
	for want, d := range map[string]registry.Definition{
		"github:create.issue (MCP)": {Name: "github__create_issue_abcdefghi2", Title: "Make", Origin: registry.Origin{Server: "github", Tool: "create.issue"}},
		"a:b (MCP) (MCP)":           {Name: "a__b", Origin: registry.Origin{Server: "a", Tool: "b (MCP)"}},
		"a:b<U+001B>[2J c<U+202E>d (MCP)": {
			Name: "a__b", Alias: "other", Origin: registry.Origin{Server: "a", Tool: "b\x1b[2J\nc\u202ed"}},
		"Add numbers":      {Name: "add", Title: " Add numbers\n"},
		"add":              {Name: "add", Title: " \t"},
		"one line<U+0007>": {Name: "add", Title: "one\nline\x07"},
	} {
		assert.Equal(t, d.DisplayName(), want)
	}
	long := registry.Definition{Origin: registry.Origin{Server: "a", Tool: strings.Repeat("b", 1e4)}}
	assert.Between(t, len(long.DisplayName()), 0, 600, "bytes of a name")
}

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
				Trusted: true, Subject: "ab12", ForConversation: true, Args: json.RawMessage(`{"path":"a"}`), Reason: "it destroys", Asked: at, Expires: at.Add(time.Minute),
			},
			`{"id":"A1","approved":true,"user":"ann","conversation":"c","callId":"call_1",` +
				`"tool":{"name":"files__delete","alias":"delete","title":"Delete","description":"Deletes a file",` +
				`"inputSchema":{"type":"object"},"outputSchema":{"type":"object"},` +
				`"annotations":{"idempotentHint":false,"readOnlyHint":true},"rawAnnotations":{"readOnlyHint":true},` +
				`"returnDirect":true,"origin":{"server":"files","tool":"rm"}},` +
				`"hints":{"annotated":true,"readOnly":true,"destructive":false,"idempotent":false,"openWorld":false,"sideEffects":false,"executionTime":"slow"},` +
				`"trusted":true,"subject":"ab12","forConversation":true,"args":{"path":"a"},"reason":"it destroys","asked":"2026-07-28T12:00:00Z","expires":"2026-07-28T12:01:00Z"}`,
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
		assert.Equal(t, string(assert.Value(json.Marshal(c.value))(t)), c.want, "%s", c.name)
	}
}
