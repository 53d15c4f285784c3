package clients_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/clients"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func read(t *testing.T) clients.Rows {
	t.Helper()
	return assert.Value(clients.Read())(t)
}

// Each row is found by its name, comes from facts, and says what a gateway knows.
func TestRows(t *testing.T) {
	rows := read(t)
	for _, c := range rows {
		name := strings.ToUpper(strings.ReplaceAll(c.Name, "*", "x"))
		assert.Equal(t, rows.Find(name).Title, c.Title, "%s", name)
		assert.True(t, len(c.Facts) > 0, "%s: facts that the row comes from", c.Name)
		assert.True(t, c.Mode == "direct" || c.Mode == "search", "%s: the mode %s is one", c.Name, c.Mode)
	}
}

func TestFind(t *testing.T) {
	rows := read(t)
	for name, want := range map[string]string{
		"claude-code": "claude-code", "Claude-Code": "claude-code", "claude-code-x": "", "claude-ai": "claude-ai*",
		"Anthropic/ClaudeAI": "anthropic/claudeai*", "Claude-Cowork": "claude-cowork*", "local-agent-mode-belt": "local-agent-mode-*",
		"cursor-vscode": "cursor*", "": "", "\xff\xfe": "", "mcp-inspector": "",
	} {
		assert.Equal(t, rows.Find(name).Name, want, "%q: the row", name)
	}
}

func ExampleRows_Find() {
	rows, err := clients.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	c := rows.Find("claude-ai")
	fmt.Println(c.Title, c.Mode, c.AnswerWithinSeconds)
	// Output: Claude Desktop search 55
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
