package codemode_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A stored script runs as it was accepted, and no other one does, also after a restart.
func TestStoredScripts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	open := func() *ledger.Ledger {
		l := assert.Value(ledger.Open(path, nil))(t)
		return l
	}
	r := newRegistry(t, nil, echo("s", "echo"))
	script := func(code string) []codemode.StoredScript {
		return []codemode.StoredScript{{Name: "sum", Description: "Adds.", Code: code}}
	}
	c := newRunner(t, r, &codemode.Options{Ledger: open(), Scripts: script(`return input.a + input.b`)})
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1,"b":2}`)}))(t)
	assert.Equal(t, string(report.Value), "3", "(%v)", report.Err)

	l := open()
	again := newRunner(t, r, &codemode.Options{Ledger: l, Scripts: script(`return await tools.s.echo(input)`)})
	held := assert.As[*codemode.QuarantinedError](t, errorOf(again.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1}`)})))
	assert.Equal(t, held.Change.Fields[0].Field, "/inputSchema/code", "the change of")
	assert.OK(t, l.Accept(t.Context(), "ann", *held.Change))
	report = assert.Value(again.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1}`)}))(t)
	assert.Equal(t, string(report.Value), `{"a":1}`, "(%v)", report.Err)
	assert.Fails(t, errorOf(c.Run(t.Context(), &codemode.Script{Name: "other"})))
}
