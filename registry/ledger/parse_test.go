package ledger

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestDamagedLedgers: what is not sound is refused, with the place and the cure.
func TestDamagedLedgers(t *testing.T) {
	path := ledgerPath(t)
	l := openLedger(t, path, Pin)
	mustRecord(t, l, &Server{Name: "github", Fingerprint: "one"}, surfaceTool("a"), surfaceTool("b"))
	sound := ledgerText(t, path)
	hashA, hashB := NewSurface(surfaceTool("a")).Hash, NewSurface(surfaceTool("b")).Hash
	once := func(from, to string) string {
		assert.Contains(t, sound, from, "%s is not there", from)
		return strings.Replace(sound, from, to, 1)
	}
	for _, c := range []struct {
		name, file, server, tool, want string
	}{
		{"empty", "", "", "", "sound JSON"},
		{"other JSON", "{}", "", "", "not a ledger"},
		{"a list", "[]", "", "", "must be an object"},
		{"no servers", `{"version": 1}`, "", "", "not a ledger"},
		{"half", sound[:len(sound)/2], "github", "", "sound JSON"},
		{"trailing", sound + "{}", "", "", "sound JSON"},
		{"conflict", once(`				"a": {`, "<<<<<<< HEAD\n\t\t\t\t\"a\": {"), "", "", "merge conflict"},
		{"conflict of others", once(`				"a": {`, ">>>>>>> theirs\n\t\t\t\t\"a\": {"), "", "", "merge conflict"},
		{"version", once(`"version": 1`, `"version": 2`), "", "", "update the program"},
		{"version of text", once(`"version": 1`, `"version": "1"`), "", "", "update the program"},
		{"mode", once(`"mode": "pin"`, `"mode": "yolo"`), "github", "", "trust, pin or review"},
		{"no mode", once(`"mode": "pin",`, ``), "github", "", `"mode" is missing`},
		{"tool twice", once(`				"b": {`, `				"a": {`), "github", "a", "sound JSON"},
		{"tool renamed", once(`				"b": {`, `				"c": {`), "github", "c", "another tool"},
		{"description by hand", once(`Does b.`, "Does all."), "github", "b", "edited by hand"},
		{"hash by hand", once(hashA, hashB), "github", "a", "edited by hand"},
		{"hash of nothing", once(hashA, ""), "github", "a", `"hash" or "surface" is missing`},
		{"no who", once(`"by": "first use",`, ``), "github", "", `"by" is missing`},
		{"time", once(`"at": "2`, `"at": "x2`), "github", "", "not a time"},
		{"server is text", once(`"github": {`, `"x": "y", "github": {`), "x", "", "must be an object"},
		{"fingerprint", once(`"fingerprint": "one"`, `"fingerprint": 1`), "github", "", "must be a string"},
		{"an empty name", once(`"": "end"`, `"": {}`), "github", "", "must be a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.OK(t, os.WriteFile(path, []byte(c.file), 0o644))
			_, err := Open(path, nil)
			bad := assert.As[*Error](t, err, "it was opened")
			assert.Equal(t, bad.File, path, "file")
			wantBetween(t, bad.Line, 1, math.MaxInt, "line")
			assert.Equal(t, bad.Server, c.server, "server")
			if c.tool != "" {
				assert.Equal(t, bad.Tool, c.tool, "tool")
			}
			assert.Contains(t, err.Error(), c.want)
		})
	}
}

// TestForeignLedgers: a file may be written in another way, and by a later version.
func TestForeignLedgers(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github", Fingerprint: "one"}
	mustRecord(t, openLedger(t, path, Pin), server, surfaceTool("a"), surfaceTool("b"))
	replace := func(text, from, to string) string {
		assert.Contains(t, text, from)
		return strings.Replace(text, from, to, 1)
	}
	newer := replace(ledgerText(t, path), `"version": 1,`, `"version": 1,
	"policy": {"x": [1, 2.50]},`)
	newer = replace(newer, `"mode": "pin",`, `"mode": "pin",
			"owner": "team",`)
	newer = replace(newer, `				"b": {`, `				"b": {
					"note": null,`)
	newer = replace(newer, `"by": "first use",`, `"by": "first use", "sig": "s1",`)
	newer = replace(newer, `"hash": "`, `"ticket": 7, "hash": "`)
	for name, text := range map[string]string{
		"newer":        newer,
		"CRLF":         strings.ReplaceAll(newer, "\n", "\r\n"),
		"spaces":       strings.ReplaceAll(newer, "\t", "  "),
		"no list ends": strings.ReplaceAll(strings.ReplaceAll(newer, ",\n\t\t\t\t\"\": \"end\"", ""), ",\n\t\t\"\": \"end\"", ""),
	} {
		t.Run(name, func(t *testing.T) {
			assert.OK(t, os.WriteFile(path, []byte(text), 0o644))
			l := openLedger(t, path, Pin)
			mustRecord(t, l, server, surfaceTool("a"), surfaceTool("b"))
			assert.Equal(t, ledgerText(t, path), text, "a file of which nothing has changed")
			mustRecord(t, l, server, surfaceTool("a"), surfaceTool("b", func(d *Tool) { d.Title = "x" }), surfaceTool("c"))
			mustApprove(t, l, l.Pending()...)
			got := ledgerText(t, path)
			for _, kept := range []string{`"policy":`, "2.50", `"owner": "team"`, `"note": null`, `"sig": "s1"`, `"ticket": 7`} {
				assert.Contains(t, got, kept, "%s is lost", kept)
			}
			assert.Lacks(t, got, "\r", "there are carriage returns")
			wantKind(t, openLedger(t, path, Pin), server, "", surfaceTool("c"))
		})
	}
}

func FuzzParseLedger(f *testing.F) {
	l := New(nil)
	mustRecord(f, l, &Server{Name: "github", Fingerprint: "one"}, surfaceTool("a"))
	mustRecord(f, l, &Server{Name: "github", Fingerprint: "two"}, surfaceTool("a"), surfaceTool("b"))
	f.Add(l.view.Load().state.render())
	f.Add([]byte(`{"version":1,"servers":{"a":{"mode":"pin","tools":{"":""}}},"x":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := parseLedger("", data, nil)
		if err != nil {
			return
		}
		once := state.render()
		assert.Equal(t, string(assert.Value(parseLedger("", once, state))(t).render()), string(once), "it is not stable")
	})
}

// What somebody else writes, tool by tool, does not keep in memory what the file
// was before: the servers that have not changed are taken over from there.
func TestOldFilesAreForgotten(t *testing.T) {
	path := ledgerPath(t)
	mustRecord(t, openLedger(t, path, Pin), &Server{Name: "one"}, surfaceTool("a"))
	mustRecord(t, openLedger(t, path, Pin), &Server{Name: "two"}, surfaceTool("a"), surfaceTool("b"))
	first := []byte(ledgerText(t, path))
	mustRecord(t, openLedger(t, path, Pin), &Server{Name: "two"}, surfaceTool("a"), surfaceTool("b"), surfaceTool("c"))
	second := []byte(ledgerText(t, path))
	old := weak.Make(&first[0])
	before := assert.Value(parseLedger(path, first, nil))(t)
	first = nil
	after := assert.Value(parseLedger(path, second, before))(t)
	assert.Equal(t, after.servers["one"], before.servers["one"], "a server read anew that is the same")
	server := weak.Make(&before.servers["two"].text[0])
	before = nil
	runtime.GC()
	assert.True(t, old.Value() == nil, "the old file is gone from memory")
	assert.True(t, server.Value() == nil, "the old file is gone from memory")
	e := editLedger(after)
	e.setTool("two", "a", nil)
	written := weak.Make(&e.state.render()[0])
	runtime.GC()
	assert.False(t, written.Value() != nil, "a file that was written is still in memory")
	runtime.KeepAlive(e)
}

// An error names the line in the file, however deep it is.
func TestLineOfDamage(t *testing.T) {
	path := ledgerPath(t)
	for _, server := range []string{"one", "two"} {
		mustRecord(t, openLedger(t, path, Pin), &Server{Name: server, Fingerprint: "f"}, surfaceTool("a"), surfaceTool("b"))
	}
	sound := ledgerText(t, path)
	lines := strings.Split(sound, "\n")
	for i, line := range lines {
		if !strings.Contains(line, `"hash"`) && !strings.Contains(line, `"at"`) {
			continue
		}
		damaged := slices.Clone(lines)
		damaged[i] = strings.NewReplacer("sha256:", "sha255:", "T", "!").Replace(line)
		assert.Equal(t, assert.As[*Error](t, errorOf(parseLedger(path, []byte(strings.Join(damaged, "\n")), nil)), "line %d", i+1).Line, i+1, "line %d: line", i+1)
	}
}

// A ledger for one server reads nothing else, and leaves all that is kept of others as it is.
func TestServers(t *testing.T) {
	path := ledgerPath(t)
	l := openLedger(t, path, Pin)
	for _, server := range []string{"one", "two", "three"} {
		mustRecord(t, l, &Server{Name: server}, surfaceTool("a"))
	}
	sound := ledgerText(t, path)
	foreign := strings.Replace(sound, `"mode": "pin"`, `"mode":   "later"`, 1) // of server one, the first
	assert.OK(t, os.WriteFile(path, []byte(foreign), 0o644))
	l = assert.Value(Open(path, &Options{Servers: []string{"two", "four"}}))(t)
	two, three := &Server{Name: "two"}, &Server{Name: "three"}
	wantKind(t, l, two, "", surfaceTool("a"))
	wantKind(t, l, two, ToolNew, surfaceTool("b"))
	wantKind(t, l, three, ToolNew, surfaceTool("a"))
	assert.False(t, l.Judge(Server{Name: "one", Mode: Trust}, NewSurface(surfaceTool("a"))) == nil, "a tool that may be called of server one")
	assert.Equal(t, len(l.Entries()), 1, "entries")
	assert.False(t, l.Record(t.Context(), *three, surfacesIn(surfaceTool("b"))) == nil, "a list of server three recorded")
	assert.False(t, l.Forget(t.Context(), "three") == nil, "server three forgotten")
	assert.Equal(t, ledgerText(t, path), foreign, "the file")
	mustRecord(t, l, &Server{Name: "four"}, surfaceTool("a"))
	mustRecord(t, l, two, surfaceTool("a"), surfaceTool("b"))
	got := ledgerText(t, path)
	assert.Contains(t, got, `"mode":   "later"`, "file")
	assert.OK(t, os.WriteFile(path, []byte(strings.Replace(got, `"mode":   "later"`, `"mode": "pin"`, 1)), 0o644))
	all := openLedger(t, path, Pin)
	for _, server := range []string{"one", "two", "three", "four"} {
		wantKind(t, all, &Server{Name: server}, "", surfaceTool("a"))
	}
	assert.Equal(t, len(all.Pending("two")), 1, "pending changes of server two")
}
