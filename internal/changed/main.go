// Command changed prints the modules of this repository that have to be checked again,
// one a line: those whose inputs are not what they were when `make check ALL=1` last
// passed. Run it in the root of the repository.
//
// The inputs of a module are its own files, the packages of this repository that it
// imports, directly or not, the go.mod files of their modules, its stranger's program,
// its lines of the golden files, the scripts that check it, and the release of Go. The
// core is checked always, and not printed.
//
//	go run ./internal/changed           the modules that changed
//	go run ./internal/changed -same     the others
//	go run ./internal/changed -write    record the inputs as they are now, in .ci/checked
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
)

// record is the file with the hashes, one module a line.
const record = ".ci/checked"

func main() {
	write := flag.Bool("write", false, "record the inputs of all modules as they are now")
	same := flag.Bool("same", false, "print the modules that did not change")
	flag.Parse()
	if err := run(*write, *same); err != nil {
		fmt.Fprintln(os.Stderr, "changed:", err)
		os.Exit(1)
	}
}

func run(write, same bool) error {
	fsys := os.DirFS(".")
	now, err := hashModules(fsys, release(runtime.Version()))
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(record, now.format(), 0o644)
	}
	text, err := fs.ReadFile(fsys, record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range now.compare(parseHashes(text), same) {
		fmt.Println(folder)
	}
	return nil
}

// release returns the release of Go without its patch: go1.26 of go1.26.8.
func release(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// hashes are the inputs of modules: a hash by folder.
type hashes map[string]string

// compare returns the folders whose hash is not the recorded one, or, if same is set,
// those whose hash is.
func (h hashes) compare(recorded hashes, same bool) []string {
	var folders []string
	for folder, hash := range h {
		if (recorded[folder] == hash) == same {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders
}

func (h hashes) format() []byte {
	var b bytes.Buffer
	b.WriteString("# The inputs of each module when make check ALL=1 last passed, which writes this file.\n")
	folders := h.compare(nil, false)
	for _, folder := range folders {
		fmt.Fprintf(&b, "%s %s\n", folder, h[folder])
	}
	return b.Bytes()
}

func parseHashes(text []byte) hashes {
	h := hashes{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] != "#" {
			h[fields[0]] = fields[1]
		}
	}
	return h
}
