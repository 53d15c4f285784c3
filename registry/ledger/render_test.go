package ledger

import (
	"bytes"
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
	state := assert.Value(parseLedger(path, []byte(first), nil))(t)
	assert.Equal(t, string(state.render()), first, "it comes back as")
	e := editLedger(state) // and also if everything is written anew
	for tool, was := range state.servers["github"].tools {
		e.setTool("github", tool, was.with(was.approved, was.rejected, was.pending))
	}
	assert.Equal(t, string(e.state.render()), first, "written anew it")
	assert.False(t, strings.ContainsAny(first, "\u202e\r"), "characters in the file that are not visible")

	mustRecord(t, l, server, append(defs, surfaceTool("c"))...) // pending
	mustApprove(t, l, l.Pending()...)
	assert.Equal(t, len(missingLines(first, ledgerText(t, path))), 0, "adding a tool has touched the lines")
}

// TestSurfacesStandOnce holds what is kept of a tool to one copy: the surfaces of its marks
// are parts of its text, and those of a server that was read parts of the server's.
func TestSurfacesStandOnce(t *testing.T) {
	path := ledgerPath(t)
	l := openLedger(t, path, Pin)
	mustRecord(t, l, github, surfaceTool("a"), surfaceTool("b"))
	mustRecord(t, l, github, surfaceTool("a", func(d *Tool) { d.Title = "x" }), surfaceTool("b"))
	within := func(part, whole []byte) bool {
		at := bytes.Index(whole, part)
		return len(part) > 0 && at >= 0 && &whole[at] == &part[0]
	}
	check := func(when string, srv *ledgerServer) {
		t.Helper()
		for name, tool := range srv.tools {
			assert.True(t, within(tool.text, srv.text), "%s: the text of tool %s is a part of the github's", when, name)
			for _, m := range []*ledgerMark{tool.approved, tool.rejected, tool.pending} {
				assert.True(t, m == nil || within(m.surface, tool.text), "%s: the surface of tool %s is a part of its text", when, name)
			}
		}
	}
	made := l.kept.servers["github"]
	assert.True(t, made.tools["a"].approved != nil && made.tools["a"].pending != nil, "a tool with both surfaces")
	check("made here", made)
	read := openLedger(t, path, Pin)
	check("read", read.kept.servers["github"])
	mustApprove(t, read, read.Pending()...)
	check("edited", read.kept.servers["github"])
}
