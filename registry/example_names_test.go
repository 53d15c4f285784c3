package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry"
)

// Names are plain where they can be. Where a name has to be cleaned or cut, or
// could be that of another tool, it ends in a hash.
func ExampleNames_Name() {
	var names registry.Names
	show := func(server, tool string) {
		name, why := names.Name(server, tool)
		fmt.Printf("%s %q\n", name, why)
	}
	show("github", "create_issue")
	show("notion", "admin.users.list")
	show("jira", strings.Repeat("get_custom_field_", 4))

	names.Scheme = registry.UnderscoreTool
	show("github", "create_issue")
	show("git_hub", "create_issue") // or "hub_create_issue" of a server "git"?
	// Output:
	// github__create_issue ""
	// notion__admin_users_list_z2gxn3nwek "cleaned"
	// jira__get_custom_field_get_custom_field_get_custom_3plluhyyef "cut"
	// github_create_issue ""
	// git_hub_create_issue_b3ipb6lwx7 "ambiguous"
}

// A registry whose tools have their own names.
func ExampleNames() {
	r := registry.New(&registry.Options{Names: registry.Names{Scheme: registry.BareTool}})
	for server, tools := range map[string][]string{
		"github": {"create_issue", "search"},
		"docs":   {"find", "fetch"},
	} {
		var listed []registry.Tool
		for _, tool := range tools {
			listed = append(listed, &plainTool{def: &registry.Definition{
				InputSchema: json.RawMessage(`{"type":"object"}`),
				Origin:      registry.Origin{Server: server, Tool: tool},
			}, answer: textResult("found")})
		}
		if _, err := r.Replace(server, listed); err != nil {
			fmt.Println(err)
		}
	}
	for _, t := range r.Snapshot().Tools() {
		fmt.Println(t.Definition().Name)
	}

	// Models do not always write names as they are listed.
	_, err := r.Call(context.Background(), "GitHub.createIssue", nil)
	fmt.Println(err)
	// Output:
	// create_issue
	// fetch
	// find
	// search
	// <nil>
}

// What a tool would be called can be told before it is there.
func ExampleRegistry_Names() {
	r := registry.New(&registry.Options{Names: registry.Names{Scheme: registry.MCPServerTool}})
	name, _ := r.Names().Name("github", "create_issue")
	fmt.Println(name)
	// Output: mcp__github__create_issue
}

func ExampleDefinition_DisplayName() {
	d := &registry.Definition{Name: "github__create_issue", Origin: registry.Origin{Server: "github", Tool: "create_issue"}}
	fmt.Println(d.DisplayName())
	// Output: github:create_issue (MCP)
}
