package manage_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/record"
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

// A page offers to take back what was done last.
func ExampleManager_Undo() {
	ctx := context.Background()
	m, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	if _, err := m.Update(ctx, "notes", &record.Patch{Disabled: record.Some(true)}); err != nil {
		fmt.Println(err)
		return
	}
	last, ok := m.LastChange()
	fmt.Println(ok, last.After.Name, last.After.Disabled)
	report, err := m.Undo(ctx, last)
	fmt.Println(report.Started, err)
	// Output:
	// true notes true
	// [notes] <nil>
}

// A change is tried out before it is made.
func ExampleManager_Preview() {
	ctx := context.Background()
	m, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	entry, err := m.Preview(ctx, "notes", &record.Patch{Args: record.Some([]string{"--all"})})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := doctor.Test(ctx, m.Host(), entry, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Success, entry.Args)
	// Output: true [--all]
}
