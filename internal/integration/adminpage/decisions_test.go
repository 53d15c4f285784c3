//go:build integration && unix

package adminpage

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// TestStaleAccept accepts a tool that has changed since it was looked at: that is refused, and it is shown as it is now.
func TestStaleAccept(t *testing.T) {
	notes := notesServer()
	s := open(t, remote("notes", serveHTTP(t, notes)))
	s.notes = notes
	s.changeNotes("The first change.")
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.open("/changes")
	p.awaitText("The first change.")
	s.changeNotes("The second change.")
	p.awaitText("This has changed since you began to look at it.")
	if p.has("document.body.innerText.includes('The second change.')") {
		t.Error("got the second change under the eyes of the reader, want the first until they ask")
	}
	p.button(".card", "add at", "Accept")
	p.awaitText("nothing was decided")
	p.awaitText("The second change.")
	if got := s.host.Registry().Ledger().Pending(); len(got) != 1 {
		t.Errorf("changes: got %d, want the one that was not looked at", len(got))
	}
	p.button(".card", "add at", "Accept")
	p.awaitText("Nothing waits to be accepted.")
	assert.Equal(t, hosttest.Names(s.host), "notes__add", "tools")
}

// TestDecisions approves a call, allows a launch, makes and revokes a key, begins a login, and finds all of that in the
// activity.
func TestDecisions(t *testing.T) {
	s := openBusy(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)

	p.open("/inbox")
	p.awaitText("\"n\": 12345678901234567890") // a number that JavaScript does not have
	p.awaitText("<b>12345678901234567890</b>")
	p.button(".card", "mail__send", "Approve")
	p.awaitText("No call waits for approval.")
	p.awaitText("mail__send: made.")

	p.open("/launches")
	p.awaitText("adminpage.test")
	p.button(".card", "proposed", "Allow")
	p.awaitText("No server waits to be allowed.")

	p.open("/keys")
	p.button(".heading", "API keys", "New key")
	p.Fill("dialog input", "for tests")
	p.button("dialog", "New key", "Make the key")
	p.Await("dialog input[readonly]")
	var secret string
	if err := p.Eval("document.querySelector('dialog input[readonly]').value", &secret); err != nil || !strings.HasPrefix(secret, "mcpbelt_") {
		t.Fatalf("secret: got %q, %v, want one", secret, err)
	}
	p.button("dialog", "The key for tests", "I have it")
	p.awaitText("for tests")
	if p.has("document.documentElement.outerHTML.includes(" + quoted(secret) + ")") {
		t.Error("secret: got it in the page after the dialog, want it gone")
	}
	p.button("tr", "for tests", "Change")
	p.Fill("dialog input", " and more")
	p.button("dialog", "Change a key", "Save")
	p.awaitText("for tests and more")
	p.button("tr", "for tests", "Revoke")
	p.button("dialog", "Revoke this key?", "Revoke")
	p.awaitText("was revoked.")

	p.open("/logins")
	p.button("li", "vault", "Log in")
	p.Await("dialog a[target=_blank][rel~=noopener]")
	p.button("dialog", "Log in at vault", "Close")
	p.button("tr", "calendar", "Log out")
	p.button("dialog", "Log out at calendar?", "Log out")
	p.awaitText("Logged out at calendar.")
	p.AwaitTrue("![...document.querySelectorAll('tr')].some((row) => row.innerText.includes('calendar') && row.innerText.includes('logged in'))")

	p.open("/activity?kind=call&tool=send")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('mail')")
	p.open("/activity?server=weather&outcome=ok")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length >= 5")
	if p.has("[...document.querySelectorAll('tbody tr')].some((row) => !row.innerText.includes('weather'))") {
		t.Error("activity: got events of other servers, want those of the filter in the address")
	}
	// What is exported is what is shown.
	assert.OK(t, p.Eval("(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return make(blob); }; return 0 })()", nil))
	p.do("Browser.setDownloadBehavior", map[string]any{"behavior": "deny"})
	p.button(".heading", "Activity", "Export JSON lines")
	p.button(".heading", "Activity", "Export CSV")
	p.AwaitTrue("saved.length === 2")
	if !p.has("saved.every((text) => text.includes('forecast')) && saved.some((text) => text.startsWith('time,kind,')) && saved.some((text) => text.trim().split('\\n').every((line) => JSON.parse(line).server === 'weather'))") {
		t.Error("export: got other lines, want the events in JSON and CSV")
	}

	p.open("/health")
	p.button(".card", "broken", "Diagnose")
	p.awaitText("no-such-command")
	p.Await(".card .note li")
}
