package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

func ExampleNew() {
	r := registry.New(nil)
	finder, err := toolset.New(r, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	type numbers struct{ A, B int }
	add := func(_ context.Context, n numbers) (int, error) { return n.A + n.B, nil }
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	for _, server := range []string{"github", "gitlab"} {
		_, _ = r.Replace(registry.Server{Name: server}, []registry.Tool{
			serverTool(server, "create_issue", "Create an issue in a repository."),
			serverTool(server, "list_issues", "List the issues of a repository."),
		})
	}
	ctx := context.Background()

	// A small model, so that it has to search early.
	set := finder.Toolset(ctx, &toolset.SetOptions{MaxTokens: 100})
	fmt.Println("searching:", set.Searching, "deferred:", len(set.Deferred))
	for _, t := range set.Tools {
		fmt.Println("-", t.Definition().Name)
	}

	// What the model does then.
	for _, call := range []struct{ tool, args string }{
		{"search_tools", `{"query":"open an issue on GitHub","limit":1}`},
		{"call_tool", `{"name":"github__create_issue","arguments":{}}`},
	} {
		res, err := r.Call(ctx, call.tool, json.RawMessage(call.args))
		if err != nil {
			res = registry.ErrorResult(err)
		}
		fmt.Println(result.Text(res))
	}
	// Output:
	// searching: true deferred: 4
	// - add
	// - call_tool
	// - describe_tool
	// - search_tools
	// - github__create_issue() [github]
	//   Create an issue in a repository.
	// also: github__list_issues, gitlab__create_issue, gitlab__list_issues
	// github__create_issueCreate an issue in a repository.
}

// What the tools take of a model's context window.
func ExampleOf() {
	r := registry.New(nil)
	_, _ = r.Replace(registry.Server{Name: "clock"}, []registry.Tool{serverTool("clock", "now", "Tell the time.")})
	fmt.Println(toolset.Of(context.Background(), r, nil).All, "tokens")
	// Output: 19 tokens
}
