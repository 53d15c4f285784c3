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
	rows := assert.Value(clients.Read())(t)
	return rows
}

// Each row is found by its name, comes from facts, and says what a gateway knows.
func TestRows(t *testing.T) {
	rows := read(t)
	for _, c := range rows {
		name := strings.ToUpper(strings.ReplaceAll(c.Name, "*", "x"))
		assert.Equal(t, rows.Find(name, "99999").Title, c.Title, "%s", name)
		assert.True(t, len(c.Facts) > 0, "%s: facts that the row comes from", c.Name)
		assert.True(t, c.Mode == "direct" || c.Mode == "search", "%s: the mode %s is one", c.Name, c.Mode)
	}
}

func TestFind(t *testing.T) {
	rows := read(t)
	for _, c := range []struct{ name, version, want string }{
		{"claude-code", "2.1.199", "claude-code 2.1.199"},
		{"Claude-Code", "2.2", "claude-code 2.1.199"},
		{"claude-code", "10.0.0-beta.1", "claude-code 2.1.199"},
		{"claude-code", "2.1.198", "claude-code "},
		{"claude-code", "2.1.99", "claude-code "},
		{"claude-code", "2.1", "claude-code "},
		{"claude-code", "", "claude-code "},
		{"claude-code", "x", "claude-code "},
		{"claude-code", strings.Repeat("9", 200), "claude-code 2.1.199"},
		{"claude-code-x", "3", " "},
		{"claude-ai", "0.1.0", "claude-ai* "},
		{"Anthropic/ClaudeAI", "1.0.0", "anthropic/claudeai* "},
		{"Claude-Cowork", "1", "claude-cowork* "},
		{"local-agent-mode-belt", "1", "local-agent-mode-* "},
		{"cursor-vscode", "1", "cursor* "},
		{"", "", " "},
		{"\xff\xfe", "\xff", " "},
		{"mcp-inspector", "2.12", " "},
	} {
		got := " "
		if row := rows.Find(c.name, c.version); row != nil {
			got = row.Name + " " + row.From
		}
		assert.Equal(t, got, c.want, "%q %q: the row", c.name, c.version)
	}
}

func ExampleRows_Find() {
	rows, err := clients.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	c := rows.Find("claude-ai", "0.1.0")
	fmt.Println(c.Title, c.Mode, c.AnswerWithinSeconds)
	// Output: Claude Desktop search 55
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
