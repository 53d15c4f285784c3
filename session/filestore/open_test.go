package filestore_test

import (
	"context"
	"errors"
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

// Damage to the record of the keys is reported once. It costs the sessions where the key
// is made of it, and nothing where the key is known without it.
func TestRecordOfKeysIsDamaged(t *testing.T) {
	for name, test := range map[string]struct {
		keys seal.KeySource
		lost bool
	}{
		"key file": {nil, false},
		"passphrase": {func(_ context.Context, salt []byte) (*seal.Keys, error) {
			return &seal.Keys{Current: auth.Secret(salt)}, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			opts := &filestore.Options{Keys: test.keys}
			s := assert.Value(filestore.Open(t.Context(), dir, opts))(t)
			defer s.Close()
			logIn(t, s)
			found := assert.Value(filepath.Glob(filepath.Join(dir, "records", "*", "0,store.keys")))(t)
			assert.OK(t, os.WriteFile(strings.Join(found, " "), []byte("x"), 0o600))
			assert.As[*seal.CorruptError](t, errOf(filestore.Open(t.Context(), dir, opts)))
			again, err := filestore.Open(t.Context(), dir, opts)
			var key *seal.KeyError
			assert.Equal(t, errors.As(err, &key), test.lost, "second Open: %v: lost", err)
			if err == nil {
				_ = again.Close()
			}
		})
	}
}

func TestOpenAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, errOf(filestore.Open(ctx, t.TempDir(), nil)), context.Canceled)
}

// No folder is not the working directory.
func TestOpenWithoutFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.As[*filestore.Error](t, errOf(filestore.Open(t.Context(), "", nil)))
	assert.Equal(t, len(assert.Value(os.ReadDir("."))(t)), 0, "files in the working directory")
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
