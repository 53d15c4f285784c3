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
	"testing"

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
	keys := assert.Value(source(t.Context()))(t)
	got := keys.Current.Reveal()[:1]
	for _, old := range keys.Old {
		got += old.Reveal()[:1]
	}
	assert.OK(t, keys.check())
	assert.Equal(t, got, want, "got keys")
}

// expectNoKeys asks a source that has none, and looks for what its error may not
// show.
func expectNoKeys(t testing.TB, source KeySource, says string, secrets ...string) {
	t.Helper()
	err := errOf(source(t.Context()))
	assert.True(t, assert.As[*KeyError](t, err).Source != "", "the error names the source")
	assert.Contains(t, err.Error(), says)
	assert.LacksAll(t, err.Error(), secrets...)
}

func TestKeyEnv(t *testing.T) {
	const name = "MCPBELT_TEST_SEALING_KEY"
	source := KeyEnv(name)
	hexOf := func(letter string) string { return hex.EncodeToString([]byte(testKey(letter).Reveal())) }
	urlSafe := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\xfb", KeySize)))
	for text, want := range map[string]string{
		key64("k"): "k", hexOf("k"): "k", strings.TrimRight(key64("k"), "="): "k", key64("l") + "," + key64("k"): "lk",
		" " + key64("l") + "\n" + hexOf("k"): "lk", "# new\n" + key64("l") + "\r\n # old\n, " + key64("k"): "lk",
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
	made := make(chan func(testing.TB) *Keys, 16)
	for range cap(made) {
		go func() { made <- assert.Value(KeyFile(path)(t.Context())) }()
	}
	first := (<-made)(t).Current
	for range cap(made) - 1 {
		assert.True(t, (<-made)(t).Current == first, "all have one key")
	}
	assert.Equal(t, len(assert.Value(os.ReadDir(filepath.Dir(path)))(t)), 1, "files in the folder")
	if runtime.GOOS == "windows" {
		return
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		assert.Equal(t, assert.Value(os.Stat(p))(t).Mode().Perm(), want, "mode of %s", p)
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
	expectNoKeys(t, KeyFile(path), "more than the limit")
	expectNoKeys(t, KeyFile(dir), "not a regular file")
	expectNoKeys(t, KeyFile(filepath.Join(path, "below")), "cannot be had")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, errOf(KeyFile(filepath.Join(dir, "new"))(ended)), context.Canceled, "after the end of the context")
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
	assert.OK(t, os.WriteFile(path, append([]byte(key64("n")+"\n"), assert.Value(os.ReadFile(path))(t)...), 0o600))
	wantRotated(t, s, 1)
	assert.OK(t, os.WriteFile(path, []byte(key64("n")), 0o600))
	expectData(t, openStore(t, d, KeyFile(path)), "a", "1")
}

// What was sealed by earlier versions has to open for ever: this must not change.
const sealedByVersion1 = "6d62737301117a1971eb74d77d000000000000000700ce30117e220498de5e2d8b7d95b5b7cf61e68d1c559af27feca98f5230d8e08772f1a467b86c472c0d6aa0607c587e7830"

func TestFormatStays(t *testing.T) {
	sealed := assert.Value(hex.DecodeString(sealedByVersion1))(t)
	o := assert.Value(newKeyset(&Keys{Current: testKey("k")}).open(forRecord, "alice.github", sealed))(t)
	assert.Equal(t, string(o.data), "a session", "a record of version 1")
	assert.Equal(t, o.generation, 7, "its generation")
}
