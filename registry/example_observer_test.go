package registry_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
)

func ExampleRegistry_Observe() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	stop := r.Observe(func(_ context.Context, o *registry.Observation) {
		fmt.Println(o.Kind, o.Name, string(o.Arguments), o.Err != nil)
	})
	defer stop()
	ctx := context.Background()
	_, _ = r.Call(ctx, "add", json.RawMessage(`{"a":1,"b":2}`))
	_, _ = r.Call(ctx, "subtract", nil)
	// Output:
	// call add {"a":1,"b":2} false
	// call subtract  true
}
