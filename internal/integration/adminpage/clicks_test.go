// Tests of how many clicks tasks take.

//go:build integration && unix

package adminpage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// mouse clicks with the mouse on what has a name, as a screen reader says it, in an element that has a text.
func (p *tab) mouse(has, name string) {
	p.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('a, button, summary, summary .hint, input, select, textarea')].filter((e) => [e.labels?.[0]?.textContent, e.getAttribute('aria-label'), e.textContent].some((t) => t?.trim().replace(/ \d+$/, '') === %q) && !e.closest('[hidden]') && e.checkVisibility()).find((e) => (e.closest('.need, [role=row], tr, form, section, dialog, nav, .menu') ?? document.body).innerText.includes(%q))`, name, has)
	p.AwaitTrue(find)
	assert.OK(p, p.Eval(find+".scrollIntoView({block: 'center', behavior: 'instant'})", nil))
	p.quiet() // else the end of the scrolling closes a menu that the click opens
	var at struct{ X, Y float64 }
	assert.OK(p, p.Eval(`(() => { const r = `+find+`.getBoundingClientRect(); return {x: r.x + Math.min(r.width / 2, 40), y: r.y + r.height / 2}; })()`, &at))
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1})
	}
}

// A step is a click on what has a name, in what has a text, and what is typed then.
type step struct{ has, name, typed string }

// TestClicks does what operators do, with the mouse and from the first view, in as few clicks as it took when that was counted first.
// Removing takes one more than then: it is in a menu, so that a second click does not hit the next server.
func TestClicks(t *testing.T) {
	s := openBusy(t)
	p := s.openOwner()
	command := local(t, "", "files").Command
	for _, c := range []struct {
		task  string
		steps []step
		most  int
		want  string // that the page shows then
	}{
		{"approve a call", []step{{"mail__send", "Approve", ""}}, 2, "mail__send: made"},
		{"accept a changed tool", []step{{"notes: 1 change", "Review", ""}, {"add at notes", "Accept", ""}}, 2, "notes: decided"},
		{"switch a server off", []step{{"weather", "Use weather", ""}}, 1, "off"},
		{"switch it on", []step{{"weather", "Use weather", ""}}, 1, "ready"},
		{"remove a server", []step{{"archive", "⋯More for archive", ""}, {"Remove", "Remove", ""}}, 2, "archive was removed."},
		{"find a server, and undo that", []step{{"", "Filter: Servers", "weather"}}, 1, "1 of"},
		{"add a server after a test", []step{{"", "Add a server", ""}, {"", "Name", "another"}, {"", "Command", command}, {"", "Variables", hosttest.ServerMode + "=files"}, {"", "Test", ""}, {"", "Add", ""}}, 6, "another"},
		{"paste an entry", []step{{"", "Add a server", ""}, {"", "Paste an entry", ""}, {"", "An entry of a config file of any program, as JSON", `{"mcpServers": {"pasted": {"url": "http://127.0.0.1:1/mcp"}}}`}, {"", "Fill in the form", ""}, {"", "Add", ""}}, 7, "pasted"},
		{"edit arguments", []step{{"files", "files", ""}, {"", "Edit", ""}, {"", "Arguments", "--verbose"}, {"", "Save", ""}}, 5, "files was changed."},
		{"run a tool", []step{{"", "Tools", ""}, {"files__list", "files__list", ""}, {"", "path (required)", "."}, {"", "Call", ""}}, 4, "README.md"},
		{"ask why a tool is not offered", []step{{"", "Tools", ""}, {"hostile__hidden", "hostile__hidden", ""}}, 2, "Why is it not offered?"},
		{"log in", []step{{"vault", "Log in", ""}, {"", "Continue", ""}, {"", "User", "ada"}, {"", "Allow", ""}}, 4, "Logged in at vault."},
	} {
		p.open("/servers")
		for _, step := range c.steps {
			p.mouse(step.has, step.name)
			if step.typed != "" {
				p.Type(step.typed)
			}
		}
		p.awaitText(c.want)
		assert.True(t, len(c.steps) <= c.most, "%s: %d clicks, at most %d", c.task, len(c.steps), c.most)
	}
	assert.True(t, strings.Contains(hosttest.Names(s.host), "files__list files__read"), "the tools of a server whose arguments were changed: %s", hosttest.Names(s.host))
}
