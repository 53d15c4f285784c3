package codemode_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A stored script runs as it was accepted, and no other one does, also after a restart.
func TestStoredScripts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	open := func() *ledger.Ledger {
		l, err := ledger.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	r := newRegistry(t, nil, echo("s", "echo"))
	script := func(code string) []codemode.StoredScript {
		return []codemode.StoredScript{{Name: "sum", Description: "Adds.", Code: code}}
	}
	c := newRunner(t, r, &codemode.Options{Ledger: open(), Scripts: script(`return input.a + input.b`)})
	report, err := c.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1,"b":2}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(report.Value.JSON), "3"; got != want {
		t.Errorf("got %s (%v), want %s", got, report.Err, want)
	}

	l := open()
	again := newRunner(t, r, &codemode.Options{Ledger: l, Scripts: script(`return await tools.s.echo(input)`)})
	_, err = again.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1}`)})
	var held *codemode.QuarantinedError
	if !errors.As(err, &held) {
		t.Fatalf("got the error %v of a script that has changed, want a QuarantinedError", err)
	}
	if got, want := held.Change.Fields[0].Field, "/inputSchema/code"; got != want {
		t.Errorf("got the change of %s, want %s", got, want)
	}
	if err := l.Accept(t.Context(), "ann", *held.Change); err != nil {
		t.Fatal(err)
	}
	if report, err = again.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(report.Value.JSON), `{"a":1}`; got != want {
		t.Errorf("got %s (%v), want %s", got, report.Err, want)
	}
	if _, err := c.Run(t.Context(), &codemode.Script{Name: "other"}); err == nil {
		t.Error("got no error of a script that there is not, want one")
	}
}
