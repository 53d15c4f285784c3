package ledger

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A ledger in a project's folder decides about the servers of that project alone, and nothing of
// other servers is written into it.
func TestPlaces(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	open := func() *Ledger {
		return assert.Value(Open(filepath.Join(home, "mcp.lock.json"), &Options{Open: func(place string) (*Ledger, error) {
			return Open(filepath.Join(place, "mcp.lock.json"), nil)
		}}))(t)
	}
	l := open()
	mine, theirs := &Server{Name: "github"}, &Server{Name: "github", Place: project}
	a, b := surfaceTool("a"), surfaceTool("b")
	mustRecord(t, l, mine, a)
	mustRecord(t, l, theirs, b)
	wantKind(t, l, mine, ToolNew, b)
	wantKind(t, l, theirs, ToolNew, a)

	_, changed := l.Generation()
	mustRecord(t, l, theirs, a, b)
	<-changed
	assert.Equal(t, assert.Only(t, l.Pending()).Place, project, "the place of what waits")
	mustApprove(t, l, l.Pending()...)
	wantKind(t, l, theirs, "", a)
	wantKind(t, l, mine, ToolNew, b)
	assert.OK(t, l.Reject(t.Context(), "ann", Change{Server: "github", Place: project, Tool: "b", Hash: NewSurface(b).Hash}))
	wantKind(t, open(), theirs, ToolRejected, b)
	assert.OK(t, l.Persistent())

	mine2, theirs2 := assert.Value(Open(filepath.Join(home, "mcp.lock.json"), nil))(t), assert.Value(Open(filepath.Join(project, "mcp.lock.json"), nil))(t)
	assert.Equal(t, len(mine2.Entries()), 1, "entries at home")
	assert.Equal(t, len(theirs2.Entries()), 2, "entries in the project")
	assert.Equal(t, len(l.Entries()), 3, "entries")
	assert.OK(t, l.Forget(t.Context(), "github"))
	assert.Equal(t, len(open().Entries()), 0, "entries after Forget")
}

func TestFollowsPlaces(t *testing.T) {
	project := filepath.Join(t.TempDir(), "mcp.lock.json")
	l := New(&Options{Open: func(string) (*Ledger, error) { return Open(project, nil) }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Follow(ctx) }()
	theirs := &Server{Name: "github", Place: "p"}
	mustRecord(t, l, theirs, surfaceTool("a"))
	mustRecord(t, l, theirs, surfaceTool("a"), surfaceTool("b"))
	other := assert.Value(Open(project, nil))(t)
	mustApprove(t, other, other.Pending()...)
	for {
		_, changed := l.Generation()
		if l.Judge(*theirs, NewSurface(surfaceTool("b"))) == nil {
			break
		}
		<-changed
	}
	cancel()
	assert.Is(t, <-ended, context.Canceled)
}

func TestPlaceThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.lock.json")
	assert.OK(t, os.WriteFile(file, []byte("{"), 0o644))
	l := New(&Options{Open: func(string) (*Ledger, error) { return Open(file, nil) }})
	theirs := Server{Name: "github", Place: "p", Mode: Trust}
	a := NewSurface(surfaceTool("a"))
	for range 2 {
		assert.As[*Error](t, l.Record(t.Context(), theirs, []*Surface{a}))
		assert.Equal(t, kindOf(l.Judge(theirs, a)), ToolNew, "a tool of a server that trusts")
		assert.Equal(t, kindOf(l.Foresee(theirs, []*Surface{a})(a)), ToolNew, "a tool that is foreseen")
		assert.Equal(t, l.Instructions(theirs), "", "instructions")
	}
	assert.OK(t, os.Remove(file))
	assert.OK(t, l.Record(t.Context(), theirs, []*Surface{a}))
	assert.Equal(t, kindOf(l.Judge(theirs, a)), "", "a tool after the file was mended")
}
