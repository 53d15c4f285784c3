package storage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/storage"
)

// Two writers have read the same state; the second one learns of the first.
func ExampleStore() {
	ctx := context.Background()
	var store storage.Store = storage.NewMemory()
	defer store.Close()
	before, err := store.Save(ctx, "a", []byte("one"), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = store.Save(ctx, "a", []byte("two"), before)
	fmt.Println(err)
	_, err = store.Save(ctx, "a", []byte("three"), before)
	fmt.Println(errors.Is(err, storage.ErrConflict))
	// Output:
	// <nil>
	// true
}

func ExampleCheckName() {
	fmt.Println(storage.CheckName("alice.github"))
	fmt.Println(storage.CheckName("../alice"))
	// Output:
	// <nil>
	// not a name of a record: "../alice"
}
