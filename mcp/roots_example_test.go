package mcp_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
)

func ExampleClient_SetRoots() {
	ctx := context.Background()
	// An empty list says that there may be roots later.
	c := mcp.NewClient("adder", adder(), &mcp.ClientOptions{Roots: []*mcp.Root{}})
	defer c.Close()

	root, err := mcp.RootOf("/home/ann/my work")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(root.Name, root.URI)
	fmt.Println(c.SetRoots(ctx, []*mcp.Root{root}))
	fmt.Println(c.SetRoots(ctx, []*mcp.Root{{URI: "file:///home/ann/%2e%2e"}}))
	// Output:
	// my work file:///home/ann/my%20work
	// <nil>
	// mcp: root "file:///home/ann/%2e%2e" has dot segments
}

func ExampleRootOf() {
	_, err := mcp.RootOf("work")
	fmt.Println(err)
	// Output:
	// mcp: root "work" is not an absolute path
}
