package host

import (
	"os"
	"path/filepath"
	"runtime"
)

// stateFolder returns the folder for what is kept between runs, by Options.StateDir;
// empty if nothing is to be kept, or there is no such place.
func stateFolder(option string) string {
	switch option {
	case NoState:
		return ""
	case "":
		return defaultStateFolder(runtime.GOOS, os.Getenv, os.UserHomeDir)
	}
	return option
}

// defaultStateFolder returns mcpbelt in the user's state folder: that of the XDG base
// directories or, without $XDG_STATE_HOME, ~/.local/state, on macOS Application Support,
// and on Windows %LocalAppData%. A variable whose value is not absolute is ignored.
func defaultStateFolder(goos string, getenv func(string) string, home func() (string, error)) string {
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
