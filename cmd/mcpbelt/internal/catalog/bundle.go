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
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

const (
	maxBundle   = 128 << 20 // bytes of a bundle
	maxUnpacked = 1 << 30   // bytes of its files
	maxFiles    = 50_000
	maxManifest = 1 << 20 // bytes
)

func isBundle(arg string) bool { return strings.HasSuffix(strings.ToLower(arg), ".mcpb") }

// A manifest is what is read of the manifest.json of a bundle.
type manifest struct {
	Name, Version, Description string
	Server                     struct {
		Type   string
		Entry  string `json:"entry_point"`
		Config struct {
			launch
			Overrides map[string]json.RawMessage `json:"platform_overrides"` // parts of a launch
		} `json:"mcp_config"`
	}
	Compatibility struct{ Platforms []string }
	Options       map[string]struct {
		Type, Title, Description      string
		Required, Multiple, Sensitive bool
		Default                       json.RawMessage // a text, a number, true or false, or several texts
	} `json:"user_config"`
}

type launch struct {
	Command string
	Args    []string
	Env     map[string]string
}

// bundle returns the entry of a bundle, which came from a file or URL, and has to have a hash, unless that is empty.
func (o *Offer) bundle(ctx context.Context, origin string, data []byte, wanted string) map[string]any {
	hash := fmt.Sprintf("%x", sha256.Sum256(data))
	m, files, err := open(data)
	if wanted != "" && wanted != hash {
		err = fmt.Errorf("its SHA-256 is %s, and has to be %q", hash, wanted)
	}
	if err == nil && o.Belt.Env.StateDir == "" {
		err = errors.New("there is no state folder to unpack it in: set HOME or XDG_STATE_HOME")
	}
	if err != nil {
		return o.fail(unusable(plain.Line(origin), err.Error()))
	}
	folder := filepath.Join(o.Belt.Env.StateDir, "bundles", hash)
	o.Belt.Out.Printf("%s %s, a bundle with the SHA-256 %s\n%s\n", m.Name, m.Version, hash, plain.Line(m.Description))
	o.Name = cmp.Or(o.Name, m.Name)
	o.from["bundle"], o.from["version"], o.from["sha256"] = m.Name, m.Version, hash
	run := m.Server.Config.launch
	program := filepath.FromSlash(strings.TrimPrefix(run.Command, "${__dirname}/"))
	if slices.ContainsFunc(files.File, func(f *zip.File) bool { return filepath.FromSlash(f.Name) == program }) {
		run.Command = "${__dirname}${/}" + program
	} else {
		program = "" // it is one of the system
	}
	args, env, variables := []string{}, map[string]string{}, o.variables(m, folder)
	for _, text := range run.Args {
		args = append(args, o.fill(ctx, text, dollars, variables)...)
	}
	for _, name := range slices.Sorted(maps.Keys(run.Env)) {
		if values := o.fill(ctx, run.Env[name], dollars, variables); len(values) > 0 {
			env[name] = strings.Join(values, ",")
		}
	}
	o.keep = append(o.keep, func(context.Context) error { return unpack(files, folder, program) })
	return map[string]any{"command": strings.Join(o.fill(ctx, run.Command, dollars, variables), ""), "args": args, "env": env, "cwd": folder}
}

// open returns what is in a bundle: files within its folder, which unpack to no more than they say.
func open(data []byte) (*manifest, *zip.Reader, error) {
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	left := uint64(maxUnpacked)
	for _, f := range files.File {
		local, kind := filepath.IsLocal(filepath.FromSlash(f.Name)) && !strings.Contains(f.Name, `\`), f.Mode().Type()
		if !local || kind != 0 && kind != fs.ModeDir || f.UncompressedSize64 > left || len(files.File) > maxFiles || path.Clean(f.Name) == "manifest.json" && f.UncompressedSize64 > maxManifest {
			return nil, nil, fmt.Errorf("%s leads out of it, is no file, or is too much: it may have 50,000 files of 1 GiB in all", f.Name)
		}
		left -= f.UncompressedSize64
	}
	m, system := &manifest{}, cmp.Or(map[string]string{"windows": "win32"}[runtime.GOOS], runtime.GOOS)
	text, err := fs.ReadFile(files, "manifest.json")
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	run := &m.Server.Config.launch
	if m.Server.Type == "uv" && run.Command == "" {
		*run = launch{Command: "uv", Args: []string{"run", "--directory", "${__dirname}", m.Server.Entry}}
	}
	if over := m.Server.Config.Overrides[system]; err == nil && over != nil {
		err = json.Unmarshal(over, run)
	}
	said := m.Name + m.Version
	if p := m.Compatibility.Platforms; err == nil && (m.Name == "" || plain.Line(said) != said || run.Command == "" || len(p) > 0 && !slices.Contains(p, system)) {
		err = fmt.Errorf("its manifest.json has no name in one line, no command, or is for %q alone", p)
	}
	return m, files, err
}

// variables returns what a manifest can refer to.
func (o *Offer) variables(m *manifest, folder string) map[string]input {
	home := cmp.Or(o.Belt.Env.Var("HOME"), o.Belt.Env.Var("USERPROFILE"))
	all := map[string]input{}
	for name, value := range map[string]string{
		"__dirname": folder, "HOME": home, "DESKTOP": home + "/Desktop", "DOCUMENTS": home + "/Documents", "DOWNLOADS": home + "/Downloads",
		"pathSeparator": "/", "/": "/",
	} {
		all[name] = input{Value: filepath.FromSlash(value)}
	}
	for key, c := range m.Options {
		var several []string
		var one any
		in := input{Description: c.Title + ": " + c.Description, IsRequired: c.Required, IsSecret: c.Sensitive, IsRepeated: c.Multiple, ask: key}
		if json.Unmarshal(c.Default, &several) == nil {
			in.Default = strings.Join(several, ",")
		} else if json.Unmarshal(c.Default, &one) == nil {
			in.Default = fmt.Sprint(one)
		}
		in.Default = strings.ReplaceAll(in.Default, "${HOME}", home)
		all["user_config."+key] = in
	}
	return all
}

// unpack writes the files of a bundle into a folder, which is there as a whole or not at all.
func unpack(files *zip.Reader, folder, program string) error {
	if _, err := os.Stat(folder); err == nil {
		return nil // it is called by the hash of the bundle
	}
	temp := folder + ".new"
	err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o700))
	if err == nil {
		err = os.CopyFS(temp, files)
	}
	if err == nil {
		err = os.Chmod(filepath.Join(temp, program), 0o700)
	}
	if err == nil {
		err = os.Rename(temp, folder)
	}
	return err
}
