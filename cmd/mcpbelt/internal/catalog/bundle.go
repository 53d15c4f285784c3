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
	"io"
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

type launch struct {
	Command string
	Args    []string
	Env     map[string]string
}

// A manifest is what a bundle says of itself.
type manifest struct {
	Name, Version string
	Server        struct {
		Type   string
		Entry  string `json:"entry_point"`
		Config struct {
			launch
			Overrides map[string]launch `json:"platform_overrides"`
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
	run, here := m.Server.Config.launch, m.Server.Config.Overrides[system]
	if m.Server.Type == "uv" && run.Command == "" { // which a client knows by itself
		run = launch{"uv", []string{"run", "--directory", "${__dirname}", m.Server.Entry}, run.Env}
	}
	if run.Command = cmp.Or(here.Command, run.Command); here.Args != nil {
		run.Args = here.Args
	}
	if here.Env != nil {
		run.Env = here.Env
	}
	k.program = path.Clean(strings.TrimPrefix(strings.ReplaceAll(run.Command, `\`, "/"), "${__dirname}/"))
	if _, err := fs.Stat(k.archive, k.program+".exe"); err == nil && runtime.GOOS == "windows" {
		k.program += ".exe"
	}
	if info, err := fs.Stat(k.archive, k.program); err == nil && info.Mode().IsRegular() {
		run.Command = "${__dirname}/" + k.program
	} else if run.Command == "" || !filepath.IsAbs(run.Command) && strings.ContainsAny(run.Command, `$\/`) {
		return fail("it has no file %q, which it wants to run", run.Command)
	}
	w := &way{PackageArguments: []*input{{Value: run.Command}}}
	for _, arg := range run.Args {
		w.PackageArguments = append(w.PackageArguments, &input{Value: arg})
	}
	for name, value := range run.Env {
		w.EnvironmentVariables = append(w.EnvironmentVariables, &input{Name: name, Value: value})
	}
	a.begin(name, mustache)
	for name, path := range map[string]string{"__dirname": k.dir, "HOME": k.Home, "DESKTOP": filepath.Join(k.Home, "Desktop"), "DOCUMENTS": filepath.Join(k.Home, "Documents"),
		"DOWNLOADS": filepath.Join(k.Home, "Downloads"), "pathSeparator": string(filepath.Separator), "/": string(filepath.Separator)} {
		a.answers[name] = []string{literal(path)}
	}
	for name, o := range m.Options {
		in := &input{Description: cmp.Or(o.Description, o.Title), IsRequired: o.Required, IsSecret: o.Sensitive, IsRepeated: o.Multiple, Format: o.Type}
		list, ok := o.Default.([]any)
		if !ok && o.Default != nil {
			list = []any{o.Default}
		}
		for _, value := range list {
			words, err := a.values(ctx, name, &input{Value: fmt.Sprint(value)})
			if err != nil {
				return nil, err
			}
			in.defaults = append(in.defaults, words...)
		}
		a.variables["user_config."+name] = in
	}
	words, err := a.arguments(ctx, w.PackageArguments)
	if err != nil {
		return nil, err
	}
	env, err := a.pairs(ctx, w.EnvironmentVariables, true)
	if err = cmp.Or(err, a.end()); err != nil {
		return nil, err
	}
	return &config.Server{Title: name, Transport: config.TransportStdio, Command: filepath.FromSlash(words[0]), Args: words[1:], Env: env, Cwd: k.dir, Proposed: true,
		Description: fmt.Sprintf("bundle %s %s from %s, SHA-256 %s", m.Name, m.Version, from, hash)}, nil
}

// Keep unpacks the bundle, if there is one, in the place of what was unpacked of it before.
func (k *Keeper) Keep() error {
	if k.archive == nil {
		return nil
	}
	err := os.MkdirAll(k.Folder, 0o700)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(k.Folder, ".new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	left := int64(maxUnpacked)
	for i, f := range k.archive.File {
		name := filepath.FromSlash(strings.TrimSuffix(f.Name, "/"))
		switch mode := f.Mode(); {
		case i == maxFiles:
			err = fmt.Errorf("it has more than %d files", maxFiles)
		case !filepath.IsLocal(name) || strings.Contains(f.Name, `\`) || !isClean(f.Name):
			err = fmt.Errorf("it has a file %q, which would lie elsewhere", f.Name)
		case mode.IsDir():
			err = root.MkdirAll(name, 0o700)
		case !mode.IsRegular():
			err = fmt.Errorf("it has a link or device, %q", f.Name)
		default:
			left, err = copyFile(root, name, f, left, mode&0o111 != 0 || f.Name == k.program)
		}
		if err != nil {
			return errors.Join(failed(cli.Failed, "ask those who made it", "the bundle is not unpacked: %w", err), root.Close())
		}
	}
	to := k.dir
	return cmp.Or(root.Close(), os.RemoveAll(to), os.Rename(dir, to))
}

// copyFile unpacks one file, and returns how many bytes others may have.
func copyFile(root *os.Root, name string, f *zip.File, left int64, program bool) (int64, error) {
	perm := fs.FileMode(0o600)
	if program { // which archives that were made on Windows do not say
		perm = 0o700
	}
	from, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return 0, err
	}
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(to, io.LimitReader(from, left+1))
	if n > left {
		err = fmt.Errorf("it has more than %d MiB", maxUnpacked>>20)
	}
	return left - n, errors.Join(err, to.Close())
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
		if answer.Status/100 == 3 {
			from, _ := url.Parse(to)
			if next, err := from.Parse(answer.Header.Get("Location")); err == nil {
				to = next.String()
			}
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
