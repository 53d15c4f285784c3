package mcp

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var update = flag.Bool("update", false, "write the picture of the steps into the page")

// shownSteps are the steps in the picture, and what the program sees of them.
var shownSteps = [...]struct {
	name  string
	phase Phase
	holds bool // there is a connection
}{
	{"Idle", Idle, false}, {"Connecting", Connecting, false}, {"Ready", Ready, true}, {"Challenged", Authenticating, true},
	{"Waiting", Waiting, false}, {"LoggingIn", Authenticating, false}, {"Closed", Closed, false},
}

var shownEvents = [...]struct {
	text       string
	impossible []step // in which it is never looked for
}{
	onUse:      {"the first use, or Ready", []step{stepConnecting, stepReady, stepChallenged, stepWaiting, stepLoggingIn}},
	onOpened:   {"discover or initialize succeeds", []step{stepIdle, stepReady, stepChallenged, stepWaiting, stepLoggingIn}},
	onLost:     {"a sound one ends", []step{stepIdle, stepConnecting, stepWaiting, stepLoggingIn}},
	onRenewal:  {"Reconnect", []step{stepIdle, stepConnecting}}, // which is on its way
	onFailed:   {"it fails, or ends soon", []step{stepIdle, stepWaiting, stepLoggingIn}},
	onRefused:  {"it fails for want of a login", []step{stepIdle, stepWaiting, stepLoggingIn}},
	onLogin:    {"a request needs a login", []step{stepIdle, stepConnecting, stepWaiting, stepLoggingIn}},
	onLoggedIn: {"the user has logged in", []step{stepIdle, stepConnecting, stepReady, stepWaiting}},
	onTime:     {"RetryAt, or a call needs the server", []step{stepIdle, stepConnecting, stepReady, stepChallenged}},
	onClose:    {"Close, in any step", nil},
}

// Each event has a transition in each step, which the program sees by its phase, or is impossible
// there. The page about the client shows them.
func TestTransitions(t *testing.T) {
	lines := []string{"    [*] --> Idle"}
	for from, shown := range shownSteps {
		for e := onUse; e <= onClose; e++ {
			to, possible := transitions[step(from)][e]
			impossible := step(from) == stepClosed || slices.Contains(shownEvents[e].impossible, step(from))
			assert.True(t, possible != impossible, "%s, %s: got a transition %v, want impossible %v", shown.name, shownEvents[e].text, possible, impossible)
			if !possible {
				continue
			}
			s := &NewClient("s", newWriteLog(), nil).supervisor
			s.conn = newReceiving(newWriteLog(), nil)
			defer s.conn.close(nil)
			s.conn.info = &serverInfo{revision: Revision20260728}
			s.err, s.login, s.step = &needsLogin{}, &login{url: "u"}, step(from)
			if shown.holds && shownSteps[to].holds {
				s.current = s.conn // or endConnection has taken it away
			}
			s.enterLocked(e)
			want := shownSteps[to]
			assert.Equal(t, [...]any{s.state.Phase, s.current != nil, s.state.LoginURL != ""}, [...]any{want.phase, want.holds, want.phase == Authenticating}, "%s, %s", shown.name, shownEvents[e].text)
			if last := &lines[len(lines)-1]; strings.HasPrefix(*last, fmt.Sprintf("    %s --> %s: ", shown.name, want.name)) {
				*last += "; " + shownEvents[e].text
			} else if e != onClose || step(from) == stepLoggingIn {
				lines = append(lines, fmt.Sprintf("    %s --> %s: %s", shown.name, want.name, shownEvents[e].text))
			}
		}
	}
	const designPage = "../docs/design/client.md"
	page := string(assert.Value(os.ReadFile(designPage))(t))
	head, rest, _ := strings.Cut(page, "stateDiagram-v2\n")
	picture, tail, _ := strings.Cut(rest, "```")
	if want := strings.Join(lines, "\n") + "\n"; *update {
		assert.OK(t, os.WriteFile(designPage, []byte(head+"stateDiagram-v2\n"+want+"```"+tail), 0o644))
	} else {
		assert.Equal(t, picture, want, "run go test ./mcp -run Transitions -update")
	}
}

type needsLogin struct{}

func (needsLogin) Error() string { return "log in" }

func (needsLogin) LoginURL() string { return "u" }
