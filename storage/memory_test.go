// Tests of memory.go.

package storage_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A memory can be open only once; the same one twice is as good as two of them.
func TestMemory(t *testing.T) {
	storagetest.Run(t, func(t testing.TB) storage.Store { return storage.NewMemory() }, nil)
}
