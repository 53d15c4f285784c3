// Tests of what happened, and of decisions that are taken back.

//go:build integration && unix

package adminpage

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/session"
)

// TestDecisionsAreTakenBack rejects a tool and denies a launch, and takes both back where that was done; the activity has who
// it was.
func TestDecisionsAreTakenBack(t *testing.T) {
	s := openBusy(t)
	p := s.openOwner()
	p.open("/changes")
	p.button(".card", "add at", "Reject")
	p.awaitText("add: rejected.")
	p.button(".toast", "add: rejected.", "Accept it after all")
	p.awaitText("add: accepted.")
	s.changeNotes("Another change.")
	p.button(".card", "add at", "Reject")
	p.awaitText("add: rejected.")
	p.open("/changes") // later, and without the toast
	p.Click("details.card summary")
	p.button("details .card", "add at", "Accept it after all")
	p.awaitText("add: accepted.")
	hosttest.Eventually(t, "the tool is offered", func() bool { _, ok := s.host.Registry().Snapshot().Lookup("notes__add"); return ok })

	p.open("/launches")
	p.button(".card", "proposed", "Deny")
	p.awaitText("proposed: denied.")
	p.awaitText("No server waits to be allowed.")
	p.button(".toast", "proposed: denied.", "Undo")
	p.awaitText("proposed: it waits again.")
	p.button(".card", "proposed", "Deny")
	p.awaitText("No server waits to be allowed.")
	p.open("/launches")
	p.Click("details.card summary")
	p.accessible("a launch that was denied")
	p.button("details .card", "proposed", "Allow it after all")
	p.awaitText("allowed and started")

	p.open("/activity?kind=accept")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length === 4 && [...document.querySelectorAll('tbody tr')].every((row) => row.innerText.includes('ada'))")
}

// TestActivityIsSearched finds events by a part of a name as it is typed, folds those of a server that is tried again, and
// shows older ones.
func TestActivityIsSearched(t *testing.T) {
	s, p := openPage(t, remote("weather", serveHTTP(t, weatherServer())), remote("broken", "http://127.0.0.1:1/mcp"))
	for range 210 {
		assert.Value(s.host.Registry().Call(session.WithUser(hosttest.Watchdog(t), "ada"), "weather__forecast", []byte(`{"place":"Oslo"}`)))(t)
	}
	p.open("/activity?kind=call")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length === 200")
	p.button(".actions", "Show older ones", "Show older ones")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length === 210")
	p.open("/activity")
	p.reach("search")
	p.Type("ther__fore")
	p.AwaitTrue("location.search === '?q=ther__fore' && [...document.querySelectorAll('tbody tr')].every((row) => row.innerText.includes('forecast'))")
	p.open("/activity?kind=state&server=broken")
	assert.OK(t, s.host.Restart(session.WithUser(hosttest.Watchdog(t), "ada"), "weather"))
	for range 3 {
		assert.Fails(t, s.host.Restart(hosttest.Watchdog(t), "broken"), "restart of a server that is away")
	}
	p.AwaitTrue("document.querySelectorAll('tbody tr').length <= 2 && /×\\d+ since/.test(document.querySelector('tbody').innerText)")
	p.accessible("what happened, folded")
}

// openOwner opens a tab as the owner.
func (s *site) openOwner() *tab {
	s.Helper()
	p := s.tab(chromium.Start(s.T))
	p.signIn(s.owner)
	return p
}
