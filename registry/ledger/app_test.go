package ledger

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The app of a tool is accepted at first, held back when its page or what it declares has changed, and no tool of a list.
func TestApps(t *testing.T) {
	open, wide := json.RawMessage(`{"csp":{"connectDomains":[]}}`), json.RawMessage(`{"csp":{"connectDomains":["https://evil.example"]}}`)
	for _, c := range []struct {
		mode         Mode
		first, later ChangeKind // of what a page is held back for; empty: it is shown
	}{{Pin, "", ToolChanged}, {Review, ToolNew, ToolChanged}, {Trust, "", ""}} {
		l := New(&Options{Mode: c.mode})
		server := &Server{Name: "clock", Fingerprint: "node clock"}
		record := func(page string, declares json.RawMessage) *Change {
			t.Helper()
			return assert.Value(l.RecordApp(t.Context(), *server, NewAppSurface("show", "ui://clock", []byte(page), declares)))(t)
		}
		assert.True(t, record("<p>", open) != nil || c.mode == Trust, "%s: an app of a server that is not known is held back", c.mode)
		mustRecord(t, l, server, surfaceTool("show"))
		held := record("<p>", open)
		assert.Equal(t, kindOf(held), c.first, "%s: the first page", c.mode)
		if held != nil {
			assert.OK(t, l.Accept(t.Context(), "ada", *held))
		}
		assert.Equal(t, kindOf(record("<p>", open)), "", "%s: the page again", c.mode)
		assert.Equal(t, kindOf(record("<q>", open)), c.later, "%s: another page", c.mode)
		held = record("<p>", wide)
		assert.Equal(t, kindOf(held), c.later, "%s: more domains", c.mode)
		mustRecord(t, l, server, surfaceTool("show"))
		assert.Equal(t, len(l.Verify(*server, surfacesIn(surfaceTool("show"))...)) == 0, c.mode != Review, "%s: the list of tools is as it was", c.mode)
		if held == nil {
			continue
		}
		assert.Equal(t, fmt.Sprint(held.Tool, held.Fields), `show (app)[{/annotations/csp/connectDomains/0  "https://evil.example"}]`, "what has changed")
		assert.OK(t, l.Accept(t.Context(), "ada", l.Pending()...))
		assert.Equal(t, kindOf(record("<p>", wide)), "", "%s: after it was accepted", c.mode)
		server.Fingerprint = "node other"
		assert.Equal(t, kindOf(record("<p>", wide)), ServerChanged, "%s: of another server", c.mode)
	}
}
