package edit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// What was removed from a config file is taken back, by a store that keeps it.
func ExampleFileStore_Keep() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store := edit.OpenFileStore(filepath.Join(dir, "mcp.json"), nil)
	store.Keep(filepath.Join(dir, "state", "records.json"))

	ctx := context.Background()
	added, err := record.Add(ctx, store, &record.Record{Name: "files", Command: "npx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := record.Remove(ctx, store, added.ID); err != nil {
		fmt.Println(err)
		return
	}
	restored, err := record.Restore(ctx, store, added.ID)
	fmt.Println(restored.Record, restored.ID == added.ID, err)
	// Output: files (stdio: npx) true <nil>
}
