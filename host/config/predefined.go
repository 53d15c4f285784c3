package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// predefined returns a variable of VS Code and Cursor, which counts if the environment has
// none of its name.
func (p *parser) predefined(name string) (string, bool) {
	switch name {
	case "workspaceFolder":
		return p.project, p.project != ""
	case "workspaceFolderBasename":
		return filepath.Base(p.project), p.project != ""
	case "userHome":
		return p.opts.Lookup(homeVariable(runtime.GOOS))
	case "pathSeparator":
		return string(os.PathSeparator), true
	}
	return "", false
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
