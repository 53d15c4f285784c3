package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// remoteTools returns the tools of a server that answers each call with its own
// name and that of the tool, as it was called.
func remoteTools(t *testing.T, server string, names ...string) []registry.Tool {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "all are called the same", Version: "1"}, nil)
	for _, name := range names {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return textResult(server + " " + req.Params.Name), nil
		})
	}
	c := mcp.NewClient(server, &transport.Pipe{Serve: s.Run}, nil)
	t.Cleanup(func() { _ = c.Close() })
	listed, err := c.Tools(t.Context())
	if err != nil || len(listed) != len(names) {
		t.Fatalf("%d tools, %v", len(listed), err)
	}
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote(server, c, tool))
	}
	return tools
}

// Tools of one name live side by side, told apart by the name that their server
// has here, and each is called at its server by the name that it has there: with
// points and dashes, in its case, and as long as the protocol allows.
func TestNamesOfServersTools(t *testing.T) {
	long := strings.Repeat("n", 128)
	tools := []string{"search", "Search", "admin.users-list_all", long}
	r := registry.New(nil)
	var want []string
	for _, server := range []string{"docs", "web"} {
		if diff := mustReplace(t, r, server, remoteTools(t, server, tools...)...); len(diff.Rejected) > 0 {
			t.Errorf("%s: rejected %v", server, diff.Rejected)
		}
		for _, tool := range tools {
			want = append(want, server+"__"+tool)
		}
	}
	slices.Sort(want)
	if got := names(r.Snapshot()); !slices.Equal(got, want) {
		t.Fatalf("tools %q, want %q", got, want)
	}
	for _, name := range want {
		res, err := r.Call(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(t, res); got != strings.Replace(name, "__", " ", 1) {
			t.Errorf("%s was answered by %s", name, got)
		}
		tool, _ := r.Snapshot().Lookup(name)
		if o := tool.Definition().Origin; o.Server+"__"+o.Tool != name {
			t.Errorf("%s comes from %+v", name, o)
		}
	}

	// Names that become the same are not mixed up: the first holder keeps it.
	mustReplace(t, r, "a", remoteTools(t, "a", "b__c")...)
	diff := mustReplace(t, r, "a__b", remoteTools(t, "a__b", "c")...)
	var taken *registry.DuplicateError
	if len(diff.Rejected) != 1 || !errors.As(diff.Rejected[0].Err, &taken) || taken.Holder.Server != "a" {
		t.Errorf("rejected %+v", diff.Rejected)
	}
	if res, err := r.Call(t.Context(), "a__b__c", nil); err != nil || textOf(t, res) != "a b__c" {
		t.Errorf("the name is answered by %v, %v", res, err)
	}
}
