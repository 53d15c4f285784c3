// Tests of render.go: what two branches did to the file is merged by git.

package ledger

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// gitRepository returns a function that runs git in a new repository.
func gitRepository(t *testing.T) (dir string, git func(args ...string) (string, error)) {
	t.Helper()
	exe, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir = t.TempDir()
	git = func(args ...string) (string, error) {
		cmd := exec.Command(exe, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	return dir, git
}

// TestGitMerges merges what two branches did to the ledger.
func TestGitMerges(t *testing.T) {
	server := func(name string) *Server { return &Server{Name: name, Fingerprint: "print of " + name} }
	github := server("github")
	changed := func(name, title string) *Tool {
		return surfaceTool(name, func(d *Tool) { d.Title = title })
	}
	approve := func(tool string) func(*testing.T, *Ledger) {
		return func(t *testing.T, l *Ledger) {
			t.Helper()
			for _, c := range l.Pending() {
				if c.Tool == tool {
					mustApprove(t, l, c)
					return
				}
			}
			t.Fatalf("%s is not pending", tool)
		}
	}
	add := func(name string) func(*testing.T, *Ledger) {
		return func(t *testing.T, l *Ledger) { mustRecord(t, l, server(name), surfaceTool("x"), surfaceTool("y")) }
	}
	addTool := func(name string) func(*testing.T, *Ledger) {
		return func(t *testing.T, l *Ledger) {
			var defs []*Tool
			for _, e := range l.Entries("github") {
				if e.Tool != "" {
					defs = append(defs, surfaceTool(e.Tool))
				}
			}
			mustRecord(t, l, github, append(defs, changed("b", "new b"), changed("c", "new c"), surfaceTool(name))...)
			approve(name)(t, l)
		}
	}
	for _, c := range []struct {
		name         string
		ours, theirs func(*testing.T, *Ledger)
		conflict     bool
		check        func(*testing.T, *Ledger)
	}{
		{"neighbours approved", approve("b"), approve("c"), false, func(t *testing.T, l *Ledger) {
			wantKind(t, l, github, "", changed("b", "new b"), changed("c", "new c"))
			assert.Equal(t, len(l.Pending()), 0, "pending")
		}},
		{"servers at both ends", add("another"), add("zoo"), false, func(t *testing.T, l *Ledger) {
			for _, name := range []string{"another", "zoo", "github"} {
				assert.False(t, len(l.Entries(name)) == 0, "%s is missing", name)
			}
		}},
		{"a server and a tool at the end", add("zoo"), addTool("z"), false, func(t *testing.T, l *Ledger) {
			wantKind(t, l, github, "", surfaceTool("z"))
			wantKind(t, l, server("zoo"), "", surfaceTool("y"))
		}},
		{"tools with one between them", addTool("a1"), addTool("z"), false, func(t *testing.T, l *Ledger) {
			wantKind(t, l, github, "", surfaceTool("a1"), surfaceTool("z"))
		}},
		{"a tool approved and its server changed", approve("b"), func(t *testing.T, l *Ledger) {
			mustRecord(t, l, &Server{Name: "github", Fingerprint: "swapped"}, surfaceTool("a"), changed("b", "new b"), changed("c", "new c"), surfaceTool("d"))
		}, false, func(t *testing.T, l *Ledger) {
			wantKind(t, l, github, "", changed("b", "new b"))
			wantKind(t, l, &Server{Name: "github", Fingerprint: "swapped"}, ServerChanged, surfaceTool("a"))
		}},
		{"one tool approved differently", approve("b"), func(t *testing.T, l *Ledger) {
			mustRecord(t, l, github, surfaceTool("a"), changed("b", "other b"), changed("c", "new c"), surfaceTool("d"))
			approve("b")(t, l)
		}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, run := gitRepository(t)
			git := func(args ...string) {
				t.Helper()
				assert.Value(run(args...))(t)
			}
			path := filepath.Join(dir, "mcp.lock.json")
			git("init", "-q", "-b", "main")
			l := openLedger(t, path, Pin)
			mustRecord(t, l, github, surfaceTool("a"), surfaceTool("b"), surfaceTool("c"), surfaceTool("d"))
			mustRecord(t, l, github, surfaceTool("a"), changed("b", "new b"), changed("c", "new c"), surfaceTool("d"))
			git("add", ".")
			git("commit", "-qm", "base")
			git("checkout", "-qb", "theirs")
			c.theirs(t, openLedger(t, path, Pin))
			git("commit", "-qam", "theirs")
			git("checkout", "-q", "main")
			c.ours(t, openLedger(t, path, Pin))
			git("commit", "-qam", "ours")
			assert.Equal(t, assert.Value(run("status", "--porcelain"))(t), "", "what the ledger has left")
			out, err := run("merge", "-q", "--no-edit", "theirs")
			if (err != nil) != c.conflict {
				diff, _ := run("diff")
				t.Fatalf("merge: %v: %s\n%s", err, out, diff)
			}
			if c.conflict {
				bad := assert.As[*Error](t, assert.Err(Open(path, nil)), "a file with markers")
				assert.Between(t, bad.line, 2, math.MaxInt, "a file with markers")
				assert.Contains(t, bad.Error(), "merge conflict", "a file with markers")
				return
			}
			c.check(t, openLedger(t, path, Pin))
		})
	}
}
