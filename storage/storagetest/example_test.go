package storagetest_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

func ExampleRun() {
	// In a test of your driver:
	_ = func(t *testing.T) {
		storagetest.Run(t, func(t testing.TB) storage.Store {
			store := storage.NewMemory()
			t.Cleanup(func() { _ = store.Close() })
			return store
		}, nil)
	}
}
