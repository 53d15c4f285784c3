package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/registry/embed/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "vectors.txt"), filepath.Join(t.TempDir(), "vectors.bin")
	if err := os.WriteFile(from, []byte("a 1 0\nb 0 1\nc 1 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"-words", "2", from, to}, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "2 words of 2 numbers in ") {
		t.Errorf("got %q, want what was written", got)
	}
	v, err := static.Open(to, nil)
	if err != nil || v.Words() != 2 {
		t.Errorf("got %v, want two words", err)
	}
	for _, args := range [][]string{nil, {from}, {to + "x", to}, {from, t.TempDir()}, {"-nothing"}} {
		if err := run(args, &out); err == nil {
			t.Errorf("compact %q: got no error", args)
		}
	}
}
