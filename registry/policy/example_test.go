package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

func ExampleNew() {
	yes := true
	policy, err := policy.New(approval.Ask,
		policy.Rule{Verdict: approval.Allow, Server: "prod-eu", Tool: "get_*"},
		policy.Rule{Verdict: approval.Deny, Server: "prod-*", Reason: "production is read only"},
		policy.Rule{Verdict: approval.Allow, Trusted: &yes, ReadOnly: &yes},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, origin := range []registry.Origin{{Server: "prod-eu", Tool: "get_user"}, {Server: "prod-eu", Tool: "drop_table"}, {Server: "notes", Tool: "add"}} {
		d := policy.Decide(&registry.ApprovalRequest{Tool: &registry.Definition{Origin: origin}})
		fmt.Printf("%v: %v %q\n", origin, d.Verdict, d.Reason)
	}
	// Output:
	// tool "get_user" of server "prod-eu": allow ""
	// tool "drop_table" of server "prod-eu": deny "production is read only"
	// tool "add" of server "notes": ask "no rule of the policy is for it"
}

func ExampleCautious() {
	r := registry.New(&registry.Options{Approver: policy.Cautious()})
	read, _ := registry.With(registry.MustFunc("add", "Add two numbers", add), func(d *registry.Definition) {
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	})
	wipe := registry.MustFunc("wipe", "Forget everything", func(context.Context, struct{}) (string, error) { return "done", nil })
	if err := r.Add(read, wipe); err != nil {
		fmt.Println(err)
		return
	}
	res, err := r.Call(context.Background(), "add", json.RawMessage(`{"a": 1, "b": 2}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)

	_, err = r.Call(context.Background(), "wipe", nil)
	var required *registry.ApprovalRequiredError
	fmt.Println(errors.As(err, &required), required.Request.Reason)
	// Output:
	// 3 <nil>
	// true it does not say what it does
}
