//go:build integration && unix

package adminpage

import (
	"strconv"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

func quoted(text string) string { return strconv.Quote(text) }

// TestSignIn signs in by a link, which is good once, and by a key, out, and out by revoking the key.
func TestSignIn(t *testing.T) {
	s := open(t)
	b := chromium.Start(t)
	p := s.tab(b)
	link := s.url + s.page.Link(s.owner)
	p.Visit(link)
	p.Await("nav")
	if !p.has("location.hash === '' && document.cookie === '' && !JSON.stringify([localStorage, sessionStorage]).includes(" + quoted(s.owner) + ")") {
		t.Error("signed in: got a secret where scripts read it, want none")
	}
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
	if !other.has("[...document.querySelectorAll('main button')].every((b) => b.getAttribute('aria-disabled') === 'true' && b.textContent.includes('this takes the role'))") {
		t.Error("buttons for one who may look: got one that can be used, want all with the reason why not")
	}

	keys := assert.Value(s.keys.List(t.Context()))(t)
	for _, k := range keys {
		if k.Label == "reader" {
			assert.OK(t, s.keys.Revoke(t.Context(), k.ID))
		}
	}
	other.Click("nav a[href='/admin/health']")
	other.awaitText("Your session has ended.")
	p.open("/health") // that of the other key goes on
	p.Await("nav")
	p.button("header", "", "Sign out")
	p.Await("#credential")
	p.Visit(s.url + "/admin/keys")
	p.Await("#credential")
}
