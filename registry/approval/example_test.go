package approval_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A program bounds the time that calls take, and not that of the person who is asked.
func ExampleWithWait() {
	ask := registry.ApproverFunc(func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		defer approval.Wait(ctx)()
		fmt.Println("May", req.Tool.Name, "be called?")
		return approval.Decision{Verdict: approval.Allow}, nil
	})
	r := registry.New(&registry.Options{Approver: ask})
	_ = r.Add(registry.MustFunc("add", "Add two numbers", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }))

	ctx := approval.WithWait(context.Background(), func() func() {
		fmt.Println("the clock stands")
		return func() { fmt.Println("the clock goes on") }
	})
	_, err := r.Call(ctx, "add", []byte(`{"A":1,"B":2}`))
	fmt.Println(err)
	// Output:
	// the clock stands
	// May add be called?
	// the clock goes on
	// <nil>
}
