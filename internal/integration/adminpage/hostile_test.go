//go:build integration && unix

package adminpage

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/session"
)

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
		if p.has(expression) {
			p.Errorf("%s: got %s, want none", where, what)
		}
	}
}

// TestHostileTexts shows what a server says that would harm a page which trusts it.
func TestHostileTexts(t *testing.T) {
	server := hostileServer()
	s := open(t, remote("hostile", serveHTTP(t, server)), remote("mail", serveHTTP(t, mailServer())))
	long := strings.Repeat("<i>long</i> \u202E ", 1<<20/16)
	args := assert.Value(json.Marshal(map[string]string{"to": markup + turning, "text": long}))(t)
	if _, err := s.host.Registry().Call(session.WithUser(hosttest.Watchdog(t), markup+turning), "mail__send", args); err == nil {
		t.Fatal("call: got no error, want that it waits")
	}
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	for _, path := range []string{"/servers", "/servers/hostile", "/tools", "/tools/hostile__trap", "/tools/hostile__hidden", "/inbox", "/activity", "/health", "/logins"} {
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
