package ledger

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestDamagedLedgers: what is not sound is refused, with the place and the cure.
func TestDamagedLedgers(t *testing.T) {
	path := ledgerPath(t)
	mustRecord(t, openLedger(t, path, Pin), &Server{Name: "github", Fingerprint: "one"}, surfaceTool("a"), surfaceTool("b"))
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
		{"half", sound[:len(sound)/2], "", "", "sound JSON"},
		{"trailing", sound + "{}", "", "", "sound JSON"},
		{"conflict", once(`				"a": {`, "<<<<<<< HEAD\n\t\t\t\t\"a\": {"), "", "", "merge conflict"},
		{"conflict of others", once(`				"a": {`, ">>>>>>> theirs\n\t\t\t\t\"a\": {"), "", "", "merge conflict"},
		{"version", once(`"version": 1`, `"version": 2`), "", "", "update the program"},
		{"version of text", once(`"version": 1`, `"version": "1"`), "", "", "update the program"},
		{"mode", once(`"mode": "pin"`, `"mode": "yolo"`), "github", "", "trust, pin or review"},
		{"no mode", once(`"mode": "pin",`, ``), "github", "", `"mode" is missing`},
		{"tool twice", once(`				"b": {`, `				"a": {`), "", "", "sound JSON"},
		{"tool renamed", once(`				"b": {`, `				"c": {`), "github", "c", "another tool"},
		{"description by hand", once(`Does b.`, "Does all."), "github", "b", "edited by hand"},
		{"hash by hand", once(hashA, hashB), "github", "a", "edited by hand"},
		{"hash of nothing", once(hashA, ""), "github", "a", `"hash" or "surface" is missing`},
		{"no who", once(`"by": "first use",`, ``), "github", "", `"by" is missing`},
		{"time", once(`"at": "2`, `"at": "x2`), "github", "", "not a time"},
		{"server is text", once(`"github": {`, `"x": "y", "github": {`), "x", "", "must be an object"},
		{"fingerprint", once(`"fingerprint": "one"`, `"fingerprint": 1`), "github", "", "must be a string"},
		{"a member of a later version", once(`"mode": "pin",`, `"mode": "pin", "owner": "team",`), "github", "", "update the program"},
		{"a mark of a later version", once(`"hash": "`, `"ticket": 7, "hash": "`), "github", "a", "update the program"},
		{"an empty name", once(`"": "end"`, `"": {}`), "github", "", "must be a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.OK(t, os.WriteFile(path, []byte(c.file), 0o644))
			_, err := Open(path, nil)
			bad := assert.As[*Error](t, err, "it was opened")
			assert.Equal(t, bad.file, path, "file")
			assert.Between(t, bad.line, 1, math.MaxInt, "line")
			assert.Equal(t, bad.server, c.server, "server")
			if c.tool != "" {
				assert.Equal(t, bad.tool, c.tool, "tool")
			}
			assert.Contains(t, err.Error(), c.want)
		})
	}
}

// TestForeignLedgers: a file may be written in another way.
func TestForeignLedgers(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github", Fingerprint: "one"}
	mustRecord(t, openLedger(t, path, Pin), server, surfaceTool("a"), surfaceTool("b"))
	sound := ledgerText(t, path)
	for name, text := range map[string]string{
		"CRLF":         strings.ReplaceAll(sound, "\n", "\r\n"),
		"spaces":       strings.ReplaceAll(sound, "\t", "  "),
		"no list ends": strings.ReplaceAll(strings.ReplaceAll(sound, ",\n\t\t\t\t\"\": \"end\"", ""), ",\n\t\t\"\": \"end\"", ""),
	} {
		t.Run(name, func(t *testing.T) {
			assert.OK(t, os.WriteFile(path, []byte(text), 0o644))
			l := openLedger(t, path, Pin)
			mustRecord(t, l, server, surfaceTool("a"), surfaceTool("b"))
			assert.Equal(t, ledgerText(t, path), text, "a file of which nothing has changed")
			mustRecord(t, l, server, surfaceTool("a"), surfaceTool("b", func(d *Tool) { d.Title = "x" }), surfaceTool("c"))
			mustApprove(t, l, l.Pending()...)
			assert.Lacks(t, ledgerText(t, path), "\r", "there are carriage returns")
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
		state, err := parseLedger("", data)
		if err != nil {
			return
		}
		once := state.render()
		assert.Equal(t, string(assert.Value(parseLedger("", once))(t).render()), string(once), "it is not stable")
	})
}

// An error names the line in the file, however deep it is.
func TestLineOfDamage(t *testing.T) {
	path := ledgerPath(t)
	for _, server := range []string{"one", "two"} {
		mustRecord(t, openLedger(t, path, Pin), &Server{Name: server, Fingerprint: "f"}, surfaceTool("a"), surfaceTool("b"))
	}
	lines := strings.Split(ledgerText(t, path), "\n")
	for i, line := range lines {
		if !strings.Contains(line, `"hash"`) && !strings.Contains(line, `"at"`) {
			continue
		}
		damaged := slices.Clone(lines)
		damaged[i] = strings.NewReplacer("sha256:", "sha255:", "T", "!").Replace(line)
		assert.Equal(t, assert.As[*Error](t, assert.Err(parseLedger(path, []byte(strings.Join(damaged, "\n")))), "line %d", i+1).line, i+1, "line %d: line", i+1)
	}
}
