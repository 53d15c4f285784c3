//go:build integration && unix

package adminpage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	"github.com/mcpbelt/mcpbelt/storage"
)

// card is an expression that is true if the card of a server on the board has a text.
func card(server, text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.card')].some((c) => c.querySelector('h2')?.textContent === %q && c.innerText.includes(%q))", server, text)
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
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.settled("/servers")
	p.AwaitTrue(card("files", "ready"))
	assert.OK(t, p.Eval("window.same = document.querySelector('.card')", nil))
	assert.OK(t, os.Remove(link))
	health, err := doctor.HealthOf(s.host, "files")
	if err != nil || health.Process == nil {
		t.Fatalf("health: got %+v, %v, want a process", health, err)
	}
	hosttest.Kill(t, health.Process.PID)
	p.AwaitTrue(card("files", "Cause: cannot start"))
	p.accessible("a board with a failure")
	assert.OK(t, os.Symlink(program, link))
	p.AwaitTrue(card("files", "ready"))
	if !p.has("document.querySelector('.card') === window.same") {
		t.Error("card: got another element, want the same, which may have the focus")
	}
}

// TestProgramRestarts ends what listens while a board is open: first the page finds the same program again and gets what it
// has missed, then another one, which does not know its session.
func TestProgramRestarts(t *testing.T) {
	s := open(t, remote("weather", serveHTTP(t, weatherServer())))
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.settled("/servers")
	p.AwaitTrue(card("weather", "ready"))
	s.listenAgain(s.page, func() {
		p.AwaitTrue("document.querySelector('.state').dataset.state === 'lost'")
		assert.Value(s.manager.Update(hosttest.Watchdog(t), "weather", &record.Patch{Disabled: record.Some(true)}))(t)
	})
	p.AwaitTrue("document.querySelector('.state').dataset.state === 'live'")
	p.AwaitTrue(card("weather", "disabled"))

	another := assert.Value(page.New(s.api))(t)
	s.listenAgain(another, func() {})
	p.awaitText("Your session has ended.")
	p.Fill("#credential", s.owner)
	p.Press("Enter")
	p.AwaitTrue(card("weather", "disabled"))
}

// listenAgain ends what listens, and has a page listen at the same address after what is done meanwhile.
func (s *site) listenAgain(with *page.Page, meanwhile func()) {
	s.Helper()
	s.web.CloseClientConnections()
	s.web.Close()
	meanwhile()
	s.page = with
	at, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
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
		t.Cleanup(func() {
			if err := m.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("Close: got %v, want no error", err)
			}
		})
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
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	p.open("/inbox")
	p.awaitText("No call waits for approval.")
	if _, err := elsewhere.Call(t.Context(), "send", nil); !errors.As(err, new(*registry.ApprovalRequiredError)) {
		t.Fatalf("call: got %v, want that it waits", err)
	}
	p.awaitText("on the replica " + there.ID())
	p.button(".card", "send", "Approve")
	p.awaitText("send: made.")
	p.awaitText("No call waits for approval.")
	assert.Equal(t, sent, 1, "calls")
}
