package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// unreadableOptions are those of a host whose servers list tools that cannot be read.
func unreadableOptions(t *testing.T) *host.Options {
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	tools := []string{
		`{"name":"good","inputSchema":{"type":"object"}}`,
		`{"name":"deep","inputSchema":` + deep + `}`,
		`{"name":"twice","inputSchema":{"type":"object","type":"string"}}`,
		`{"name":"typed","description":7,"inputSchema":{"type":"object"}}`,
		`{"name":"denied","description":7,"inputSchema":{"type":"object"}}`,
		`7`,
	}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[` + strings.Join(tools, ",") + `]}`),
	})
	return patient(&host.Options{
		StateDir: host.NoState,
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: server.Serve}, nil
		},
	})
}

const unreadableEntry = `{"command": "x", "tools": {"deny": ["denied"]}}`

// wantUnreadable are the tools of unreadableOptions that are rejected, and the tokens.
var wantUnreadable = map[string]gate.Token{
	"deep": gate.TokenTooDeep, "twice": gate.TokenUnreadable, "typed": gate.TokenUnreadable, "tools[5]": gate.TokenUnreadable,
}

// A tool that cannot be read is rejected as one that the gate does not let in, and the
// others of its server are listed.
func TestUnreadableToolsAreRejected(t *testing.T) {
	h := open(t, write(t, "bad", unreadableEntry), unreadableOptions(t))
	until(t, h, "bad", "listed", func(s host.Status) bool { return s.Tools == 1 })
	got := map[string]gate.Token{}
	for _, r := range status(t, h, "bad").Rejected {
		var gate *gate.Error
		if !errors.As(r.Err, &gate) {
			t.Fatalf("%s: got %v, want a gate.Error", r.Name, r.Err)
		}
		got[r.Name] = gate.Findings[0].Token
	}
	for name, want := range wantUnreadable {
		assert.Equal(t, got[name], want, "%s: the token", name)
	}
	if len(got) != len(wantUnreadable) {
		t.Errorf("got the rejections %v, want those of %v", got, wantUnreadable)
	}
}

// The test of an entry shows them, too.
func TestUnreadableToolsAreReported(t *testing.T) {
	h := open(t, write(t), unreadableOptions(t))
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"bad": `+unreadableEntry+`}}`), nil))(t)
	report := assert.Value(doctor.Test(watchdog(t), h, c.Servers[0], nil))(t)
	rejected := 0
	for _, tool := range report.Tools {
		if tool.State != doctor.ToolRejected {
			continue
		}
		rejected++
		if len(tool.Findings) != 1 {
			t.Fatalf("%s: got the findings %v, want one", tool.Name, tool.Findings)
		}
		assert.Equal(t, tool.Findings[0].Token, wantUnreadable[tool.Name], "%s: the token", tool.Name)
	}
	assert.Equal(t, rejected, len(wantUnreadable), "tools rejected")
}
