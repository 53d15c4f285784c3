package seal

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// key64 returns a testKey in base64.
func key64(letter string) string {
	return base64.StdEncoding.EncodeToString([]byte(testKey(letter).Reveal()))
}

// expectKeys asks a source, and compares the first letters of its keys.
func expectKeys(t testing.TB, source KeySource, want string) {
	t.Helper()
	keys, err := source(t.Context(), make([]byte, saltSize))
	if err != nil {
		t.Errorf("no keys: %v", err)
		return
	}
	got := keys.Current.Reveal()[:1]
	for _, old := range keys.Old {
		got += old.Reveal()[:1]
	}
	if err := keys.check(); err != nil || got != want {
		t.Errorf("got keys %q, %v, want %q", got, err, want)
	}
}

// expectNoKeys asks a source that has none, and looks for what its error may not
// show.
func expectNoKeys(t testing.TB, source KeySource, says string, secrets ...string) {
	t.Helper()
	keys, err := source(t.Context(), make([]byte, saltSize))
	var key *KeyError
	if !errors.As(err, &key) || key.Source == "" || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, %v, want a *KeyError that names its source and says %q", keys, err, says)
		return
	}
	for _, s := range secrets {
		if strings.Contains(err.Error(), s) {
			t.Errorf("the error shows %q: %v", s, err)
		}
	}
}

func TestKeyEnv(t *testing.T) {
	const name = "MCPBELT_TEST_SEALING_KEY"
	source := KeyEnv(name)
	hexOf := func(letter string) string { return hex.EncodeToString([]byte(testKey(letter).Reveal())) }
	urlSafe := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\xfb", KeySize)))
	for text, want := range map[string]string{
		key64("k"):                           "k",
		hexOf("k"):                           "k",
		strings.TrimRight(key64("k"), "="):   "k",
		key64("l") + "," + key64("k"):        "lk",
		" " + key64("l") + "\n" + hexOf("k"): "lk",
		"# new\n" + key64("l") + "\r\n # old\n, " + key64("k"): "lk",
		urlSafe: "\xfb",
	} {
		t.Setenv(name, text)
		expectKeys(t, source, want)
	}
	for _, text := range []string{
		"", " ,\n", "# " + key64("k"), "canary", key64("k")[:40], key64("k") + ",canary",
		hexOf("k")[:62] + "zz", base64.StdEncoding.EncodeToString([]byte("canary")),
	} {
		t.Setenv(name, text)
		expectNoKeys(t, source, name, "canary", key64("k")[:8], "Y2FuYXJ5")
	}
	assert.OK(t, os.Unsetenv(name))
	expectNoKeys(t, source, "not set")
}

func TestKeyFileIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "key")
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[auth.Secret]bool{}
	for range 16 {
		wg.Go(func() {
			keys, err := KeyFile(path)(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made[keys.Current] = true
		})
	}
	wg.Wait()
	assert.Equal(t, len(made), 1, "16 callers made keys")
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v, want the key alone", left, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", p, info.Mode(), err, want)
		}
	}
}

func TestKeyFileRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		assert.OK(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)))
	}
	write("# made by hand\n"+key64("l")+"\n"+key64("k")+"\n", 0o400)
	expectKeys(t, KeyFile(path), "lk")
	assert.OK(t, os.Chmod(path, 0o600))
	write("canary", 0o600)
	expectNoKeys(t, KeyFile(path), path, "canary")
	write("", 0o600) // perhaps the disk was full; it is not replaced, the old key may come back
	expectNoKeys(t, KeyFile(path), "there is no key")
	write(strings.Repeat("#", maxKeyFile+1), 0o600)
	expectNoKeys(t, KeyFile(path), "too large")
	expectNoKeys(t, KeyFile(dir), "not a file")
	expectNoKeys(t, KeyFile(filepath.Join(path, "below")), "cannot be had")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := KeyFile(filepath.Join(dir, "new"))(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602} {
		write(key64("k"), mode)
		expectNoKeys(t, KeyFile(path), "chmod 600", key64("k")[:8])
		assert.OK(t, os.Chmod(path, 0o600))
	}
	assert.OK(t, os.Chmod(dir, 0o777))
	expectNoKeys(t, KeyFile(path), "chmod 700")
	assert.OK(t, os.Chmod(dir, 0o777|os.ModeSticky))
	expectKeys(t, KeyFile(path), "k")
}

// A key is replaced in a file, and the store follows without being opened anew.
func TestKeyFileRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	d := storage.NewMemory()
	s := openStore(t, d, KeyFile(path))
	mustSave(t, s, "a", "1", "")
	old := assert.Value(os.ReadFile(path))(t)
	assert.OK(t, os.WriteFile(path, append([]byte(key64("n")+"\n"), old...), 0o600))
	if n, err := s.Rotate(t.Context()); n != 1 || err != nil {
		t.Fatalf("Rotate: %d, %v", n, err)
	}
	assert.OK(t, os.WriteFile(path, []byte(key64("n")), 0o600))
	expectData(t, openStore(t, d, KeyFile(path)), "a", "1")
}

func TestKeyPassphrase(t *testing.T) {
	d := storage.NewMemory()
	first := openStore(t, d, KeyPassphrase("correct horse"))
	mustSave(t, first, "a", "1", "")
	var key *KeyError
	if _, err := NewStore(t.Context(), d, KeyPassphrase("canary guess")); !errors.As(err, &key) || strings.Contains(err.Error(), "canary") {
		t.Errorf("open with another passphrase: %v", err)
	}
	if _, err := NewStore(t.Context(), d, KeyPassphrase("")); !errors.As(err, &key) {
		t.Errorf("open with no passphrase: %v", err)
	}
	both := openStore(t, d, KeyPassphrase("battery staple", "correct horse"))
	if n, err := both.Rotate(t.Context()); n != 1 || err != nil {
		t.Errorf("Rotate: %d, %v", n, err)
	}
	expectData(t, openStore(t, d, KeyPassphrase("battery staple")), "a", "1")

	// Another store has another salt, and so another key.
	source := KeyPassphrase("correct horse")
	a := assert.Value(source(t.Context(), []byte("salt of one store")))(t)
	b := assert.Value(source(t.Context(), []byte("salt of another store")))(t)
	if a.Current == b.Current {
		t.Error("the salt makes no difference")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := source(ended, []byte("third")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}
