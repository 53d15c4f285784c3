package transport_test

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A client whose probe and handshake an old server refuses in its way finds that
// server's transport; one that is refused by an error of revision 2026-07-28
// does not look for it.
func TestAutoClient(t *testing.T) {
	modernError := `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"unsupported version"}}`
	for name, c := range map[string]struct {
		status int
		body   string
		old    bool
	}{
		"400":              {400, "", true},
		"404":              {404, "Not found", true},
		"405":              {405, "", true},
		"400 modern error": {400, modernError, false},
		"404 modern error": {404, modernError, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := counted(shakingOld(c.status, c.body))
			client := mcp.NewClient("server", &transport.Auto{URL: listen(t, server)}, nil)
			defer func() { _ = client.Close() }()
			err := client.Ready(bounded(t))
			if !c.old {
				var refused *mcp.JSONRPCError
				if !errors.As(err, &refused) || refused.Code != -32022 {
					t.Errorf("got %v", err)
				}
				assert.Equal(t, server.gets.Load(), 0, "streams opened")
				return
			}
			assert.OK(t, err)
			if err := client.Ping(bounded(t)); err != nil {
				t.Error(err)
			}
			if n := server.gets.Load(); n != 1 || client.State().Connections != 1 {
				t.Errorf("%d streams, %d connections", n, client.State().Connections)
			}
		})
	}
}
