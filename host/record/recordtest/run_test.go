package recordtest_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/record/recordtest"
	"github.com/mcpbelt/mcpbelt/storage"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	recordtest.Run(t, func(testing.TB) record.Store { return record.NewMemoryStore() }, &recordtest.Options{
		Reopen: func(_ testing.TB, s record.Store) record.Store { return s },
	})
}

func TestFile(t *testing.T) {
	recordtest.Run(t, func(t testing.TB) record.Store {
		return edit.OpenFileStore(filepath.Join(t.TempDir(), "mcp.json"), nil)
	}, &recordtest.Options{Reopen: func(_ testing.TB, s record.Store) record.Store {
		return edit.OpenFileStore(s.(*edit.FileStore).Path(), nil)
	}})
}

func TestStore(t *testing.T) {
	type twin struct {
		record.Store
		kept storage.Store
	}
	recordtest.Run(t, func(testing.TB) record.Store {
		kept := storage.NewMemory()
		return twin{record.NewStore(kept, "servers"), kept}
	}, &recordtest.Options{Reopen: func(_ testing.TB, s record.Store) record.Store {
		return record.NewStore(s.(twin).kept, "servers")
	}})
}
