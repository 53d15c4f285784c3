// Package npmdir installs pinned npm packages into a folder, for tests that run
// programs of the npm registry. It needs npm on the PATH.
package npmdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// files are what an installation is made of; the lock file pins every package
// by its checksum.
func files() []string { return []string{"package.json", "package-lock.json", ".npmrc"} }

// Install installs what the lock file in src asks for and returns the folder
// that holds node_modules: a subfolder of cache named after the contents of
// src, so that an installation is made once and a changed pin makes a new one.
// The packages' install scripts do not run.
//
// Several processes may install at once; the first to finish wins.
func Install(ctx context.Context, src, cache string) (string, error) {
	sum := sha256.New()
	content := make(map[string][]byte)
	for _, name := range files() {
		data, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			return "", fmt.Errorf("npmdir: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
		content[name] = data
	}
	dir := filepath.Join(cache, hex.EncodeToString(sum.Sum(nil))[:12])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("npmdir: %w", err)
	}
	tmp, err := os.MkdirTemp(cache, "installing-")
	if err != nil {
		return "", fmt.Errorf("npmdir: %w", err)
	}
	defer os.RemoveAll(tmp)
	for name, data := range content {
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o644); err != nil {
			return "", fmt.Errorf("npmdir: %w", err)
		}
	}
	out, err := ci(ctx, tmp, "--prefer-offline")
	if err != nil { // npm's cache may have an old list of a package's versions
		out, err = ci(ctx, tmp, "--prefer-online")
	}
	if err != nil {
		return "", fmt.Errorf("npmdir: npm ci for %s: %w\n%s", src, err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		// The target of a lost race exists and is whole.
		if _, statErr := os.Stat(dir); errors.Is(statErr, fs.ErrNotExist) {
			return "", fmt.Errorf("npmdir: %w", err)
		}
	}
	return dir, nil
}

func ci(ctx context.Context, dir, prefer string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", prefer)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}
