// Package modulelist reads the file allmodules, the list of the modules of this
// repository.
package modulelist

import (
	"io/fs"
	"strings"
)

// Read returns the folders of the modules, in the order of the file allmodules in the
// root of fsys. The core's is ".".
func Read(fsys fs.FS) ([]string, error) {
	text, err := fs.ReadFile(fsys, "allmodules")
	if err != nil {
		return nil, err
	}
	var folders []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 0 {
			folders = append(folders, fields[0])
		}
	}
	return folders, nil
}

// Holder returns which of the modules holds a folder of the repository: the one whose
// folder is the nearest above it.
func Holder(modules []string, folder string) string {
	best := "."
	for _, m := range modules {
		if (folder == m || strings.HasPrefix(folder, m+"/")) && (best == "." || len(m) > len(best)) {
			best = m
		}
	}
	return best
}
