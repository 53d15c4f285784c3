package ledger

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestRewriting shows that a file is written only for a change, and that what has
// not changed stays as it is.
func TestRewriting(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github", Fingerprint: "one"}
	defs := []*Tool{surfaceTool("b"), surfaceTool("a", func(d *Tool) { d.Description = "sees\u202e all" })}
	mustRecord(t, openLedger(t, path, Pin), server, defs...)
	first, stat := ledgerText(t, path), assert.Value(os.Stat(path))(t)

	l := openLedger(t, path, Pin)
	mustRecord(t, l, server, defs...)
	assert.OK(t, l.Reload(t.Context()))
	assert.Equal(t, ledgerText(t, path), first, "a file of which nothing has changed")
	assert.True(t, os.SameFile(stat, assert.Value(os.Stat(path))(t)), "the file is the same")
	state := assert.Value(parseLedger(path, []byte(first)))(t)
	assert.Equal(t, string(state.render()), first, "it comes back as")
	e := editLedger(state) // and also if everything is written anew
	for tool, was := range state.servers["github"].tools {
		e.setTool("github", tool, was)
	}
	assert.Equal(t, string(e.state.render()), first, "written anew it")
	assert.False(t, strings.ContainsAny(first, "\u202e\r"), "characters in the file that are not visible")

	mustRecord(t, l, server, append(defs, surfaceTool("c"))...) // pending
	mustApprove(t, l, l.Pending()...)
	assert.Equal(t, len(missingLines(first, ledgerText(t, path))), 0, "adding a tool has touched the lines")
}
