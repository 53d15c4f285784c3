package names_test

import (
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry/names"
)

// Names are plain where they can be. Where a name has to be cleaned or cut, or
// could be that of another tool, it ends in a hash.
func ExampleNames_Name() {
	var listed names.Names
	show := func(server, tool string) {
		name, why := listed.Name(server, tool)
		fmt.Printf("%s %q\n", name, why)
	}
	show("github", "create_issue")
	show("notion", "admin.users.list")
	show("jira", strings.Repeat("get_custom_field_", 4))

	listed.Scheme = names.UnderscoreTool
	show("github", "create_issue")
	show("git_hub", "create_issue") // or "hub_create_issue" of a server "git"?
	// Output:
	// github__create_issue ""
	// notion__admin_users_list_z2gxn3nwek "cleaned"
	// jira__get_custom_field_get_custom_field_get_custom_3plluhyyef "cut"
	// github_create_issue ""
	// git_hub_create_issue_b3ipb6lwx7 "ambiguous"
}
