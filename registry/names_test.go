package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/transport"
)

// remoteTools returns the tools of a server that answers each call with its own
// name and that of the tool, as it was called.
func remoteTools(t *testing.T, server string, called ...string) []registry.Tool {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "all are called the same", Version: "1"}, nil)
	for _, name := range called {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return servedText(server + " " + req.Params.Name), nil
		})
	}
	c := mcp.NewClient(server, &transport.Pipe{Serve: s.Run}, nil)
	t.Cleanup(func() { _ = c.Close() })
	listed, err := c.Tools(t.Context())
	if err != nil || len(listed) != len(called) {
		t.Fatalf("%d tools, %v", len(listed), err)
	}
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote(server, tool, c.CallTool))
	}
	return tools
}

// Tools of one name live side by side, told apart by the name that their server
// has here, and each is called at its server by the name that it has there: with
// points and dashes, in its case, and as long as the protocol allows.
func TestNamesOfServersTools(t *testing.T) {
	long := strings.Repeat("n", 128)
	tools := []string{"search", "Search", "admin.users-list_all", "admin_users-list_all", long}
	r := registry.New(nil)
	wanted := map[string]registry.Origin{}
	for _, server := range []string{"docs", "web"} {
		if diff := mustReplace(t, r, server, remoteTools(t, server, tools...)...); len(diff.Rejected) > 0 {
			t.Errorf("%s: rejected %v", server, diff.Rejected)
		}
		for _, tool := range tools {
			name, _ := names.Names{}.Name(server, tool)
			wanted[name] = registry.Origin{Server: server, Tool: tool}
		}
	}
	if got, want := listedNames(r.Snapshot()), slices.Sorted(maps.Keys(wanted)); !slices.Equal(got, want) || len(want) != 10 {
		t.Fatalf("tools %q, want %q", got, want)
	}
	for name, origin := range wanted {
		res := assert.Value(r.Call(t.Context(), name, nil))(t)
		assert.Equal(t, textOf(t, res), origin.Server+" "+origin.Tool, "%s was answered by", name)
		tool, _ := r.Snapshot().Lookup(name)
		assert.Equal(t, tool.Definition().Origin, origin, "%s comes from", name)
	}

	// What would become the same is told apart.
	mustReplace(t, r, "a", remoteTools(t, "a", "b__c")...)
	if diff := mustReplace(t, r, "a__b", remoteTools(t, "a__b", "c")...); len(diff.Rejected) != 0 {
		t.Errorf("rejected %+v", diff.Rejected)
	}
	if res, err := r.Call(t.Context(), "a__b__c", nil); err != nil || textOf(t, res) != "a b__c" {
		t.Errorf("the name is answered by %v, %v", res, err)
	}
}

// In other schemes a registry names the tools of servers itself, also those that
// were made with another name, but for a name that somebody chose.
func TestSchemesOfARegistry(t *testing.T) {
	for scheme, want := range map[names.Scheme][]string{
		names.ServerTool:     {"chosen", "docs__find", "docs__search", "web__search"},
		names.MCPServerTool:  {"chosen", "mcp__docs__find", "mcp__docs__search", "mcp__web__search"},
		names.ColonTool:      {"chosen", "docs:find", "docs:search", "web:search"},
		names.UnderscoreTool: {"chosen", "docs_find", "docs_search", "web_search"},
		names.BareTool:       {"chosen", "find", "search"},
	} {
		r := registry.New(&registry.Options{Names: names.Names{Scheme: scheme}})
		docs := remoteTools(t, "docs", "hidden", "other", "search")
		var err error
		if docs[0], err = registry.With(docs[0], func(d *registry.Definition) { d.Alias = "find" }); err != nil {
			t.Fatal(err)
		}
		if docs[1], err = registry.With(docs[1], func(d *registry.Definition) { d.Name = "chosen" }); err != nil {
			t.Fatal(err)
		}
		mustReplace(t, r, "docs", docs...)
		diff := mustReplace(t, r, "web", remoteTools(t, "web", "search")...)
		if scheme == names.BareTool {
			var duplicate *registry.DuplicateError
			if len(diff.Rejected) != 1 || !errors.As(diff.Rejected[0].Err, &duplicate) || duplicate.Holder.Server != "docs" {
				t.Errorf("got %+v rejected, want the second tool of one name", diff.Rejected)
			}
		}
		if got := listedNames(r.Snapshot()); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", scheme, got, want)
		}
		for i, answer := range []string{"docs other", "docs hidden", "docs search", "web search"} {
			if i == len(want) {
				break
			}
			if res, err := r.Call(t.Context(), want[i], nil); err != nil || textOf(t, res) != answer {
				t.Errorf("%s: %s answers %v, %v, want %s", scheme, want[i], res, err, answer)
			}
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
	long := registry.Definition{Origin: registry.Origin{Server: "a", Tool: strings.Repeat("b", 1e6)}}
	if n := len(long.DisplayName()); n > 600 {
		t.Errorf("a name of %d bytes", n)
	}
}

// Add says so if it does not take a tool, by whatever names.
func TestAddTheSameTwice(t *testing.T) {
	for _, listed := range []names.Names{
		{}, {Scheme: names.BareTool}, {Custom: func(server, tool string) string { return tool }},
	} {
		r := registry.New(&registry.Options{Names: listed})
		tool := remoteTools(t, "mail", "send")[0]
		mustAdd(t, r, tool)
		var duplicate *registry.DuplicateError
		if err := r.Add(tool); !errors.As(err, &duplicate) {
			t.Errorf("%q: again: %v", listed.Scheme, err)
		}
		if err := registry.New(&registry.Options{Names: listed}).Add(tool, tool); !errors.As(err, &duplicate) {
			t.Errorf("%q: twice: %v", listed.Scheme, err)
		}
		assert.Equal(t, len(r.Snapshot().Tools()), 1, "%q: tools", listed.Scheme)
	}
}
