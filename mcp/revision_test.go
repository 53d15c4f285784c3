package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An address is a URL behind which another server can be put.
type address struct {
	transport.HTTP
	server atomic.Pointer[site]
}

func newAddress(t *testing.T, first *site) *address {
	t.Helper()
	a := &address{}
	a.server.Store(first)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.server.Load().ServeHTTP(w, r) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	a.URL = server.URL
	return a
}

// textResult is a result of tools/call as JSON.
func textResult(text string) string {
	return `{"content":[{"type":"text","text":"` + text + `"}],"resultType":"complete"}`
}

// newOldSite returns a site of the older revisions that has sessions, and refuses
// whatever does not belong to one.
func newOldSite(t *testing.T, refuse func(*visit)) *site {
	t.Helper()
	inSession := func(act func(*visit)) func(*visit) {
		return func(v *visit) {
			if v.Header.Get("Mcp-Session-Id") != "s" {
				refuse(v)
				return
			}
			act(v)
		}
	}
	shake := result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
	return newSite(t, mcp.Revision20251125, map[string]func(*visit){
		"initialize": func(v *visit) {
			v.ResponseWriter.Header().Set("Mcp-Session-Id", "s")
			shake(v)
		},
		"server/discover": refuse,
		"tools/list":      inSession(result(`{"tools":[]}`)),
		"tools/call":      inSession(result(textResult("old"))),
		"ping":            inSession(result(`{}`)),
	})
}

// newNewSite returns a site of revision 2026-07-28 that refuses what belongs to
// another one.
func newNewSite(t *testing.T, refuse func(*visit)) *site {
	t.Helper()
	ofRevision := func(act func(*visit)) func(*visit) {
		return func(v *visit) {
			if v.Header.Get("Mcp-Protocol-Version") != mcp.Revision20260728 {
				refuse(v)
				return
			}
			act(v)
		}
	}
	return newSite(t, mcp.Revision20260728, map[string]func(*visit){
		"server/discover": ofRevision(result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)),
		"initialize":      refuse,
		"ping":            refuse,
		"tools/list":      ofRevision(result(`{"tools":[],"resultType":"complete"}`)),
		"tools/call":      ofRevision(result(textResult("new"))),
	})
}

// rpcError refuses a request with a JSON-RPC error.
func rpcError(status int, code int64, data string) func(*visit) {
	return func(v *visit) { v.reply(status, fmt.Sprintf(`"error":{"code":%d,"message":"no"%s}`, code, data)) }
}

// statusOnly refuses a request with a status and a text.
func statusOnly(status int) func(*visit) {
	return func(v *visit) {
		v.ResponseWriter.Header().Set("Content-Type", "text/plain")
		v.WriteHeader(status)
		_, _ = fmt.Fprint(v, "not initialized")
	}
}

// wantText fails the test unless a call has the given text as its result.
func wantText(t *testing.T, c *mcp.Client, want string) {
	t.Helper()
	res, err := call(t, c, "x")
	assert.OK(t, err)
	assert.Equal(t, textOf(t, res), want, "the text")
}

func wantRevision(t *testing.T, c *mcp.Client, want string) {
	t.Helper()
	assert.Equal(t, c.State().ProtocolVersion, want, "revision")
}

// A server behind one URL that goes back to an older revision is not lost, however
// it refuses what it does not know.
func TestRevisionGoesBack(t *testing.T) {
	for name, refuse := range map[string]func(*visit){
		"400 -32000":         rpcError(400, -32000, ""),
		"400 -32600":         rpcError(400, -32600, ""),
		"400 -32022":         rpcError(400, unsupportedVersion, `,"data":{"supported":["2025-11-25"]}`),
		"400 without a code": statusOnly(400),
		"404":                statusOnly(404),
		"404 -32601":         rpcError(404, methodNotFound, ""),
		"405":                statusOnly(405),
		"200 -32601":         rpcError(200, methodNotFound, ""),
	} {
		t.Run(name, func(t *testing.T) {
			now := newNewSite(t, rpcError(400, unsupportedVersion, ""))
			a := newAddress(t, now)
			c := newClient(t, &a.HTTP, nil)
			wantText(t, c, "new")
			before := newOldSite(t, refuse)
			a.server.Store(before)
			wantText(t, c, "old")
			wantRevision(t, c, mcp.Revision20251125)
			assert.Equal(t, len(before.of("tools/call")), 2, "calls at the older server")
			assert.OK(t, c.Ping(t.Context()))
		})
	}
}

// A server that ran what it refuses to answer is not asked to run it again.
func TestRevisionGoesBackInTheMiddle(t *testing.T) {
	a := newAddress(t, newNewSite(t, rpcError(400, unsupportedVersion, "")))
	c := newClient(t, &a.HTTP, nil)
	wantText(t, c, "new")
	before := newOldSite(t, rpcError(200, methodNotFound, ""))
	before.script["tools/call"] = func(v *visit) {
		if len(before.of("tools/call")) == 1 {
			rpcError(200, -32000, "")(v) // also without a session
		} else {
			result(textResult("old"))(v)
		}
	}
	a.server.Store(before)
	wantOutcome(t, errOf(call(t, c, "x")), mcp.Answered)
	assert.Equal(t, len(before.of("tools/call")), 1, "calls")
	wantText(t, c, "old")
	wantRevision(t, c, mcp.Revision20251125)
}

// A server with sessions that is replaced by one of revision 2026-07-28 only is not
// lost either.
func TestRevisionGoesOn(t *testing.T) {
	for name, refuse := range map[string]func(*visit){
		"400 -32022": rpcError(400, unsupportedVersion, `,"data":{"supported":["2026-07-28"]}`),
		"400 -32020": rpcError(400, headerMismatch, ""),
		"400 -32602": rpcError(400, -32602, ""),
		"200 -32022": rpcError(200, unsupportedVersion, ""),
		"404 -32601": rpcError(404, methodNotFound, ""),
		"200 -32601": rpcError(200, methodNotFound, ""),
		"400":        statusOnly(400),
		"405":        statusOnly(405),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAddress(t, newOldSite(t, rpcError(400, -32000, "")))
			c := newClient(t, &a.HTTP, nil)
			wantText(t, c, "old")
			now := newNewSite(t, refuse)
			a.server.Store(now)
			wantText(t, c, "new")
			wantRevision(t, c, mcp.Revision20260728)
		})
	}
}

// Calls that are under way when it turns out that the server was replaced are not
// cut off: all of them are sent again, and none has an unknown outcome.
func TestRevisionGoesBackUnderManyCalls(t *testing.T) {
	a := newAddress(t, newNewSite(t, rpcError(400, unsupportedVersion, "")))
	c := newClient(t, &a.HTTP, nil)
	wantText(t, c, "new")
	a.server.Store(newOldSite(t, rpcError(400, -32000, "")))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			assert.Is(t, errOf(call(t, c, "x")), nil)
		})
	}
	calls.Wait()
	assert.Equal(t, c.State().Connections, 2, "connections")
}

// A server that speaks its revision still has answered, whatever it answers.
func TestRevisionStays(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, code := range []int64{methodNotFound, -32600, -32602, -32000, headerMismatch, missingCapability} {
			server := featured(t, revision, mcptest.Script{"tools/call": mcptest.Error(code, "no"), "tools/list": mcptest.Result(`{"tools":[]}`)})
			c := newClient(t, p.to(server), nil)
			_, err := call(t, c, "x")
			assert.As[*mcp.ServerError](t, err, "%d", code)
			wantOutcome(t, err, mcp.Answered)
			assert.Equal(t, c.State().Connections, 1, "%d: connections", code)
		}
	})
}

// The same over HTTP, whose status may say more.
func TestRevisionStaysOverHTTP(t *testing.T) {
	for _, revision := range eras() {
		for name, refuse := range map[string]func(*visit){
			"400 -32000": rpcError(400, -32000, ""),
			"400 -32602": rpcError(400, -32602, ""),
			"404 -32601": rpcError(404, methodNotFound, ""),
			"200 -32601": rpcError(200, methodNotFound, ""),
			"400":        statusOnly(400),
			"404":        statusOnly(404),
		} {
			s := newSite(t, revision, map[string]func(*visit){"tools/call": refuse, "tools/list": result(`{"tools":[]}`)})
			c := newClient(t, &s.HTTP, nil)
			assert.Fails(t, errOf(call(t, c, "x")), "%s, %s: got no error, want one", revision, name)
			assert.Equal(t, len(s.of("tools/call")), 1, "%s, %s: calls", revision, name)
			assert.Equal(t, c.State().Connections, 1, "%s, %s: connections", revision, name)
		}
	}
}

// An older server that does not know pings is none of revision 2026-07-28.
func TestRevisionOfServerWithoutPing(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		server := legacy(t, mcptest.Script{"ping": mcptest.Error(methodNotFound, "no"), "tools/call": mcptest.Error(methodNotFound, "no")})
		c := newClient(t, p.to(server), nil)
		wantOutcome(t, errOf(call(t, c, "x")), mcp.Answered)
		assert.Equal(t, c.State().Connections, 1, "connections")
	})
}

// A pipe may lead to a server elsewhere, which can be replaced as well.
func TestRevisionGoesBackBehindAPipe(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		shakes := mcptest.Handshake(mcp.Revision20260728, "")["server/discover"]
		server := legacy(t, mcptest.Script{
			"server/discover": mcptest.Sequence(shakes, mcptest.Error(methodNotFound, "no")),
			"tools/call": func(c *mcptest.Call) {
				if c.Connection == 1 {
					c.Error(methodNotFound, "no")
				} else {
					c.Result(textResult("old"))
				}
			},
		})
		c := newClient(t, p.to(server), nil)
		wantText(t, c, "old")
		wantRevision(t, c, mcp.Revision20251125)
	})
}

// A program that speaks nothing but revision 2026-07-28 since it was updated is
// connected to at once.
func TestRevisionOfUpdatedProgram(t *testing.T) {
	for _, code := range []int64{methodNotFound, -32600, unsupportedVersion} {
		everyPlane(t, func(t *testing.T, p plane) {
			synctest.Test(t, func(t *testing.T) {
				old, current := mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Handshake(mcp.Revision20260728, "")
				server := legacy(t, mcptest.Script{
					"server/discover": mcptest.Sequence(mcptest.Error(methodNotFound, "no"), current["server/discover"]),
					"initialize":      mcptest.Sequence(old["initialize"], mcptest.Error(code, "no")),
					"tools/call":      text("done"),
				})
				c := newClient(t, p.to(server), nil)
				wantText(t, c, "done")
				server.Disconnect()
				synctest.Wait()
				wantPhase(t, c, mcp.Ready)
				wantRevision(t, c, mcp.Revision20260728)
				wantCount(t, server, "initialize", 2)
			})
		})
	}
}

// A call that is meant for one connection is not sent on another.
func TestRevisionGoesBackForBoundCall(t *testing.T) {
	a := newAddress(t, newNewSite(t, rpcError(400, unsupportedVersion, "")))
	c := newClient(t, &a.HTTP, nil)
	wantText(t, c, "new")
	before := newOldSite(t, rpcError(400, -32000, ""))
	a.server.Store(before)
	_, err := c.CallTool(t.Context(), "x", json.RawMessage(`{}`), &mcp.CallToolOptions{Connection: 1})
	assert.Is(t, err, mcp.ErrOtherConnection)
	wantOutcome(t, err, mcp.NotSent)
	assert.Equal(t, len(before.of("tools/call")), 1, "calls")
	if got := c.State().Err; got != nil && !strings.Contains(got.Error(), mcp.Revision20260728) {
		t.Errorf("got the state's error %v, want it to name %s", got, mcp.Revision20260728)
	}
}

// Whoever cannot speak with a server is told which revisions it has.
func TestUnsupportedRevisionIsNamed(t *testing.T) {
	refused := func(code int64, supported string) mcptest.Handler {
		return func(c *mcptest.Call) {
			c.ErrorData(code, "unsupported protocol version", `{"supported":`+supported+`}`)
		}
	}
	for _, test := range []struct {
		name   string
		server mcptest.Script
		want   string
	}{
		{"the probe is refused", mcptest.Script{
			"server/discover": refused(unsupportedVersion, `["2099-01-01","2098-01-01"]`),
		}, "the server has 2099-01-01, 2098-01-01"},
		{"the probe is answered", mcptest.Script{
			"server/discover": mcptest.Result(`{"resultType":"complete","supportedVersions":["2099-01-01"],"capabilities":{}}`),
		}, "the server has 2099-01-01"},
		{"initialize is refused", mcptest.Script{
			"initialize": refused(-32602, `["1.0"]`),
		}, "the server has 1.0"},
		{"initialize is refused by a newer server", mcptest.Script{
			"initialize": refused(unsupportedVersion, `["2099-01-01"]`),
		}, "the server has 2099-01-01"},
		{"initialize is answered", mcptest.Handshake("1999-12-31", ""), "1999-12-31"},
		{"what deceives", mcptest.Script{
			"server/discover": refused(unsupportedVersion, `["\u001b[2J\n`+strings.Repeat("9", 1000)+`"]`),
		}, "the server has <U+001B>[2J 9999"},
		{"many", mcptest.Script{
			"server/discover": refused(unsupportedVersion, `["1"`+strings.Repeat(`,"1"`, 100)+`]`),
		}, "the server has 1, 1, 1, 1, 1, 1, 1, 1, and more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			everyPlane(t, func(t *testing.T, p plane) {
				c := newClient(t, p.to(mcptest.NewServer(t, test.server)), nil)
				err := c.Ready(t.Context())
				assert.Contains(t, fmt.Sprint(err), test.want)
				if got := len(err.Error()); got > 400 {
					t.Errorf("got an error of %d bytes, want at most 400", got)
				}
				wantOutcome(t, err, mcp.NotSent)
			})
		})
	}
}
