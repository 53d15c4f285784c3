// Package statedir says where hosts keep files between runs.
package statedir

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
)

// None as an option of a folder keeps nothing on disk.
const None = "-"

// Folder returns the folder that an option of a host names, and the default if the option
// is empty. It is empty if nothing is to be kept, or there is no such place.
func Folder(option string) string {
	switch option {
	case None:
		return ""
	case "":
		return defaultFolder(runtime.GOOS, os.Getenv, os.UserHomeDir)
	}
	return option
}

// defaultFolder returns mcpbelt in the user's state folder: that of the XDG base
// directories or, without $XDG_STATE_HOME, ~/.local/state, on macOS Application Support,
// and on Windows %LocalAppData%. A variable whose value is not absolute is ignored.
func defaultFolder(goos string, getenv func(string) string, home func() (string, error)) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpbelt")
	}
	if goos == "windows" {
		if dir := getenv("LocalAppData"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "mcpbelt")
		}
	}
	dir, err := home()
	switch {
	case err != nil || !filepath.IsAbs(dir): // not in whatever folder the program runs in
		return ""
	case goos == "darwin":
		return filepath.Join(dir, "Library", "Application Support", "mcpbelt")
	}
	return filepath.Join(dir, ".local", "state", "mcpbelt")
}

// Name returns the name of the file that keeps what is known of the config file at path:
// one for each absolute path.
func Name(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16]) + ".json"
}
