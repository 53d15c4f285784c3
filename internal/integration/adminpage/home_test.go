// Tests of the first view, of the list of servers, and of how clients are connected.

//go:build integration && unix

package adminpage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// review opens what waits on the first view.
func (p *tab) review(text string) {
	p.Helper()
	find := "[...document.querySelectorAll('.need summary')].find((el) => el.innerText.includes(" + quoted(text) + "))"
	p.AwaitTrue(find)
	assert.OK(p, p.Eval(find+".click()", nil))
}

// TestNeeds decides on the first view, where each thing stands, and sees it go.
func TestNeeds(t *testing.T) {
	s := openBusy(t)
	p := s.openOwner()
	p.settled("/servers")
	p.awaitText("1 call waits for approval")
	p.button(".need .card", "mail__send", "Approve")
	p.awaitText("Nothing waits here any more")
	p.review("to be allowed to start")
	p.button(".need .card", "proposed", "Allow")
	hosttest.Until(t, s.host, "proposed", "allowed", func(st host.Status) bool { return st.Stage == host.StageReady })
	p.review("notes: 1 change to accept")
	p.button(".need .card", "add at", "Accept")
	p.awaitText("notes: decided")
	assert.Equal(t, len(s.host.Registry().Ledger().Pending()), 0, "changes")
	p.AwaitTrue("document.querySelectorAll('nav .badge').length === document.querySelectorAll('nav a[href=\"/admin/logins\"] .badge').length")
	p.button(".need", "vault", "Log in")
	p.Await("dialog a.primary")
	p.button("dialog", "Log in at vault", "Done")
	p.button(".need", "broken", "Test")
	p.awaitText("It does not work yet.")
	p.accessible("decisions on the first view")
}

// TestManyNeeds has more servers that need a login than the first view shows at once: their list stays in sight.
func TestManyNeeds(t *testing.T) {
	as := authtest.NewServer(t, nil)
	var records []*config.Server
	for i := range 10 {
		r := remote(fmt.Sprintf("vault-%d", i), as.NewMCP(nil).URL)
		r.Identity = config.IdentityUser
		records = append(records, r)
	}
	_, p := openPage(t, records...)
	p.settled("/servers")
	p.awaitText("7 more servers that need a login")
	assert.True(t, p.has("document.querySelectorAll('.window [role=row]')[3].getBoundingClientRect().bottom < innerHeight"), "four rows of the list are in sight")
	p.button(".need", "more servers", "Show all")
	p.AwaitTrue("[...document.querySelectorAll('.need button')].filter((b) => b.textContent === 'Log in').length === 10")
}

// rowNames is what the rows of the list are called, in their order.
const rowNames = "[...document.querySelectorAll('.window [role=row] a')].map((a) => a.textContent).join(' ')"

// TestListOfServers sorts and filters the list, comes back to its place, and removes a server: its row says so where it was,
// and takes that back.
func TestListOfServers(t *testing.T) {
	address := serveHTTP(t, notesServer())
	s, p := openPage(t, remote("cat", address), remote("ant", address), remote("bee", address))
	for _, name := range []string{"ant", "bee", "cat"} {
		hosttest.Until(t, s.host, name, "ready", func(st host.Status) bool { return st.Stage == host.StageReady })
	}
	p.settled("/servers")
	p.AwaitTrue(rowNames + " === 'ant bee cat'")
	p.button(".list .head", "", "Name")
	p.button(".list .head", "", "Name")
	p.AwaitTrue(rowNames + " === 'cat bee ant' && location.search === '?sort=-Name'")
	p.AwaitTrue("document.querySelector('[aria-sort=descending]').textContent === 'Name'")
	p.Fill("main input[type=search]", "be")
	p.AwaitTrue(rowNames + " === 'bee' && document.body.innerText.includes('1 of 3 servers')")
	p.Click(".window [role=row] a")
	p.AwaitTitle("bee · mcpbelt")
	assert.OK(t, p.Eval("history.back()", nil))
	p.AwaitTrue(rowNames + " === 'bee' && document.activeElement.getAttribute('role') === 'grid' && document.querySelector('.window .active a').textContent === 'bee'")
	p.Fill("main input[type=search]", "no such")
	p.awaitText("Nothing matches.")
	p.button(".empty", "", "Show all")

	p.button(".window [role=row]", "bee", "⋯More for bee")
	p.accessible("a menu")
	p.button(".menu", "", "Remove")
	p.AwaitTrue("document.activeElement.textContent === 'Undo' && document.activeElement.closest('[role=row]').innerText.includes('bee was removed.')")
	assert.True(t, p.has("[...document.querySelectorAll('.window [role=row]')].map((row) => row.offsetTop).length === 3"), "no row has moved")
	assert.Equal(t, s.names(), "cat ant", "servers")
	p.Press("Enter")
	p.AwaitTrue(rowNames + " === 'cat bee ant'")
	assert.Equal(t, s.names(), "cat ant bee", "servers after that was undone")
}

// TestSwitches switches tools off and on, one by one and those that a filter shows.
func TestSwitches(t *testing.T) {
	tools := notesServer()
	for _, name := range []string{"read", "find", "forget"} {
		addTool(tools, name, "Does it.", pathSchema, "done")
	}
	s, p := openPage(t, remote("notes", serveHTTP(t, tools)))
	hosttest.Until(t, s.host, "notes", "ready", func(st host.Status) bool { return st.Tools == 4 })
	is := func(want string) {
		t.Helper()
		hosttest.Eventually(t, "the tools "+want, func() bool { return strings.Join(strings.Fields(hosttest.Names(s.host)), " ") == want })
	}
	p.open("/servers/notes")
	p.Click("[aria-label='Use forget']")
	p.Click("[aria-label='Use read']") // while the entry is being changed
	is("notes__add notes__find")
	p.AwaitTrue("document.querySelector('[aria-label=\"Use forget\"]:not(:checked)')?.closest('[role=row]').innerText.includes('switched off')")
	p.accessible("switches")
	p.Fill("main input[type=search]", "find")
	p.button("section", "Tools", "Use none of them")
	is("notes__add")
	assert.OK(t, p.Eval("document.querySelector('main input[type=search]').value = ''", nil))
	p.Fill("main input[type=search]", "for")
	p.AwaitTrue("document.querySelectorAll('[role=switch]').length === 1")
	p.button("section", "Tools", "Use all that are shown")
	is("notes__add notes__forget")
}

// TestConnect makes a key, which is in the entry of the client that is chosen until the view is left.
func TestConnect(t *testing.T) {
	s, p := openPage(t)
	p.open("/connect")
	p.awaitText("Bearer YOUR_KEY")
	p.awaitText("No gateway answers at this address")
	p.Fill("main input[type=url]", s.url+"/mcp")
	p.button("section", "The entry for your client", "Cursor")
	p.awaitText("~/.cursor/mcp.json")
	p.awaitText("mcpbelt connect cursor")
	p.button("section", "Address of the gateway", "Make a key")
	p.awaitText("for Cursor")
	p.AwaitTrue("/Bearer mcpbelt_\\w+/.test(document.querySelector('pre').textContent)")
	keys := assert.Value(s.keys.List(t.Context()))(t)
	assert.Equal(t, keys[len(keys)-1].Label, "for Cursor", "the label of the key")
	p.accessible("an entry with a key")
	p.open("/connect?client=Zed")
	p.awaitText("context_servers")
	assert.False(t, p.has("document.body.textContent.includes('mcpbelt_')"), "the key is shown again")
}
