//go:build integration && unix

package adminpage

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// reach presses Tab until the focus is at what has a name, as a screen reader says it.
func (p *tab) reach(name string) {
	p.Helper()
	const at = `(() => { const e = document.activeElement; return (e.labels?.[0]?.textContent ?? e.getAttribute('aria-label') ?? e.textContent).trim() })()`
	if p.has("[...document.querySelectorAll('button, a, input, select, textarea')].length === 0") {
		p.Fatalf("got a page without controls, want %s", name)
	}
	seen := ""
	for range 200 {
		var got string
		p.Press("Tab")
		if err := p.Eval(at, &got); err != nil {
			p.Fatal(err)
		}
		if got == name {
			if !p.has("getComputedStyle(document.activeElement).outlineStyle !== 'none'") {
				p.Errorf("%s: got no ring around what has the focus, want one", name)
			}
			return
		}
		seen += strconv.Quote(got) + " "
	}
	p.Fatalf("got the focus at %s, want it at %s", seen, name)
}

// press reaches a button or a link, waiting until it is there, and presses Enter.
func (p *tab) press(name string) {
	p.Helper()
	p.AwaitTrue("[...document.querySelectorAll('button, a')].some((e) => e.textContent.trim() === " + strconv.Quote(name) + " && !e.hidden)")
	p.quiet()
	p.reach(name)
	p.Press("Enter")
}

// names returns the names of the servers, joined by blanks.
func (s *site) names() string {
	s.Helper()
	all, err := s.manager.Servers(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	var names []string
	for _, server := range all {
		names = append(names, server.Record.Name)
	}
	return strings.Join(names, " ")
}

// TestKeyboard adds a server, switches it off and removes it, takes that back and accepts a change, by keyboard alone.
func TestKeyboard(t *testing.T) {
	notes := notesServer()
	s := open(t, remote("notes", serveHTTP(t, notes)))
	s.notes = notes
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.settled("/servers")
	p.press("Add a server")
	p.awaitText("Where it runs")
	p.reach("Where it runs")
	p.Press("ArrowDown")
	p.reach("Name")
	p.Type("weather")
	p.reach("Address")
	p.Type(serveHTTP(t, weatherServer()))
	p.press("Test")
	p.awaitText("It works: 1 tools")
	p.awaitText("Nothing was kept.")
	assert.Equal(t, s.names(), "notes", "servers after the test")
	p.press("Add")
	p.AwaitTitle("weather · mcpbelt")
	p.press("Disable")
	p.awaitText("Enable")
	p.press("Enable")
	p.awaitText("Disable")
	p.press("Remove")
	p.awaitText("weather was removed.")
	assert.Equal(t, s.names(), "notes", "servers after it was removed")
	p.press("Undo")
	p.AwaitTrue("!document.body.innerText.includes('There is no such server')")
	p.press("Servers")
	p.awaitText("weather")
	assert.Equal(t, s.names(), "notes weather", "servers after that was undone")
	s.changeNotes("Adds a note, to all notes.")
	p.press("Changes1 waiting") // its name and its badge
	p.awaitText("to all notes")
	p.press("Accept")
	p.awaitText("Nothing waits to be accepted.")
	if got := s.host.Registry().Ledger().Pending(); len(got) > 0 {
		t.Errorf("changes: got %d, want none", len(got))
	}
}
