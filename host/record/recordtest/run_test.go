package recordtest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/record/recordtest"
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

// bare hides the methods that are optional.
type bare struct{ record.Store }

func (b bare) Records(ctx context.Context) ([]record.Stored, error) { return b.Store.Records(ctx) }

func TestWithoutOptions(t *testing.T) {
	recordtest.Run(t, func(testing.TB) record.Store { return bare{record.NewMemoryStore()} }, nil)
}
