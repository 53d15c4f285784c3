package ledger

import (
	"bytes"
	"os"
	"slices"
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
	first, stat := readLedgerFile(t, path)

	l := openLedger(t, path, Pin)
	mustRecord(t, l, server, defs...)
	assert.OK(t, l.Reload(t.Context()))
	again, now := readLedgerFile(t, path)
	assert.Equal(t, string(again), string(first), "the file was written though nothing has changed")
	assert.Equal(t, os.SameFile(stat, now), true, "the file is the same")
	state := assert.Value(parseLedger(path, first, nil))(t)
	assert.Equal(t, string(state.render()), string(first), "it comes back as")
	e := editLedger(state) // and also if everything is written anew
	for tool, was := range state.servers["github"].tools {
		e.setTool("github", tool, was.with(was.approved, was.rejected, was.pending))
	}
	assert.Equal(t, string(e.state.render()), string(first), "written anew it")
	if strings.ContainsFunc(string(first), func(r rune) bool { return r == 0x202e || r == '\r' }) {
		t.Error("there are characters in the file that nobody sees")
	}

	mustRecord(t, l, server, append(defs, surfaceTool("c"))...) // pending
	mustApprove(t, l, l.Pending()...)
	after, _ := readLedgerFile(t, path)
	assert.Equal(t, len(missingLines(string(first), string(after))), 0, "adding a tool has touched the lines")
}

func missingLines(before, after string) []string {
	have := strings.Split(after, "\n")
	var lost []string
	for _, line := range strings.Split(before, "\n") {
		if at := slices.Index(have, line); at >= 0 {
			have = have[at+1:]
		} else {
			lost = append(lost, line)
		}
	}
	return lost
}

func readLedgerFile(t testing.TB, path string) ([]byte, os.FileInfo) {
	t.Helper()
	data := assert.Value(os.ReadFile(path))(t)
	info := assert.Value(os.Stat(path))(t)
	return data, info
}

// TestSurfacesStandOnce holds what is kept of a tool to one copy: the surfaces of its marks
// are parts of its text, and those of a server that was read parts of the server's.
func TestSurfacesStandOnce(t *testing.T) {
	path, server := ledgerPath(t), &Server{Name: "github"}
	l := openLedger(t, path, Pin)
	mustRecord(t, l, server, surfaceTool("a"), surfaceTool("b"))
	mustRecord(t, l, server, surfaceTool("a", func(d *Tool) { d.Title = "x" }), surfaceTool("b"))
	within := func(part, whole []byte) bool {
		at := bytes.Index(whole, part)
		return len(part) > 0 && at >= 0 && &whole[at] == &part[0]
	}
	check := func(when string, srv *ledgerServer) {
		t.Helper()
		for name, tool := range srv.tools {
			assert.Equal(t, within(tool.text, srv.text), true, "%s: the text of tool %s is a part of the server's", when, name)
			for _, m := range []*ledgerMark{tool.approved, tool.rejected, tool.pending} {
				if m != nil && !within(m.surface, tool.text) {
					t.Errorf("%s: got a surface of tool %s of its own, want a part of its text", when, name)
				}
			}
		}
	}
	made := l.kept.servers["github"]
	if made.tools["a"].approved == nil || made.tools["a"].pending == nil {
		t.Fatal("got a tool without an approved or a pending surface, want both")
	}
	check("made here", made)
	read := openLedger(t, path, Pin)
	check("read", read.kept.servers["github"])
	mustApprove(t, read, read.Pending()...)
	check("edited", read.kept.servers["github"])
}
