package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// spell is what a hostile server says: it moves the cursor, covers a line, turns the
// direction of writing, and hides characters.
const spell = "no\x1b[2J\x1b]0;title\x07 safe\revil \u202egnp.exe\u202c ze\u200bro \u3164fill\u00ad \u009b31m \U000e0041"

// deceives returns the first character of a text that a terminal would obey, or that
// nobody sees; 0 if there is none.
func deceives(text string) rune {
	for _, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || r == 0x3164) {
			return r
		}
	}
	return 0
}

func spelled(t *testing.T) string {
	t.Helper()
	quoted := assert.Value(json.Marshal(spell))(t)
	return string(quoted)
}

// What a server writes into its errors and answers is made visible in the texts of errors.
func TestErrorTextsShowWhatIsHidden(t *testing.T) {
	quoted := spelled(t)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		script := mcptest.Script{
			"tools/call":   mcptest.Error(-32000, spell),
			"prompts/get":  mcptest.Result(`{"resultType":"complete","messages":[{"role":` + quoted + `}]}`),
			"prompts/list": mcptest.Result(`{"resultType":` + quoted + `,"prompts":[],` + quoted + `:1}`),
		}
		server := mcptest.NewServer(t, mcptest.Handshake(revision, `{"tools":{},"prompts":{}}`), script)
		c := newClient(t, p.to(server), nil)
		_, called := call(t, c, "x")
		_, got := c.GetPrompt(t.Context(), "x", nil, nil)
		var listed error
		for _, err := range c.Prompts(t.Context()) {
			listed = err
		}
		for what, err := range map[string]error{"tools/call": called, "prompts/get": got, "prompts/list": listed} {
			if what == "tools/call" && err == nil {
				t.Errorf("%s: got no error", what)
			}
			if err == nil {
				continue
			}
			assert.Equal(t, deceives(err.Error()), 0, "%s: got %q with in it", what, err)
		}
	})
}

func TestStateErrorShowsWhatIsHidden(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Error(-32000, spell), "server/discover": mcptest.Error(-32000, spell)})
	c := newClient(t, server, nil)
	err := c.Ready(t.Context())
	assert.Fails(t, err)
	assert.Equal(t, deceives(err.Error()), 0, "Ready: got %q with in it", err)
	state := c.State().Err
	assert.Contains(t, fmt.Sprint(state), "evil", "State")
	assert.Equal(t, deceives(state.Error()), 0, "State: got %q with in it", state)
}

func TestServerErrorIsOneShortLine(t *testing.T) {
	err := &mcp.ServerError{Server: "x", Method: "tools/call", Err: &mcp.JSONRPCError{Code: 1, Message: strings.Repeat("a\nb", 1000)}}
	got := err.Error()
	assert.Lacks(t, got, "\n")
	if len(got) > 1000 {
		t.Errorf("got %d bytes, want a short text", len(got))
	}
}
