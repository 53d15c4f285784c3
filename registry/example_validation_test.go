package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
)

// A model that wrote wrong arguments reads all that is wrong with them, and can
// put it right in one go.
func ExampleArgumentsError() {
	r := registry.New(nil)
	_ = r.Add(newSchemaTool(issueSchema, "", nil))

	_, err := r.Call(context.Background(), "tool", json.RawMessage(`{"titel":"Buy milk","priority":"high","labels":[{}]}`))
	var wrong *registry.ArgumentsError
	if errors.As(err, &wrong) {
		for _, problem := range wrong.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// "labels[0].name" is missing; it must be a string
	// "priority" must be an integer from 1 to 5, not a string
	// "titel" is not known; did you mean "title"? known are "due", "extra", "labels", "priority", "state", "title"
	// "title" is missing; it must be a string of at least 1 character; "one line"
}

// A program whose servers fill in their defaults themselves sends what the model
// wrote, byte for byte.
func ExampleArgumentOptions() {
	tool := newSchemaTool(issueSchema, "", nil)
	r := registry.New(&registry.Options{
		Arguments: registry.ArgumentOptions{SkipDefaults: true},
	})
	_ = r.Add(tool)

	_, err := r.Call(context.Background(), "tool", json.RawMessage(`{"title": "Buy milk", "labels": []}`))
	fmt.Println(err)
	fmt.Println(tool.calls[0])
	// Output:
	// <nil>
	// {"title": "Buy milk", "labels": []}
}
