package registry_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/session"
)

func ExampleRegistry_Callable() {
	policy, err := policy.New(approval.Allow, policy.Rule{Verdict: approval.Deny, User: "guest", Tool: "wipe"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := registry.New(&registry.Options{Approver: policy})
	wipe := registry.MustFunc("wipe", "Forget everything", func(context.Context, struct{}) (string, error) { return "done", nil })
	if err := r.Add(registry.MustFunc("add", "Add two numbers", add), wipe); err != nil {
		fmt.Println(err)
		return
	}
	for _, user := range []string{"alice", "guest"} {
		ctx := session.WithUser(context.Background(), user)
		for _, tool := range r.Callable(ctx) {
			fmt.Println(user, tool.Definition().Name)
		}
	}
	// Output:
	// alice add
	// alice wipe
	// guest add
}

// A program tells a person beforehand which tools they will be asked about.
func ExampleRegistry_Asks() {
	r := registry.New(&registry.Options{Approver: policy.Cautious()})
	wipe := registry.MustFunc("wipe", "Forget everything", func(context.Context, struct{}) (string, error) { return "done", nil })
	if err := r.Add(wipe); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Asks(context.Background(), wipe.Definition()))
	// Output: true true
}
