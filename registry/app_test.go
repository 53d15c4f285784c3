// Tests of tool.go and context.go: tools with an app, and calls of apps.

package registry_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A tool that its server has for its apps alone is neither listed nor called, except for a
// program that shows apps.
func TestAppToolsAreNotForModels(t *testing.T) {
	of := func(name, ui string) string {
		return `{"name":"` + name + `","inputSchema":{"type":"object"},"_meta":{"ui":` + ui + `}}`
	}
	s := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[` + of("chart", `{"resourceUri":"ui://chart","visibility":["model","app"]}`) + "," + of("poll", `{"visibility":["app"]}`) + "," +
			of("nobody", `{"visibility":[]}`) + "," + of("odd", `{"resourceUri":"https://chart","visibility":"app"}`) + "," + of("plain", `{}`) + "," +
			`{"name":"hidden","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["model"]},"ui/resourceUri":"ui://old"}}]}`),
		"tools/call": mcptest.Result(`{"content":[]}`),
	})
	tools := remotes(t, "s", newClient(t, "s", s))
	for name, approver := range map[string]registry.Approver{"none": nil, "policy": mustPolicy(t, approval.Allow)} {
		r := registry.New(&registry.Options{Approver: approver})
		mustReplace(t, r, "s", tools...)
		assert.OK(t, r.Add(registry.MustFunc("native", "", func(context.Context, struct{}) (string, error) { return "", nil })))
		assert.List(t, listedNames(r.Snapshot()), []string{"native", "s__chart", "s__hidden", "s__odd", "s__plain"}, "%s: listed", name)
		assert.Equal(t, len(r.Callable(t.Context())), 5, "%s: callable by a model", name)
		unknown := wantError[*registry.UnknownToolError](t, assert.Err(r.Call(t.Context(), "s__poll", nil)))
		assert.False(t, slices.Contains(unknown.Suggestions, "s__poll"), "%s: it is suggested", name)
		verdict, _ := r.Decide(t.Context(), "s__poll")
		assert.Equal(t, verdict, approval.Deny, "%s: the verdict", name)
		shows := onbehalf.WithApps(t.Context())
		assert.Equal(t, len(r.Callable(shows)), 7, "%s: callable where apps are shown", name)
		assert.OK(t, assert.Err(r.Call(shows, "s__poll", nil)), "%s: a call where apps are shown", name)
		for tool, server := range map[string]string{"s__poll": "s", "s__chart": "s", "s__hidden": "other", "native": "s"} {
			err := assert.Err(r.Call(registry.AsApp(t.Context(), server), tool, nil))
			assert.Equal(t, err == nil, tool == "s__poll" || tool == "s__chart", "%s: a call of %s by an app of %s: %v", name, tool, server, err)
		}
		for tool, app := range map[string]string{"s__chart": "ui://chart", "s__poll": "", "s__hidden": "ui://old", "s__odd": ""} {
			found, _ := r.Snapshot().Lookup(tool)
			def := found.Definition()
			assert.Equal(t, [...]any{def.App(), def.ForApps(), def.ForModels()}, [...]any{app, tool != "s__hidden", tool != "s__poll"}, "%s: the app of %s, and who calls it", name, tool)
		}
	}
}
