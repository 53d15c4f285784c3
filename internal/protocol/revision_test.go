package protocol_test

import (
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const future = "2999-12-31"

// A revision that is a line of the table is spoken with servers, by the gateway with clients, and beside older ones.
func TestNewRevision(t *testing.T) {
	defer protocol.Add(protocol.Revision{Version: future, Stateless: true, StructuredContent: true})()
	for _, revision := range []string{future, mcp.Revision20260728, mcp.Revision20251125} {
		t.Run(revision, func(t *testing.T) {
			tools := mcptest.Script{
				"tools/list": mcptest.Result(`{"resultType":"complete","tools":[{"name":"run","inputSchema":{"type":"object"}}]}`),
				"tools/call": mcptest.Result(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`),
			}
			strict := mcptest.Script{}
			if found := mcptest.Handshake(revision, "")["server/discover"]; found != nil {
				strict["server/discover"] = func(c *mcptest.Call) {
					assert.Contains(t, string(c.Params), future, "discover asks with the newest revision")
					found(c)
				}
			}
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), tools, strict)
			refused := `{"requested":"` + future + `","supported":["2026-07-28"]}`
			picky := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, ""), tools, mcptest.Script{"server/discover": mcptest.Sequence(
				func(c *mcptest.Call) { c.ErrorData(sdk.CodeUnsupportedProtocolVersion, "another revision", refused) },
				mcptest.Handshake(mcp.Revision20260728, "")["server/discover"])})
			call(t, server, revision, "run")
			call(t, picky, mcp.Revision20260728, "run")

			o := &host.Options{StateDir: host.NoState, Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return server, nil }}
			gateway.Prepare(o)
			h := host.New(o)
			defer h.Close()
			assert.Value(h.Apply(t.Context(), &config.Config{Servers: []*config.Server{{Name: "s", URL: "test://s"}}}))(t)
			g := assert.Value(gateway.New(h, &gateway.Options{Anonymous: true}))(t)
			defer g.Close()
			web := httptest.NewServer(g)
			defer web.Close()
			hosttest.Until(t, h, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
			call(t, &transport.HTTP{URL: web.URL + "/mcp"}, future, "s__run")
		})
	}
}

// call calls a tool, and wants the connection to speak a revision.
func call(t *testing.T, to mcp.Transport, revision, tool string) {
	t.Helper()
	c := mcp.NewClient("c", to, nil)
	defer c.Close()
	res := assert.Value(c.CallTool(t.Context(), tool, nil, nil))(t)
	assert.Equal(t, res.Text(), "done", "answer")
	assert.Equal(t, c.State().ProtocolVersion, revision, "revision")
}
