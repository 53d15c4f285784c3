package manage_test

import (
	"context"
	"fmt"
)

// A page that shows servers by their IDs takes back that one was removed.
func ExampleManager_Restore() {
	ctx := context.Background()
	m, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	notes, err := m.Server(ctx, "notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := m.Remove(ctx, notes.ID); err != nil {
		fmt.Println(err)
		return
	}
	removed, err := m.Removed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d removed, tools left: %q\n", len(removed), names(m.Host()))
	report, err := m.Restore(ctx, notes.ID)
	fmt.Println(report.Started, err)
	// Output:
	// 1 removed, tools left: ""
	// [notes] <nil>
}
