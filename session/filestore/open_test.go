package filestore_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

func testKey(letter string) seal.KeySource {
	return seal.StaticKey(auth.Secret(strings.Repeat(letter, seal.KeySize)))
}

func TestOpenMakesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "store")
	errs := make(chan error)
	for range 8 { // all at once
		go func() {
			s, err := filestore.Open(t.Context(), dir, nil)
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		assert.OK(t, <-errs)
	}
	if runtime.GOOS == "windows" {
		return
	}
	assert.OK(t, filepath.WalkDir(filepath.Dir(dir), func(path string, d os.DirEntry, err error) error {
		assert.OK(t, err)
		assert.Equal(t, assert.Value(d.Info())(t).Mode().Perm()&0o077, 0, "what others may do with %s", path)
		return nil
	}))
}

// logIn keeps a session in the store.
func logIn(t *testing.T, s *seal.Store) {
	t.Helper()
	config := &auth.Config{Server: "s", URL: "https://mcp.example.com/mcp"}
	m := assert.Value(session.NewManager(s, &session.Options{Config: func(session.Key) (*auth.Config, error) { return config, nil }}))(t)
	defer m.Close()
	assert.OK(t, m.SetToken(t.Context(), session.Key{Server: "s"}, "token"))
}

func TestOpenWithAnotherKey(t *testing.T) {
	dir := t.TempDir()
	s := assert.Value(filestore.Open(t.Context(), dir, &filestore.Options{Keys: testKey("k")}))(t)
	defer s.Close()
	assert.As[*seal.KeyError](t, errOf(filestore.Open(t.Context(), dir, &filestore.Options{Keys: testKey("l")})))
	assert.As[*seal.KeyError](t, errOf(filestore.Open(t.Context(), dir, nil)))
}

// Damage to the record of the keys is reported once, and costs no session.
func TestRecordOfKeysIsDamaged(t *testing.T) {
	dir := t.TempDir()
	s := assert.Value(filestore.Open(t.Context(), dir, nil))(t)
	defer s.Close()
	logIn(t, s)
	found := assert.Value(filepath.Glob(filepath.Join(dir, "records", "*", "0,store.keys")))(t)
	assert.OK(t, os.WriteFile(strings.Join(found, " "), []byte("x"), 0o600))
	assert.As[*seal.CorruptError](t, errOf(filestore.Open(t.Context(), dir, nil)))
	assert.OK(t, assert.Value(filestore.Open(t.Context(), dir, nil))(t).Close())
}

func TestOpenAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, errOf(filestore.Open(ctx, t.TempDir(), nil)), context.Canceled)
}

// No folder is not the working directory.
func TestOpenWithoutFolder(t *testing.T) {
	var none context.Context
	assert.Contains(t, errOf(filestore.Open(none, t.TempDir(), nil)).Error(), "the context is nil")
	t.Chdir(t.TempDir())
	assert.As[*filestore.Error](t, errOf(filestore.Open(t.Context(), "", nil)))
	assert.Equal(t, len(assert.Value(os.ReadDir("."))(t)), 0, "files in the working directory")
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
