package record_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// ofFile hides all of a store but that its records are in a file.
type ofFile struct {
	record.Store
	path string
}

func (f ofFile) Path() string { return f.path }

// Each change is told, and nothing when nothing has changed: of a store that tells, of one that
// does not, of one that is another Store altogether, and of a file.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	for name, open := range map[string]func(*storage.Memory) record.Store{
		"told":   func(m *storage.Memory) record.Store { return record.NewStore(m, "servers") },
		"polled": func(m *storage.Memory) record.Store { return record.NewStore(struct{ storage.Store }{m}, "servers") },
		"other": func(m *storage.Memory) record.Store {
			return struct{ record.Store }{record.NewStore(m, "servers")}
		},
		"file": func(m *storage.Memory) record.Store { return ofFile{record.NewStore(m, "servers"), path} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				memory := storage.NewMemory()
				told := make(chan []string, 100)
				done := make(chan struct{})
				go func() {
					defer close(done)
					for names := range record.Changes(open(memory))(ctx) {
						told <- names
					}
				}()
				time.Sleep(time.Minute)
				assert.Equal(t, len(told), 1, "words at first")
				elsewhere := record.NewStore(memory, "servers")
				for i, change := range []func() error{
					func() error {
						_, err := record.Add(ctx, elsewhere, &record.Record{Name: "a", Command: "x"})
						return err
					},
					func() error { _, err := record.Remove(ctx, elsewhere, "a"); return err },
				} {
					assert.OK(t, change())
					if name == "file" {
						assert.OK(t, os.WriteFile(path, make([]byte, i), 0o600))
					}
					time.Sleep(time.Minute)
					assert.Equal(t, len(told), i+2, "words after %d changes", i+1)
				}
				cancel()
				<-done
			})
		})
	}
	for range record.Changes(nil)(canceled()) {
		t.Error("got word of no store")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
