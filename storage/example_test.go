package storage_test

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// A replica that keeps what another one changes.
func ExampleWatcher() {
	ctx := context.Background()
	store := storage.NewMemory()
	defer store.Close()
	watcher, ok := store.(storage.Watcher)
	if !ok {
		return // read the records now and then
	}
	for name, err := range watcher.Watch(ctx, "ledger") {
		if err != nil {
			fmt.Println(err)
			break
		}
		if name == "" { // at first: read all
			_, _ = store.Save(ctx, "ledger", []byte("{}"), "")
			continue
		}
		fmt.Println(name, "has changed")
		break
	}
	// Output: ledger has changed
}

// One of several replicas does what must be done once.
func ExampleLeaser() {
	ctx := context.Background()
	store := storage.NewMemory()
	defer store.Close()
	leaser, ok := store.(storage.Leaser)
	if !ok {
		return // another way to find out who does it
	}
	number, err := leaser.TakeLease(ctx, "clock-server", 30*time.Second)
	fmt.Println(number, err)
	_, err = leaser.TakeLease(ctx, "clock-server", 30*time.Second)
	fmt.Println(errors.Is(err, storage.ErrHeld))
	fmt.Println(leaser.RenewLease(ctx, "clock-server", number, 30*time.Second)) // every 10 seconds
	fmt.Println(leaser.ReleaseLease(ctx, "clock-server", number))
	// Output:
	// 1 <nil>
	// true
	// <nil>
	// <nil>
}
