// Command binaries builds the archives of mcpbelt that a release offers:
//
//	go run ./internal/release/binaries [-targets "linux/amd64 ..."] [-with DIR] [-programs DIR] VERSION DIR
//
// It builds what go install builds of the module cmd/mcpbelt in that version, so it needs
// no clone of the tag. The same version of Go makes the same bytes on every machine.
// Before a version is published, GOPROXY and GONOSUMDB name the proxy that .ci/release made.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	module  = "github.com/mcpbelt/mcpbelt/cmd/mcpbelt"
	targets = "darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64 windows/arm64"
	limit   = 30_000_000 // bytes of a program, which docs/cli.md promises
)

func main() {
	log.SetFlags(0)
	wanted := flag.String("targets", targets, "`list` of systems and architectures")
	with := flag.String("with", "", "`folder` of files that go into each archive")
	programs := flag.String("programs", "", "`folder` that gets the files of each archive, too")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: binaries [-targets LIST] [-with DIR] [-programs DIR] VERSION DIR")
	}
	if err := release(flag.Arg(0), flag.Arg(1), strings.Fields(*wanted), *with, *programs); err != nil {
		log.Fatal(err)
	}
}

// release writes an archive for each target, and SHA256SUMS, into a folder. What is in the folder with
// goes into each.
func release(version, dir string, targets []string, with, programs string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	own, err := download(module + "@" + version)
	if err != nil {
		return err
	}
	made, err := own[0].time()
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, target := range targets {
		system, arch, _ := strings.Cut(target, "/")
		program, err := build(version, system, arch)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if len(program) > limit {
			return fmt.Errorf("%s: the program has %d bytes, and at most %d are allowed", target, len(program), limit)
		}
		files, err := archived(own[0], program, system, with)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		for _, f := range files {
			if programs != "" {
				name := filepath.Join(programs, system+"_"+arch, f.name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.data, os.FileMode(f.mode))); err != nil {
					return err
				}
			}
		}
		name, pack := "mcpbelt_"+version+"_"+system+"_"+arch+".tar.gz", writeTar
		if system == "windows" {
			name, pack = strings.TrimSuffix(name, ".tar.gz")+".zip", writeZip
		}
		var archive bytes.Buffer
		if err := pack(&archive, files, made); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), archive.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive.Bytes()), name)
		fmt.Printf("%s: %.1f MB, the program %.1f MB\n", name, float64(archive.Len())/1e6, float64(len(program))/1e6)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// A downloaded is what go mod download says of a module.
type downloaded struct{ Path, Version, Info, Dir, Error string }

// time returns when the version was committed.
func (d *downloaded) time() (time.Time, error) {
	var info struct{ Time time.Time }
	data, err := os.ReadFile(d.Info)
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	return info.Time.UTC().Truncate(2 * time.Second), err // what a zip file can say
}

// download brings modules into the module cache.
func download(modules ...string) ([]*downloaded, error) {
	out, failed := run(nil, slices.Concat([]string{"mod", "download", "-json"}, modules)...)
	var all []*downloaded
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m downloaded
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return all, failed
		} else if err != nil {
			return nil, errors.Join(failed, err)
		}
		if m.Error != "" {
			return nil, errors.New(m.Error)
		}
		all = append(all, &m)
	}
}

// build returns the program for a system.
func build(version, system, arch string) ([]byte, error) {
	temp, err := os.MkdirTemp("", "binaries-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	cache, err := run(nil, "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	// A GOBIN would refuse programs for other systems.
	env := []string{"GOPATH=" + temp, "GOBIN=", "GOMODCACHE=" + strings.TrimSpace(string(cache)), "GOOS=" + system, "GOARCH=" + arch}
	if _, err := run(env, "install", "-trimpath", "-ldflags=-s -w", module+"@"+version); err != nil {
		return nil, err
	}
	for _, folder := range []string{"bin", "bin/" + system + "_" + arch} {
		program, err := os.ReadFile(filepath.Join(temp, folder, programName(system)))
		if !errors.Is(err, os.ErrNotExist) {
			return program, err
		}
	}
	return nil, errors.New("go install made no program")
}

func programName(system string) string {
	if system == "windows" {
		return "mcpbelt.exe"
	}
	return "mcpbelt"
}

// run runs the go command with settings that decide what it makes, and returns its output.
func run(env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = os.TempDir() // in no module
	cmd.Env = slices.Concat(os.Environ(), []string{
		"GOFLAGS=-buildvcs=false", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0",
	}, env)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, err
}

// A file is one of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// archived returns the files of an archive: the program, its license, those of what it is made
// of, and the files of a folder.
func archived(own *downloaded, program []byte, system, with string) ([]file, error) {
	license, err := os.ReadFile(filepath.Join(own.Dir, "LICENSE"))
	if err != nil {
		return nil, err
	}
	others, err := licenses(program)
	if err != nil {
		return nil, err
	}
	files := []file{{programName(system), 0o755, program}, {"LICENSE", 0o644, license}, {"LICENSES-of-others", 0o644, others}}
	if with == "" {
		return files, nil
	}
	err = fs.WalkDir(os.DirFS(with), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(with, name))
		files = append(files, file{name, 0o644, data})
		return err
	})
	return files, err
}

// licenses returns the licenses of Go, and of other people's modules that are in a program.
func licenses(program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	var modules []string
	for _, m := range info.Deps {
		if !strings.HasPrefix(m.Path, path.Dir(path.Dir(module))) {
			modules = append(modules, m.Path+"@"+m.Version)
		}
	}
	root, err := run(nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	all, err := download(modules...)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, m := range append(all, &downloaded{Path: "Go", Version: info.GoVersion, Dir: strings.TrimSpace(string(root))}) {
		entries, err := os.ReadDir(m.Dir)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			word, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
			if e.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, word) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&b, "=== %s %s: %s\n\n%s\n", m.Path, m.Version, e.Name(), text)
		}
		if !found {
			return nil, fmt.Errorf("%s %s has no license in %s", m.Path, m.Version, m.Dir)
		}
	}
	return b.Bytes(), nil
}

// writeTar writes a compressed tar archive whose files belong to root.
func writeTar(w io.Writer, files []file, made time.Time) error {
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: made, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), packed.Close())
}

// writeZip writes a zip archive.
func writeZip(w io.Writer, files []file, made time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		part, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: made})
		if err != nil {
			return err
		}
		if _, err := part.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
