package mcp_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// The errors by which a server shows that it speaks revision 2026-07-28.
const (
	headerMismatch     = -32020
	missingCapability  = -32021
	unsupportedVersion = -32022
)

// A server that answers the probe with an error of revision 2026-07-28 is no old
// one: it is not initialized, and its error is told.
func TestProbeAnsweredByModernError(t *testing.T) {
	for _, code := range []int64{headerMismatch, missingCapability, unsupportedVersion} {
		everyPlane(t, func(t *testing.T, p plane) {
			synctest.Test(t, func(t *testing.T) {
				discover := mcptest.Handshake(mcp.Revision20260728, "")["server/discover"]
				server := legacy(t, mcptest.Script{
					"server/discover": mcptest.Sequence(mcptest.Error(code, "not like this"), discover),
				})
				c := newClient(t, p.to(server), nil)
				wantRefusal(t, c.Ready(t.Context()), code)
				wantCount(t, server, "initialize", 0)

				ready(t, c) // the next attempt asks again
				assert.Equal(t, c.State().ProtocolVersion, mcp.Revision20260728, "protocol version")
				wantCount(t, server, "initialize", 0)
			})
		})
	}
}

// wantRefusal fails the test unless a handshake ended with the server's error.
func wantRefusal(t *testing.T, err error, code int64) {
	t.Helper()
	refused := assert.As[*mcp.JSONRPCError](t, err)
	assert.Equal(t, refused.Code, code, "code")
	wantOutcome(t, err, mcp.NotSent)
}

// refusing refuses a request because of its version, and lists those that the
// server supports, as JSON.
func refusing(supported string) func(*visit) {
	return func(v *visit) {
		v.reply(http.StatusBadRequest, fmt.Sprintf(
			`"error":{"code":%d,"message":"unsupported version","data":{"supported":%s,"requested":"2026-07-28"}}`, unsupportedVersion, supported))
	}
}

// A server that refuses the version of the probe says which it supports. The
// client tries again with one of them, if it knows one.
func TestProbeRefusedForItsVersion(t *testing.T) {
	for supported, want := range map[string]string{
		`["2025-11-25","2025-06-18"]`: mcp.Revision20251125,
		`["2099-01-01","2025-11-25"]`: mcp.Revision20251125,
		`["2099-01-01"]`:              "",
		`[]`:                          "",
		`"2025-11-25"`:                "",
	} {
		t.Run(supported, func(t *testing.T) {
			s := newSite(t, mcp.Revision20251125, map[string]func(*visit){"server/discover": refusing(supported)})
			c := newClient(t, &s.HTTP, nil)
			err := c.Ready(t.Context())
			if want == "" {
				wantRefusal(t, err, unsupportedVersion)
				if n := len(s.of("initialize")); n > 0 {
					t.Errorf("initialized %d times", n)
				}
				return
			}
			assert.OK(t, err)
			assert.Equal(t, c.State().ProtocolVersion, want)
		})
	}
	// It supports the version of the probe, but does not say so the first time.
	for name, want := range map[string]string{"answered then": mcp.Revision20260728, "unknown then": mcp.Revision20251125} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, mcp.Revision20251125, nil)
			s.script["server/discover"] = func(v *visit) {
				switch {
				case len(s.of("server/discover")) == 1:
					refusing(`["2026-07-28"]`)(v)
				case want == mcp.Revision20260728:
					result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)(v)
				default:
					v.reply(http.StatusNotFound, `"error":{"code":-32601,"message":"unknown method"}`)
				}
			}
			c := newClient(t, &s.HTTP, nil)
			ready(t, c)
			got := c.State()
			assert.Equal(t, [...]any{got.ProtocolVersion, got.Connections, len(s.of("server/discover"))}, [...]any{want, 1, 2})
		})
	}
}

// An HTTP server is taken for an old one when it refuses the probe, but not if
// the body holds an error of revision 2026-07-28.
func TestProbeOverHTTP(t *testing.T) {
	rpc := func(status int, code int64) func(*visit) {
		return func(v *visit) { v.reply(status, fmt.Sprintf(`"error":{"code":%d,"message":"m"}`, code)) }
	}
	page := func(status int, body string) func(*visit) {
		return func(v *visit) {
			v.ResponseWriter.Header().Set("Content-Type", "text/html")
			v.WriteHeader(status)
			_, _ = fmt.Fprint(v, body)
		}
	}
	for name, test := range map[string]struct {
		refuse func(*visit)
		modern int64 // code of the error that is told; 0: the server is initialized
	}{
		"400 empty":         {page(400, ""), 0},
		"400 page":          {page(400, "<html>"), 0},
		"400 -32000":        {rpc(400, -32000), 0},
		"400 -32600":        {rpc(400, -32600), 0},
		"400 -32020":        {rpc(400, headerMismatch), headerMismatch},
		"400 -32021":        {rpc(400, missingCapability), missingCapability},
		"400 -32022":        {rpc(400, unsupportedVersion), unsupportedVersion},
		"200 -32601":        {rpc(200, -32601), 0},
		"404 page":          {page(404, "<html>"), 0},
		"404 -32601":        {rpc(404, -32601), 0},
		"405":               {page(405, ""), 0},
		"200 page":          {page(200, "<html>"), 0},
		"200 broken JSON":   {func(v *visit) { v.reply(200, `"result":{`) }, 0},
		"stream without it": {func(v *visit) { v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, mcp.Revision20251125, map[string]func(*visit){"server/discover": test.refuse})
			c := newClient(t, &s.HTTP, nil)
			err := c.Ready(t.Context())
			if test.modern != 0 {
				wantRefusal(t, err, test.modern)
				if n := len(s.of("initialize")); n > 0 {
					t.Errorf("initialized %d times", n)
				}
				return
			}
			assert.OK(t, err)
			got := c.State()
			assert.Equal(t, [...]any{got.ProtocolVersion, got.Connections}, [...]any{mcp.Revision20251125, 1})
			assert.Equal(t, len(s.of("server/discover")), 1, "probed times")
		})
	}
}
