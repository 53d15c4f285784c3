package seal

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

// maxKeyFile bounds a file of keys, in bytes.
const maxKeyFile = 64 << 10

// KeyFile returns the keys of a file: KeySize random bytes in base64 or hex, one
// key a line, the current one first; lines that begin with # are comments. If there
// is no file, it is made with a new key, in a folder that only the owner can use,
// and of two programs that do so at once both get the same key. A file that others
// than its owner may read, or whose folder others may write to, is refused, where
// modes tell (on Windows they do not).
//
// To replace the key, put a line with a new one before the old one; openssl rand
// -base64 32 prints one. Then call [Store.Rotate] in a program that has the store
// open, restart the others, and take the old line away.
func KeyFile(path string) KeySource {
	return func(ctx context.Context) (*Keys, error) {
		source := fmt.Sprintf("file %q", path)
		text, err := readKeyFile(path)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			if err = makeKeyFile(path); err == nil || errors.Is(err, fs.ErrExist) {
				text, err = readKeyFile(path)
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var key *KeyError
		if errors.As(err, &key) {
			key.Source = source
			return nil, key
		}
		if err != nil {
			return nil, &KeyError{Source: source, Problem: "it cannot be had", Err: err}
		}
		return parseFrom(source, string(text))
	}
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &KeyError{Problem: "it is not a file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if problem := ownfile.Mode(info, ownfile.NotRead); problem != "" {
		return nil, &KeyError{Problem: problem}
	}
	if problem, err := ownfile.Folder(path); err != nil {
		return nil, err
	} else if problem != "" {
		return nil, &KeyError{Problem: problem}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if len(text) > maxKeyFile {
		return nil, &KeyError{Problem: "it is too large for a file of keys"}
	}
	return text, err
}

// makeKeyFile makes a file with a new key. It is written beside and then linked,
// so that no reader finds it empty; if another process is faster, the error is
// fs.ErrExist.
func makeKeyFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	text := "# The key that sessions are sealed with. Without it they are lost.\n" +
		base64.StdEncoding.EncodeToString(key) + "\n"
	tmp := path + "." + rand.Text()
	if err := writeKeyFile(tmp, text); err != nil {
		return err
	}
	defer os.Remove(tmp)
	err := os.Link(tmp, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = writeKeyFile(path, text) // the file system has no hard links
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// writeKeyFile writes a file that must not be there.
func writeKeyFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

// syncDir makes the names in a folder survive a loss of power, where that can be
// asked for.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems cannot
	return d.Close()
}
