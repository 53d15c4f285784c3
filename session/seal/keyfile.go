package seal

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
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
		text, problem, err := readKeyFile(path)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			if err = makeKeyFile(ctx, path); err == nil {
				text, problem, err = readKeyFile(path)
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		source := fmt.Sprintf("file %q", path)
		if err != nil {
			problem = "it cannot be had"
		}
		if problem != "" {
			return nil, &KeyError{Source: source, Problem: problem, Err: err}
		}
		return parseFrom(source, string(text))
	}
}

// readKeyFile returns what is in a file of keys, or why it is not to be used.
func readKeyFile(path string) (text []byte, problem string, err error) {
	text, err = ownfile.Read(path, maxKeyFile, ownfile.Private)
	if unsafe, ok := errors.AsType[ownfile.Unsafe](err); ok {
		return nil, string(unsafe), nil
	}
	return text, "", err
}

// makeKeyFile makes a file with a new key, unless another program is faster. No reader finds it empty.
func makeKeyFile(ctx context.Context, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	text := "# The key that sessions are sealed with. Without it they are lost.\n" + base64.StdEncoding.EncodeToString(key) + "\n"
	_, err = atomicfile.Replace(ctx, path, []byte(text), 0o600)
	return err
}
