package layers

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goTool runs the go command in a folder of the repository and returns what it
// printed. goos is the system to build for; empty is the one at hand.
func goTool(t *testing.T, folder, goos string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(folder))
	if goos != "" {
		// The race detector needs cgo, which is off for other systems.
		flags := slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), func(f string) bool { return f == "-race" })
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS="+strings.Join(flags, " "))
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("in %s: go %s: %v\n%s", folder, strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// systems are those that the library is built for; an answer that depends on
// the system is asked for each.
func systems() []string { return []string{"darwin", "linux", "windows"} }

// A listed is one package as `go list -json` describes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	EmbedFiles []string // that it is asked for makes a missing one an error
	Imports    []string
	ImportMap  map[string]string // what an import means, where it is not the path
	Module     *struct{ Path, Version, GoVersion string }
}

// goList runs go list with the given arguments.
func goList(t *testing.T, folder, goos string, args ...string) []*listed {
	t.Helper()
	args = append([]string{"list", "-json=ImportPath,Dir,GoFiles,EmbedFiles,Imports,ImportMap,Module"}, args...)
	dec := json.NewDecoder(strings.NewReader(string(goTool(t, folder, goos, args...))))
	var pkgs []*listed
	for {
		p := new(listed)
		if err := dec.Decode(p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}
