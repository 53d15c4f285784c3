package ask_test

import (
	"context"
	"fmt"
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
		assert.OK(t, ask.OpenURL(t.Context(), page), "%s", page)
		assert.Equal(t, string(assert.Value(os.ReadFile(filepath.Join(folder, "args")))(t)), "1\n"+page+"\n", "args")
	}
	assert.Is(t, assert.Err(os.Stat(filepath.Join(folder, "hit"))), os.ErrNotExist, "what a shell would make")
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
	assert.Is(t, ask.OpenURL(ended, "https://a.example/"), context.Canceled)
	assert.Is(t, assert.Err(os.Stat(filepath.Join(folder, "hit"))), os.ErrNotExist, "what the program would make")
}

func TestOpenURLFails(t *testing.T) {
	fakeOpener(t, "exit 3")
	err := ask.OpenURL(t.Context(), "https://a.example/secret")
	assert.Fails(t, err)
	assert.Lacks(t, fmt.Sprint(err), "secret")
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
	ended := inBackground(func() error { return ask.OpenURL(ctx, "https://a.example/") })
	gate, err := os.OpenFile(filepath.Join(folder, "gate"), os.O_WRONLY, 0) // when the program reads it
	assert.OK(t, err)
	cancel()
	assert.Is(t, <-ended, context.Canceled)
	_ = gate.Close()
}
