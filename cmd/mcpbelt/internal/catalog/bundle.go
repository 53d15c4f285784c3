package catalog

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// Bounds of a bundle.
const (
	MaxBundle   = 256 << 20 // bytes of the file
	maxUnpacked = 1 << 30   // bytes of what is in it
	maxFiles    = 50_000
)

// A Keeper unpacks a bundle into a folder that is called like its hash, so that another bundle is another launch.
type Keeper struct {
	Folder, Home string // of all bundles, and of the user; may be empty

	dir     string
	archive *zip.Reader
	program string // file of it that is run
}

// A manifest is what a bundle says of itself.
type manifest struct {
	Name, Version string
	Server        struct {
		Type   string
		Entry  string `json:"entry_point"`
		Launch struct {
			Command   string
			Args      []string
			Env       map[string]string
			Overrides map[string]json.RawMessage `json:"platform_overrides"`
		} `json:"mcp_config"`
	}
	Options map[string]struct {
		Type, Title, Description      string
		Required, Multiple, Sensitive bool
		Default                       any
	} `json:"user_config"`
	Compatibility struct{ Platforms []string }
}

// Bundle makes the entry of a bundle, a file of the form .mcpb, which waits to be allowed.
func (k *Keeper) Bundle(ctx context.Context, a *Asker, data []byte, name, from string) (*config.Server, error) {
	fail := func(format string, args ...any) (*config.Server, error) {
		return nil, failed(cli.Failed, "ask those who made it", "the bundle "+from+" cannot be used: "+format, args...)
	}
	var m manifest
	var err error
	if k.archive, err = zip.NewReader(bytes.NewReader(data), int64(len(data))); err != nil {
		return fail("it is no ZIP archive")
	}
	if text, err := fs.ReadFile(k.archive, "manifest.json"); err != nil {
		return fail("it has no manifest.json at its top")
	} else if json.Unmarshal(text, &m) != nil || !isClean(m.Name+m.Version) {
		return fail("its manifest.json is not as documented")
	}
	system := strings.Replace(runtime.GOOS, "windows", "win32", 1)
	if only := m.Compatibility.Platforms; len(only) > 0 && !slices.Contains(only, system) || k.Folder == "" {
		return fail("it is for %s, and this is %s with the state folder %q", strings.Join(only, ", "), system, k.Folder)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(data))
	k.dir = filepath.Join(k.Folder, hash)
	run := &m.Server.Launch
	if m.Server.Type == "uv" && run.Command == "" { // which a client knows by itself
		run.Command, run.Args = "uv", []string{"run", "--directory", "${__dirname}", m.Server.Entry}
	}
	_ = json.Unmarshal(run.Overrides[system], run) // if there are any
	k.program = path.Clean(strings.TrimPrefix(strings.ReplaceAll(run.Command, `\`, "/"), "${__dirname}/"))
	if _, err := fs.Stat(k.archive, k.program+".exe"); err == nil && runtime.GOOS == "windows" {
		k.program += ".exe"
	}
	if info, err := fs.Stat(k.archive, k.program); err == nil && info.Mode().IsRegular() {
		run.Command = "${__dirname}/" + k.program
	} else if k.program = ""; run.Command == "" || !filepath.IsAbs(run.Command) && strings.ContainsAny(run.Command, `$\/`) {
		return fail("it has no file %q, which it wants to run", run.Command)
	}
	var words, variables []input
	for _, word := range append([]string{run.Command}, run.Args...) {
		words = append(words, input{Value: word, IsRequired: len(words) == 0})
	}
	for name, value := range run.Env {
		variables = append(variables, input{Name: name, Value: value})
	}
	a.begin(name, mustache)
	a.fixed = map[string]string{"__dirname": k.dir, "HOME": k.Home, "pathSeparator": string(filepath.Separator), "/": string(filepath.Separator)}
	for _, folder := range []string{"Desktop", "Documents", "Downloads"} {
		a.fixed[strings.ToUpper(folder)] = filepath.Join(k.Home, folder)
	}
	for name, o := range m.Options {
		in := &input{Description: cmp.Or(o.Description, o.Title), IsRequired: o.Required, IsSecret: o.Sensitive, IsRepeated: o.Multiple, Format: o.Type}
		list, ok := o.Default.([]any)
		if !ok && o.Default != nil {
			list = []any{o.Default}
		}
		for _, value := range list {
			in.defaults = append(in.defaults, a.values(ctx, name, &input{Value: fmt.Sprint(value)})...)
		}
		a.variables["user_config."+name] = in
	}
	args := a.arguments(ctx, words)
	env := a.pairs(ctx, variables, true)
	if err := a.end(); err != nil {
		return nil, err
	}
	return &config.Server{Title: name, Transport: config.TransportStdio, Command: filepath.FromSlash(args[0]), Args: args[1:], Env: env, Cwd: k.dir, Proposed: true,
		Description: fmt.Sprintf("bundle %s %s from %s, SHA-256 %s", m.Name, m.Version, from, hash)}, nil
}

// Keep unpacks the bundle, if there is one, in the place of what was unpacked of it before. Names that lead out of
// its folder lead into it, and links are refused.
func (k *Keeper) Keep() error {
	if k.archive == nil {
		return nil
	}
	size := uint64(0) // of which no file has more than it says
	for _, f := range k.archive.File {
		size += f.UncompressedSize64
	}
	err := os.MkdirAll(k.Folder, 0o700)
	switch {
	case size > maxUnpacked || len(k.archive.File) > maxFiles:
		err = fmt.Errorf("it has %d files of %d bytes, more than the limits of %d and %d", len(k.archive.File), size, maxFiles, maxUnpacked)
	case err == nil:
		err = cmp.Or(os.RemoveAll(k.dir), os.CopyFS(k.dir, k.archive))
	}
	if program := filepath.Join(k.dir, k.program); err == nil && k.program != "" { // of which archives that were made on Windows do not say that it is one
		err = os.Chmod(program, 0o700)
	}
	if err != nil {
		return errors.Join(failed(cli.Failed, "ask those who made it", "the bundle is not unpacked: %w", err), os.RemoveAll(k.dir))
	}
	return nil
}

// bundle fetches a bundle that the registry names, wherever that leads. What comes must have the hash that the registry
// says.
func (r *Registry) bundle(ctx context.Context, a *Asker, w *way, name string, keep *Keeper) (*config.Server, error) {
	to, problem := w.Identifier, "it leads from one address to another without end"
	for range 5 {
		answer, err := r.http.Do(ctx, &guardhttp.Request{Method: http.MethodGet, URL: to, Timeout: 10 * time.Minute, MaxBytes: MaxBundle})
		if err != nil {
			problem = err.Error()
			break
		}
		if location, err := url.Parse(answer.Header.Get("Location")); answer.Status/100 == 3 && err == nil {
			from, _ := url.Parse(to) // which was requested
			to = from.ResolveReference(location).String()
			continue
		}
		if answer.Status == http.StatusOK && fmt.Sprintf("%x", sha256.Sum256(answer.Body)) == w.FileSHA256 {
			return keep.Bundle(ctx, a, answer.Body, name, w.Identifier)
		}
		problem = fmt.Sprintf("with status %d came no file with the SHA-256 that the registry says, %q", answer.Status, w.FileSHA256)
		break
	}
	return nil, failed(cli.Failed, "choose another way with --package, or add a bundle that you have: mcpbelt add FILE.mcpb", "the bundle %s is not used: %s", w.Identifier, problem)
}
