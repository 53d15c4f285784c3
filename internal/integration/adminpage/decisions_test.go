// Tests of what users do on the page: sign in, decide, and see what happens meanwhile, by keyboard too.

//go:build integration && unix

package adminpage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
)

// TestStaleAccept accepts a tool that has changed since it was looked at: that is refused, and it is shown as it is now.
func TestStaleAccept(t *testing.T) {
	notes := notesServer()
	s := open(t, remote("notes", serveHTTP(t, notes)))
	s.notes = notes
	s.changeNotes("The first change.")
	p := s.openOwner()
	p.open("/changes")
	p.awaitText("The first change.")
	s.changeNotes("The second change.")
	p.awaitText("This has changed since you began to look at it.")
	assert.False(t, p.has("document.body.innerText.includes('The second change.')"), "the second change is shown under the eyes of the reader")
	p.button(".card", "add at", "Accept")
	p.awaitText("nothing was decided")
	p.awaitText("The second change.")
	assert.Equal(t, len(s.host.Registry().Ledger().Pending()), 1, "changes")
	p.button(".card", "add at", "Accept")
	p.awaitText("Nothing waits to be accepted.")
	assert.Equal(t, hosttest.Names(s.host), "notes__add", "tools")
}

// TestDecisions approves a call, makes and revokes a key, begins a login, and finds all of that in the
// activity.
func TestDecisions(t *testing.T) {
	s := openBusy(t)
	p := s.openOwner()

	p.open("/inbox")
	p.awaitText("\"n\": 12345678901234567890") // a number that JavaScript does not have
	p.awaitText("<b>12345678901234567890</b>")
	p.button(".card", "mail__send", "Approve")
	p.awaitText("No call waits for approval.")
	p.awaitText("mail__send: made.")

	p.open("/keys")
	p.button(".heading", "API keys", "New key")
	p.Fill("dialog input", "for tests")
	p.button("dialog", "New key", "Make the key")
	p.Await("dialog input[readonly]")
	var secret string
	assert.OK(t, p.Eval("document.querySelector('dialog input[readonly]').value", &secret))
	assert.Contains(t, secret, "mcpbelt_")
	p.button("dialog", "The key for tests", "I have it")
	p.awaitText("for tests")
	assert.False(t, p.has("document.documentElement.outerHTML.includes("+quoted(secret)+")"), "the secret is in the page after the dialog")
	p.button("tr", "for tests", "Change")
	p.Fill("dialog input", " and more")
	p.button("dialog", "Change a key", "Save")
	p.awaitText("for tests and more")
	p.button("tr", "for tests", "Revoke")
	p.button("dialog", "Revoke this key?", "Revoke")
	p.awaitText("was revoked.")

	p.open("/logins")
	p.button("li", "vault", "Log in")
	// The user gives the page the address at which their browser ended.
	var address string
	p.Await("dialog a.primary")
	assert.OK(t, p.Eval("document.querySelector('dialog a.primary').href", &address))
	p.Fill("dialog input", assert.Value(s.as.ApproveAs(t.Context(), "ada", address))(t))
	p.button("dialog", "Log in at vault", "Done")
	p.awaitText("Logged in at vault.")
	p.button("tr", "vault", "Log out")
	p.button("dialog", "Log out at vault?", "Log out")
	p.awaitText("Logged out at vault.")
	// The browser comes back to the page, which completes the login and forgets the code.
	p.button("tr", "vault", "Log in")
	p.Await("dialog a.primary")
	assert.OK(t, p.Eval("document.querySelector('dialog a.primary').href", &address))
	_, query, _ := strings.Cut(assert.Value(s.as.ApproveAs(t.Context(), "ada", address))(t), "?")
	p.open("/logins?at=/admin/logins&" + query)
	p.awaitText("Logged in at vault.")
	p.AwaitTrue("location.search === ''")

	p.open("/activity?kind=call&tool=send")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('mail')")
	p.open("/activity?server=weather&outcome=ok")
	p.AwaitTrue("document.querySelectorAll('tbody tr').length >= 5")
	assert.False(t, p.has("[...document.querySelectorAll('tbody tr')].some((row) => !row.innerText.includes('weather'))"), "the activity has events of other servers")
	// What is exported is what is shown.
	assert.OK(t, p.Eval("(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return make(blob); }; return 0 })()", nil))
	p.do("Browser.setDownloadBehavior", map[string]any{"behavior": "deny"})
	p.button(".heading", "Activity", "Export JSON lines")
	p.button(".heading", "Activity", "Export CSV")
	p.AwaitTrue("saved.length === 2")
	assert.True(t, p.has("saved.every((text) => text.includes('forecast')) && saved.some((text) => text.startsWith('time,kind,')) && saved.some((text) => text.trim().split('\\n').every((line) => JSON.parse(line).server === 'weather'))"), "the events are exported as JSON and CSV")
}

func quoted(text string) string { return strconv.Quote(text) }

// TestSignIn signs in by a link, which is good once, and by a key, out, and out by revoking the key.
func TestSignIn(t *testing.T) {
	s := open(t)
	b := chromium.Start(t)
	p := s.tab(b)
	link := s.url + s.page.Link(s.owner)
	p.Visit(link)
	p.Await("nav")
	assert.True(t, p.has("location.hash === '' && document.cookie === '' && !JSON.stringify([localStorage, sessionStorage]).includes("+quoted(s.owner)+")"), "no secret is where scripts read it")
	p.open("/keys") // a new document, and the same session
	p.Await("nav")

	other := s.tab(b)
	other.Visit(link)
	other.awaitText("link has been used before")
	other.accessible("sign in")
	other.Fill("#credential", "mcpbelt_wrong")
	other.Press("Enter")
	other.awaitText("credential is not valid")
	other.do("Runtime.evaluate", map[string]any{"expression": "document.querySelector('#credential').value = ''"})
	other.Fill("#credential", s.viewer)
	other.Press("Enter")
	other.Await("nav")
	other.open("/keys")
	assert.True(t, other.has("[...document.querySelectorAll('main button')].every((b) => b.getAttribute('aria-disabled') === 'true' && b.textContent.includes('this takes the role'))"), "all buttons have the reason why not")

	keys := assert.Value(s.keys.List(t.Context()))(t)
	for _, k := range keys {
		if k.Label == "reader" {
			assert.OK(t, s.keys.Revoke(t.Context(), k.ID))
		}
	}
	other.Click("nav a[href='/admin/keys']")
	other.awaitText("Your session has ended.")
	p.open("/tools") // that of the other key goes on
	p.Await("nav")
	p.button("header", "", "Sign out")
	p.Await("#credential")
	p.Visit(s.url + "/admin/keys")
	p.Await("#credential")
}

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
		assert.OK(p, p.Eval(at, &got))
		if got == name {
			assert.True(p, p.has("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), "%s: a ring is around what has the focus", name)
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
	assert.OK(s, err)
	var names []string
	for _, server := range all {
		names = append(names, server.Record.Name)
	}
	return strings.Join(names, " ")
}

// TestKeyboard adds a server, switches it off and removes it, takes that back and accepts a change, by keyboard alone.
func TestKeyboard(t *testing.T) {
	notes := notesServer()
	s, p := openPage(t, remote("notes", serveHTTP(t, notes)))
	s.notes = notes
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
	p.awaitText("It works: 1 tool in")
	p.awaitText("Nothing was kept.")
	assert.Equal(t, s.names(), "notes", "servers after the test")
	p.press("Add")
	p.AwaitTitle("weather · mcpbelt")
	p.press("Disable")
	p.awaitText("Enable")
	p.press("Enable")
	p.awaitText("Disable")
	p.press("⋯More for weather")
	p.Press("ArrowDown") // the menu has the focus: its second entry removes
	p.Press("Enter")
	p.awaitText("weather was removed.")
	assert.Equal(t, s.names(), "notes", "servers after it was removed")
	p.AwaitTrue("document.activeElement.textContent === 'Undo'") // at the place, with the focus
	p.Press("Enter")
	p.AwaitTrue("!document.body.innerText.includes('There is no such server')")
	p.press("Servers")
	p.awaitText("weather")
	assert.Equal(t, s.names(), "notes weather", "servers after that was undone")
	s.changeNotes("Adds a note, to all notes.")
	p.press("Changes1 waiting") // its name and its badge
	p.awaitText("to all notes")
	p.press("Accept")
	p.awaitText("Nothing waits to be accepted.")
	assert.Equal(t, len(s.host.Registry().Ledger().Pending()), 0, "changes")
}

// harmless fails if a text of a server became more than a text.
func (p *tab) harmless(where string) {
	p.Helper()
	for what, expression := range map[string]string{
		"a script that ran":            "window.hurt",
		"an element of a text":         "document.querySelector('#hurt, main img, main script, main iframe, main style')",
		"a mark that turns the text":   `/[\u202a-\u202e\u2066-\u2069\u0007]/.test(document.body.textContent)`,
		"a listener in the markup":     "[...document.querySelectorAll('*')].some((e) => [...e.attributes].some((a) => a.name.startsWith('on') || a.name === 'style' && e.closest('main .card')))",
		"more text than fits a page":   "document.body.textContent.length > 200000",
		"a page wider than the screen": "document.scrollingElement.scrollWidth > document.documentElement.clientWidth",
	} {
		assert.False(p, p.has(expression), "%s: %s", where, what)
	}
}

// TestHostileTexts shows what a server says that would harm a page which trusts it.
func TestHostileTexts(t *testing.T) {
	server := hostileServer()
	s := open(t, remote("hostile", serveHTTP(t, server)), remote("mail", serveHTTP(t, mailServer())))
	args := assert.Value(json.Marshal(map[string]string{"to": markup + turning, "text": strings.Repeat("<i>long</i> \u202E ", 1<<20/16)}))(t)
	assert.Fails(t, assert.Err(s.host.Registry().Call(session.WithUser(hosttest.Watchdog(t), markup+turning), "mail__send", args)), "call")
	p := s.openOwner()
	for _, path := range []string{"/servers", "/servers/hostile", "/tools", "/tools/hostile__trap", "/tools/hostile__hidden", "/inbox", "/activity", "/logins"} {
		p.open(path)
		p.harmless(path)
	}
	p.open("/inbox")
	p.awaitText("<img src=x onerror=")
	p.awaitText("U+202E")
	p.awaitText("show more")
	p.do("Runtime.evaluate", map[string]any{"expression": "[...document.querySelectorAll('pre button')].at(-1).click()"})
	p.harmless("more of a long text")

	p.open("/tools/hostile__trap")
	p.awaitText("<script>window.hurt=1</script>")
	p.button(".card", "Try it", "Call")
	p.AwaitTrue("document.querySelectorAll('main pre').length > 0")
	p.awaitText("U+2066")
	p.harmless("the result of a call")

	addTool(server, "trap", "Now "+markup, pathSchema, markup)
	hosttest.Eventually(t, "the change is known", func() bool { return len(s.host.Registry().Ledger().Pending("hostile")) > 0 })
	p.open("/changes")
	p.awaitText("<img src=x onerror=")
	p.harmless("/changes")
	p.open("/tools/" + "no%3Cscript%3Ewindow.hurt=1%3C%2Fscript%3E")
	p.harmless("a name in the address")
}

// row is an expression that is true if the row of a server in the list of all has a text.
func row(server, text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.window [role=row]')].some((r) => r.querySelector('a')?.textContent === %q && r.innerText.includes(%q))", server, text)
}

// TestLiveBoard has a server die for good while the board is open.
func TestLiveBoard(t *testing.T) {
	program := assert.Value(os.Executable())(t)
	link := filepath.Join(t.TempDir(), "server")
	assert.OK(t, os.Symlink(program, link))
	files := local(t, "files", "files")
	files.Command = link
	s := open(t, files)
	hosttest.Until(t, s.host, "files", "ready", func(st host.Status) bool { return st.Stage == host.StageReady })
	p := s.openOwner()
	p.settled("/servers")
	p.AwaitTrue(row("files", "ready"))
	assert.OK(t, p.Eval("window.same = document.querySelector('.window [role=row]')", nil))
	assert.OK(t, os.Remove(link))
	health, err := doctor.HealthOf(s.host, "files")
	assert.OK(t, err)
	hosttest.Kill(t, health.PID)
	p.AwaitTrue(row("files", "cannot start"))
	p.accessible("a board with a failure")
	assert.OK(t, os.Symlink(program, link))
	p.AwaitTrue(row("files", "ready"))
	assert.True(t, p.has("document.querySelector('.window [role=row]') === window.same"), "the row, which may have the focus, is the same")
}

// TestOtherPort has the browser of a session visit another program of the same host: it gets the cookie, and can do
// nothing with it. A tab that has the cookie alone signs in.
func TestOtherPort(t *testing.T) {
	s, p := openPage(t)
	stolen := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen <- r.Header.Get("Cookie")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<link rel="icon" href="data:,">`) // a browser asks for no other one later
	}))
	defer thief.Close()
	p.Visit(thief.URL)
	cookie := <-stolen
	assert.Contains(t, cookie, "mcpbelt_admin", "what the other port gets")
	p.AwaitTrue("location.origin === " + quoted(thief.URL))
	assert.True(t, p.has("sessionStorage.length === 0"), "the page of the other port has nothing of the tab's session")
	for _, path := range []string{"me", "events", "keys"} {
		r := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/"+path, nil))(t)
		r.Header.Set("Cookie", cookie)
		res := assert.Value(s.web.Client().Do(r))(t)
		assert.OK(t, res.Body.Close())
		assert.Equal(t, res.StatusCode, http.StatusUnauthorized, "%s with the cookie", path)
	}
	p.mu.Lock()
	p.problems = nil // it was elsewhere
	p.mu.Unlock()
	p.open("/keys") // the session goes on
	assert.OK(t, p.Eval("sessionStorage.removeItem('tab')", nil))
	p.Visit(s.url + "/admin/keys")
	p.Await("#credential")
	assert.True(t, p.has("document.cookie === ''"), "no script reads the cookie")
}

// TestProgramRestarts ends what listens while a board is open: first the page finds the same program again and gets what it
// has missed, then another one, which does not know its session.
func TestProgramRestarts(t *testing.T) {
	s, p := openPage(t, remote("weather", serveHTTP(t, weatherServer())))
	p.settled("/servers")
	p.AwaitTrue(row("weather", "ready"))
	s.listenAgain(s.page, func() {
		p.AwaitTrue("document.querySelector('.state').dataset.state === 'lost'")
		assert.Value(s.manager.Update(hosttest.Watchdog(t), "weather", record.Switch(false)))(t)
	})
	p.AwaitTrue("document.querySelector('.state').dataset.state === 'live'")
	p.AwaitTrue(row("weather", "off"))

	another := assert.Value(page.New(s.api))(t)
	s.listenAgain(another, func() {})
	p.awaitText("Your session has ended.")
	p.Fill("#credential", s.owner)
	p.Press("Enter")
	p.AwaitTrue(row("weather", "off"))
}

// TestStreamOpensLate has something happen after the page has asked for what there is, and before its stream of events is open.
func TestStreamOpensLate(t *testing.T) {
	s := open(t, remote("weather", serveHTTP(t, weatherServer())))
	release := make(chan struct{})
	slow := assert.Value(page.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			<-release
		}
		s.api.ServeHTTP(w, r)
	})))(t)
	s.listenAgain(slow, func() {})
	p := s.openOwner()
	p.AwaitTrue(row("weather", "ready"))
	assert.Value(s.manager.Update(hosttest.Watchdog(t), "weather", record.Switch(false)))(t)
	close(release)
	p.AwaitTrue(row("weather", "off"))
}

// listenAgain ends what listens, and has a page listen at the same address after what is done meanwhile.
func (s *site) listenAgain(with *page.Page, meanwhile func()) {
	s.Helper()
	s.web.CloseClientConnections()
	s.web.Close()
	meanwhile()
	s.page = with
	at, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	assert.OK(s, err)
	s.web = httptest.NewUnstartedServer(with)
	s.web.Listener.Close()
	s.web.Listener = at
	s.web.Start()
}

// TestInboxOfReplicas has a call wait on another replica while the inbox is open, and approves it there.
func TestInboxOfReplicas(t *testing.T) {
	store := storage.NewMemory()
	join := func() *replica.Member {
		m := assert.Value(replica.Join(t.Context(), store, nil))(t)
		t.Cleanup(func() { assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil, "Close") })
		return m
	}
	here, there := join(), join()
	s := openReplica(t, here)
	assert.OK(t, here.Attach(s.host.Registry()))
	elsewhere := registry.New(&registry.Options{Approver: registry.ApproverFunc(askForMail), Approvals: approval.Options{Replica: there.ID()}})
	sent := 0
	assert.OK(t, elsewhere.Add(registry.MustFunc("send", "Sends a letter.", func(context.Context, struct{}) (string, error) {
		sent++
		return "sent", nil
	})))
	assert.OK(t, there.Attach(elsewhere))
	p := s.openOwner()
	p.open("/inbox")
	p.awaitText("No call waits for approval.")
	assert.As[*registry.ApprovalRequiredError](t, assert.Err(elsewhere.Call(t.Context(), "send", nil)), "call: it waits")
	p.awaitText("on the replica " + there.ID())
	p.button(".card", "send", "Approve")
	p.awaitText("send: made.")
	p.awaitText("No call waits for approval.")
	assert.Equal(t, sent, 1, "calls")
}
