package host_test

import (
	"context"
	"fmt"
)

// A page that shows servers by their IDs takes back that one was removed.
func ExampleHost_RestoreServer() {
	ctx := context.Background()
	h, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	notes, err := h.ManagedServer(ctx, "notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := h.RemoveServer(ctx, notes.ID); err != nil {
		fmt.Println(err)
		return
	}
	removed, err := h.RemovedServers(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d removed, tools left: %q\n", len(removed), names(h))
	report, err := h.RestoreServer(ctx, notes.ID)
	fmt.Println(report.Started, err)
	// Output:
	// 1 removed, tools left: ""
	// [notes] <nil>
}
