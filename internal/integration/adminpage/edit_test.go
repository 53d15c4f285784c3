//go:build integration && unix

package adminpage

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// TestEditKeepsSecrets changes a server whose secret the page knows masked alone.
func TestEditKeepsSecrets(t *testing.T) {
	s := open(t, local(t, "files", "files"))
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.open("/servers/files/edit")
	p.AwaitTrue("[...document.querySelectorAll('textarea')].some((area) => area.value.includes('API_TOKEN=sk-'))")
	if p.has("[...document.querySelectorAll('input, textarea')].some((field) => field.value.includes(" + quoted(hosttest.Secret) + "))") {
		t.Error("settings: got the secret in the page, want it masked")
	}
	const area = "[...document.querySelectorAll('textarea')].find((area) => area.value.includes('API_TOKEN=sk-'))"
	assert.OK(t, p.Eval("("+area+".focus(), "+area+".setSelectionRange(1e6, 1e6), 0)", nil))
	p.Type("\nMORE=1")
	p.button("form", "Variables", "Test")
	p.awaitText("It works: 2 tools")
	p.button("form", "Variables", "Save")
	p.awaitText("files was changed.")
	is := assert.Value(s.host.Inspect("files"))(t)
	for name, want := range map[string]string{"API_TOKEN": hosttest.Secret, "MORE": "1"} {
		assert.Equal(t, is.Entry.Env[name].Reveal(), want, "variable %s", name)
	}
}

// TestStagedTest tries a server that cannot be started: the page says how far it came, why no further, and what to do, and keeps
// nothing.
func TestStagedTest(t *testing.T) {
	s := open(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.open("/add")
	p.press("Test")
	p.awaitText("Name is missing.")
	p.Type("new") // the focus is where something is missing
	p.reach("Command")
	p.Type("no-such-command")
	p.reach("Arguments")
	p.Type("--port\n7")
	p.awaitText("no-such-command --port 7")
	p.press("Test")
	for _, text := range []string{"It does not work yet.", "failed here", "Cause:", "Cure:", "Nothing was kept."} {
		p.awaitText(text)
	}
	p.accessible("a test that fails")
	assert.Equal(t, s.names(), "", "servers")
}

// TestViewer opens the views as one who may look: what they may not see is not there.
func TestViewer(t *testing.T) {
	s := openBusy(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.viewer)
	for _, path := range views {
		p.open(path)
		if p.has("document.body.innerText.includes(" + quoted(hosttest.Secret) + ") || location.pathname === '/admin/launches' && document.body.innerText.includes('adminpage.test')") {
			t.Errorf("%s: got a secret or the command of a launch, want none for one who may look", path)
		}
		if p.has("[...document.querySelectorAll('main button.primary, main button.danger')].some((b) => b.getAttribute('aria-disabled') !== 'true')") {
			t.Errorf("%s: got a button that changes something, want it with the reason why not", path)
		}
	}
}
