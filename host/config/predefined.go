package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// predefined returns a lookup that also knows the variables of VS Code and Cursor. What
// is set in the environment comes first.
func (p *parser) predefined(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if value, ok := lookup(name); ok {
			return value, true
		}
		switch name {
		case "workspaceFolder":
			return p.project, p.project != ""
		case "workspaceFolderBasename":
			return filepath.Base(p.project), p.project != ""
		case "userHome":
			home := homeVariable(runtime.GOOS)
			return lookup(home)
		case "pathSeparator":
			return string(os.PathSeparator), true
		default:
			return "", false
		}
	}
}

// homeVariable is the environment variable that names the user's folder.
func homeVariable(goos string) string {
	if goos == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// projectOf returns the folder of the project that the file in dir belongs to: dir, or
// the one around it if dir is that of a program, such as .vscode.
func projectOf(dir string) string {
	if base := filepath.Base(dir); len(base) > 1 && strings.HasPrefix(base, ".") {
		return filepath.Dir(dir)
	}
	return dir
}
