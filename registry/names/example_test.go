package names_test

import (
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry/names"
)

// Names are plain where they can be. Where a name has to be cleaned or cut, or
// could be that of another tool, it ends in a hash.
func ExampleScheme_Name() {
	show := func(s names.Scheme, server, tool string) { fmt.Println(s.Name(server, tool)) }
	show(names.ServerTool, "github", "create_issue")
	show(names.ServerTool, "notion", "admin.users.list")
	show(names.ServerTool, "jira", strings.Repeat("get_custom_field_", 4))
	show(names.MCPServerTool, "github", "create_issue")
	// Output:
	// github__create_issue
	// notion__admin_users_list_z2gxn3nwek
	// jira__get_custom_field_get_custom_field_get_custom_3plluhyyef
	// mcp__github__create_issue
}
