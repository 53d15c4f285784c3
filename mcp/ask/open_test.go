package ask_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
)

// fakeOpener puts a program in the place of the system's.
func fakeOpener(t *testing.T, script string) (folder string) {
	t.Helper()
	name := map[string]string{"linux": "xdg-open", "freebsd": "xdg-open", "darwin": "open"}[runtime.GOOS]
	if name == "" {
		t.Skip("no scripts here")
	}
	folder = t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\ncd '"+folder+"'\n"+script), 0o755))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	return folder
}

// Whatever the page is called, it is one argument, and no shell looks at it.
func TestOpenURL(t *testing.T) {
	folder := fakeOpener(t, `printf '%s\n' "$#" "$@" > args`)
	for _, page := range []string{
		"https://a.example/",
		"https://a.example/$(touch${IFS}hit);touch${IFS}hit|`touch${IFS}hit`&touch${IFS}hit",
		`http://127.0.0.1:8080/"x"'y'?a=b&c=%20*~#f`,
		"https://a.example/--help",
		"https://[::1]/",
		"https://grüße.example/",
	} {
		if err := ask.OpenURL(t.Context(), page); err != nil {
			t.Errorf("%s: error %v", page, err)
		}
		args, err := os.ReadFile(filepath.Join(folder, "args"))
		if err != nil || string(args) != "1\n"+page+"\n" {
			t.Errorf("the program got %q, %v", args, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "hit")); err == nil {
		t.Error("a shell ran a part of the URL")
	}
}

func TestOpenURLRefuses(t *testing.T) {
	folder := fakeOpener(t, "touch hit")
	for _, page := range []string{
		"", "a", "-version", "file:///etc/passwd", "javascript:alert(1)", "HTTPX://a.example/", "https:///x", "https:a.example", "//a.example/",
		"https://a.example/ x", "https://a.example/\nx", "https://a.example/\x00", "https://a.example\\@b.example/", "https://ann@a.example/",
		"https://a.example/\u0085", "https://a.example/\xff", "https://a.example/%zz", "https://a.example/" + strings.Repeat("x", 8<<10),
	} {
		assert.Fails(t, ask.OpenURL(t.Context(), page), "%q was opened", page)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask.OpenURL(ended, "https://a.example/"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "hit")); err == nil {
		t.Error("the program was run")
	}
}

func TestOpenURLFails(t *testing.T) {
	fakeOpener(t, "exit 3")
	if err := ask.OpenURL(t.Context(), "https://a.example/secret"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	assert.Fails(t, ask.OpenURL(t.Context(), "https://a.example/"), "no error without a program")
}

// A program that goes on holds nobody up whose context ends; goleak sees that
// nothing is left when it has ended.
func TestOpenURLWaits(t *testing.T) {
	folder := fakeOpener(t, "read line < gate")
	if err := exec.Command("mkfifo", filepath.Join(folder, "gate")).Run(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ask.OpenURL(ctx, "https://a.example/") }()
	gate, err := os.OpenFile(filepath.Join(folder, "gate"), os.O_WRONLY, 0) // when the program reads it
	assert.OK(t, err)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	_ = gate.Close()
}
