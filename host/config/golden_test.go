package config

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads every file below testdata/<format> and compares all that was read,
// with places and masked secrets, to the file of the same name that ends in .golden.
func TestGolden(t *testing.T) {
	for _, f := range Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", f.Name(), "*"))
		if err != nil {
			t.Fatal(err)
		}
		deeper, err := filepath.Glob(filepath.Join("testdata", f.Name(), "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, deeper...)
		seen := 0
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasSuffix(file, ".golden") {
				continue
			}
			seen++
			t.Run(filepath.ToSlash(file), func(t *testing.T) { golden(t, file, f.Name(), nil) })
		}
		if seen < 2 {
			t.Errorf("%s: %d files, want some that are right and some that are wrong", f.Name(), seen)
		}
	}
}

// golden reads one file without and with the name of its format.
func golden(t *testing.T, file, format string, formats []Format) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	opts := &Options{Lookup: lookup, Formats: formats, Project: "/src/app"}
	if strings.Contains(filepath.Base(file), "ambiguous") {
		opts.Format = ""
	} else {
		opts.Format = format
	}
	c, err := Parse(file, data, opts)
	got := strings.ReplaceAll(dump(c, err), here, "HERE")
	if opts.Format != "" {
		again, err := Parse(file, data, &Options{Lookup: lookup, Formats: formats, Project: "/src/app"})
		if other := strings.ReplaceAll(dump(again, err), here, "HERE"); other != got {
			t.Errorf("without the name of the format:\n%s", other)
		}
	}
	want, err := os.ReadFile(file + ".golden")
	if *update {
		if err := os.WriteFile(file+".golden", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
	}
}

// dump writes what was read, one thing a line, without what is empty.
func dump(c *Config, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintln(&b, "error", filepath.ToSlash(err.Error()))
		return b.String()
	}
	fmt.Fprintln(&b, "format", c.Format)
	for _, in := range c.Inputs {
		fmt.Fprintf(&b, "input %+v\n", in)
	}
	for _, s := range c.Servers {
		dumpServer(&b, "server", s)
	}
	for _, s := range c.Shadowed {
		dumpServer(&b, fmt.Sprintf("shadowed by line %d:", s.By.Source.Line), s.Server)
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(&b, "warning", filepath.ToSlash(w.Error()))
	}
	return b.String()
}

func dumpServer(b *strings.Builder, what string, s *Server) {
	fmt.Fprintf(b, "%s %s %q line %d, %s, enabled %v\n", what, s.Name, s.Title, s.Source.Line, s.Transport, s.Enabled)
	line := func(name string, value any) {
		switch text := fmt.Sprintf("%+v", value); text {
		case "", "0", "0s", "false", "[]", "map[]", "<nil>":
		default:
			fmt.Fprintf(b, "\t%s: %s\n", name, text)
		}
	}
	line("command", s.Command)
	if s.Args != nil {
		line("args", fmt.Sprintf("%q", s.Args))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		line("env "+name, masked(s.Env[name]))
	}
	line("cwd", s.Cwd)
	line("url", s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		line("header "+name, masked(s.Headers[name]))
	}
	line("description", s.Description)
	line("flags", strings.TrimSpace(fmt.Sprint(flagOf("required", s.Required), flagOf("builtin", s.Builtin), flagOf("lazy", s.Lazy), flagOf("trust", s.Trust))))
	line("connect timeout", s.ConnectTimeout)
	line("read timeout", s.ReadTimeout)
	line("idle timeout", s.IdleTimeout)
	line("identity", s.Identity)
	line("user header", s.UserHeader)
	if s.Auth != nil {
		line("auth", fmt.Sprintf("%+v", *s.Auth))
	}
	if s.Isolation != nil {
		line("isolation", fmt.Sprintf("%+v", *s.Isolation))
	}
	if s.Limits != (Limits{}) {
		line("limits", s.Limits)
	}
	if s.Tools.Allow != nil {
		line("allow", fmt.Sprintf("%q", s.Tools.Allow))
	}
	line("deny", s.Tools.Deny)
	line("rename", s.Tools.Rename)
	for _, key := range slices.Sorted(maps.Keys(s.Extra)) {
		line("extra "+key, string(s.Extra[key]))
	}
	if s.Err != nil {
		fmt.Fprintf(b, "\terror: %s\n", strings.ReplaceAll(filepath.ToSlash(s.Err.Error()), "\n", "\n\terror: "))
	}
}

func flagOf(name string, on bool) string {
	if on {
		return name + " "
	}
	return ""
}

// masked shows enough of an invented secret to tell it from others.
func masked(s Secret) string {
	text := s.Reveal()
	if len(text) <= 4 {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q (%d bytes)", text[:2]+"****"+text[len(text)-2:], len(text))
}
