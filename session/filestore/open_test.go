package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
	var wg sync.WaitGroup
	for range 8 { // all at once
		wg.Go(func() {
			s, err := filestore.Open(t.Context(), dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runtime.GOOS == "windows" {
		return
	}
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	assert.OK(t, err)
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

// Damage to the record of the keys is reported once. It costs the sessions where the key
// is made of it, and nothing where the key is known without it.
func TestRecordOfKeysIsDamaged(t *testing.T) {
	for name, test := range map[string]struct {
		keys seal.KeySource
		lost bool
	}{
		"key file":   {nil, false},
		"passphrase": {seal.KeyPassphrase("correct horse"), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			opts := &filestore.Options{Keys: test.keys}
			s := assert.Value(filestore.Open(t.Context(), dir, opts))(t)
			defer s.Close()
			logIn(t, s)
			found, err := filepath.Glob(filepath.Join(dir, "records", "*", "0,store.keys"))
			if err != nil || len(found) != 1 {
				t.Fatalf("found %q, %v", found, err)
			}
			assert.OK(t, os.WriteFile(found[0], []byte("x"), 0o600))
			assert.As[*seal.CorruptError](t, errOf(filestore.Open(t.Context(), dir, opts)))
			again, err := filestore.Open(t.Context(), dir, opts)
			var key *seal.KeyError
			assert.Equal(t, errors.As(err, &key), test.lost, "second Open")
			if err == nil {
				_ = again.Close()
			}
		})
	}
}

func TestOpenAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, errOf(filestore.Open(ctx, t.TempDir(), nil)), context.Canceled, "open after the end of the context")
}

// No folder is not the working directory.
func TestOpenWithoutFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := filestore.Open(t.Context(), "", nil)
	if err == nil {
		_ = s.Close()
	}
	assert.As[*filestore.Error](t, err)
	files, _ := os.ReadDir(".")
	assert.Equal(t, len(files), 0)
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
