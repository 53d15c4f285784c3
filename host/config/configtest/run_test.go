package configtest_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	configtest.Run(t, func(testing.TB) config.Store { return config.NewMemoryStore() }, &configtest.Options{
		Reopen: func(_ testing.TB, s config.Store) config.Store { return s },
	})
}

func TestFile(t *testing.T) {
	configtest.Run(t, func(t testing.TB) config.Store {
		return config.OpenFileStore(filepath.Join(t.TempDir(), "mcp.json"), nil)
	}, &configtest.Options{Reopen: func(_ testing.TB, s config.Store) config.Store {
		return config.OpenFileStore(s.(*config.FileStore).Path(), nil)
	}})
}

// bare hides the methods that are optional.
type bare struct{ config.Store }

func (b bare) Records(ctx context.Context) ([]config.Stored, error) { return b.Store.Records(ctx) }

func TestWithoutOptions(t *testing.T) {
	configtest.Run(t, func(testing.TB) config.Store { return bare{config.NewMemoryStore()} }, nil)
}
