// Tests of revision.go and offered.go: servers of each revision, and those that are replaced.

package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// textResult is a result of tools/call as JSON.
func textResult(text string) string {
	return `{"content":[{"type":"text","text":"` + text + `"}],"resultType":"complete"}`
}

// newOldServer returns a server of the older revisions that has sessions, and refuses
// whatever does not belong to one.
func newOldServer(t *testing.T, refuse func(*webRequest)) *webServer {
	t.Helper()
	inSession := func(act func(*webRequest)) func(*webRequest) {
		return func(v *webRequest) {
			if v.Header.Get("Mcp-Session-Id") != "s" {
				refuse(v)
				return
			}
			act(v)
		}
	}
	shake := result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
	return newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){
		"initialize": func(v *webRequest) {
			v.ResponseWriter.Header().Set("Mcp-Session-Id", "s")
			shake(v)
		},
		"server/discover": refuse,
		"tools/list":      inSession(result(`{"tools":[]}`)),
		"tools/call":      inSession(result(textResult("old"))),
		"ping":            inSession(result(`{}`)),
	})
}

// newModernServer returns a server of revision 2026-07-28 that refuses what belongs to
// another one.
func newModernServer(t *testing.T, refuse func(*webRequest)) *webServer {
	t.Helper()
	ofRevision := func(act func(*webRequest)) func(*webRequest) {
		return func(v *webRequest) {
			if v.Header.Get("Mcp-Protocol-Version") != mcp.Revision20260728 {
				refuse(v)
				return
			}
			act(v)
		}
	}
	return newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){
		"server/discover": ofRevision(result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)),
		"initialize":      refuse,
		"ping":            refuse,
		"tools/list":      ofRevision(result(`{"tools":[],"resultType":"complete"}`)),
		"tools/call":      ofRevision(result(textResult("new"))),
	})
}

// wantText fails the test unless a call has the given text as its result.
func wantText(t *testing.T, c *mcp.Client, want string) {
	t.Helper()
	assert.Equal(t, textOf(t, assert.Value(call(t, c, "x"))(t)), want, "the text")
}

func wantRevision(t *testing.T, c *mcp.Client, want string) {
	t.Helper()
	assert.Equal(t, c.State().ProtocolVersion, want, "revision")
}

// A server behind one URL that goes back to an older revision is not lost, however
// it refuses what it does not know.
func TestRevisionGoesBack(t *testing.T) {
	for name, refuse := range map[string]func(*webRequest){
		"400 -32000":         rpcError(400, -32000, ""),
		"400 -32600":         rpcError(400, -32600, ""),
		"400 -32022":         rpcError(400, unsupportedVersion, `,"data":{"supported":["2025-11-25"]}`),
		"400 without a code": statusOnly(400), "404": statusOnly(404), "404 -32601": rpcError(404, methodNotFound, ""),
		"405": statusOnly(405), "200 -32601": rpcError(200, methodNotFound, ""),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAddress(t, newModernServer(t, rpcError(400, unsupportedVersion, "")))
			c := newClient(t, &a.HTTP, nil)
			wantText(t, c, "new")
			before := newOldServer(t, refuse)
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
	a := newAddress(t, newModernServer(t, rpcError(400, unsupportedVersion, "")))
	c := newClient(t, &a.HTTP, nil)
	wantText(t, c, "new")
	before := newOldServer(t, rpcError(200, methodNotFound, ""))
	before.script["tools/call"] = func(v *webRequest) {
		if len(before.of("tools/call")) == 1 {
			rpcError(200, -32000, "")(v) // also without a session
		} else {
			result(textResult("old"))(v)
		}
	}
	a.server.Store(before)
	wantOutcome(t, assert.Err(call(t, c, "x")), mcp.Answered)
	assert.Equal(t, len(before.of("tools/call")), 1, "calls")
	wantText(t, c, "old")
	wantRevision(t, c, mcp.Revision20251125)
}

// A server with sessions that is replaced by one of revision 2026-07-28 only is not
// lost either.
func TestRevisionGoesOn(t *testing.T) {
	for name, refuse := range map[string]func(*webRequest){
		"400 -32022": rpcError(400, unsupportedVersion, `,"data":{"supported":["2026-07-28"]}`),
		"400 -32020": rpcError(400, headerMismatch, ""), "400 -32602": rpcError(400, -32602, ""),
		"200 -32022": rpcError(200, unsupportedVersion, ""), "404 -32601": rpcError(404, methodNotFound, ""),
		"200 -32601": rpcError(200, methodNotFound, ""), "400": statusOnly(400), "405": statusOnly(405),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAddress(t, newOldServer(t, rpcError(400, -32000, "")))
			c := newClient(t, &a.HTTP, nil)
			wantText(t, c, "old")
			a.server.Store(newModernServer(t, refuse))
			wantText(t, c, "new")
			wantRevision(t, c, mcp.Revision20260728)
		})
	}
}

// Calls that are under way when it turns out that the server was replaced are not
// cut off: all of them are sent again, and none has an unknown outcome.
func TestRevisionGoesBackUnderManyCalls(t *testing.T) {
	a := newAddress(t, newModernServer(t, rpcError(400, unsupportedVersion, "")))
	c := newClient(t, &a.HTTP, nil)
	wantText(t, c, "new")
	a.server.Store(newOldServer(t, rpcError(400, -32000, "")))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() { assert.Is(t, assert.Err(call(t, c, "x")), nil) })
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
	for _, revision := range revisions() {
		for name, refuse := range map[string]func(*webRequest){
			"400 -32000": rpcError(400, -32000, ""), "400 -32602": rpcError(400, -32602, ""),
			"404 -32601": rpcError(404, methodNotFound, ""), "200 -32601": rpcError(200, methodNotFound, ""),
			"400": statusOnly(400), "404": statusOnly(404),
		} {
			s := newWebServer(t, revision, map[string]func(*webRequest){"tools/call": refuse, "tools/list": result(`{"tools":[]}`)})
			c := newClient(t, &s.HTTP, nil)
			assert.Fails(t, assert.Err(call(t, c, "x")), "%s, %s: got no error, want one", revision, name)
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
		wantOutcome(t, assert.Err(call(t, c, "x")), mcp.Answered)
		assert.Equal(t, c.State().Connections, 1, "connections")
	})
}

// A pipe may lead to a server elsewhere, which can be replaced as well.
func TestRevisionGoesBackBehindAPipe(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		shakes := mcptest.Handshake(mcp.Revision20260728, "")["server/discover"]
		c := newClient(t, p.to(legacy(t, mcptest.Script{
			"server/discover": mcptest.Sequence(shakes, mcptest.Error(methodNotFound, "no")),
			"tools/call": func(c *mcptest.Call) {
				if c.Connection == 1 {
					c.Error(methodNotFound, "no")
				} else {
					c.Result(textResult("old"))
				}
			},
		})), nil)
		wantText(t, c, "old")
		wantRevision(t, c, mcp.Revision20251125)
	})
}

// A program that speaks nothing but revision 2026-07-28 since it was updated is
// connected to at once.
func TestRevisionOfUpdatedProgram(t *testing.T) {
	for _, code := range []int64{methodNotFound, -32600, unsupportedVersion} {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			old, current := mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Handshake(mcp.Revision20260728, "")
			server, c := p.withClient(t, legacy(t, mcptest.Script{
				"server/discover": mcptest.Sequence(mcptest.Error(methodNotFound, "no"), current["server/discover"]),
				"initialize":      mcptest.Sequence(old["initialize"], mcptest.Error(code, "no")),
				"tools/call":      text("done"),
			}), nil)
			wantText(t, c, "done")
			disconnect(server)
			wantPhase(t, c, mcp.Ready)
			wantRevision(t, c, mcp.Revision20260728)
			wantCount(t, server, "initialize", 2)
		})
	}
}

// A call that is meant for one connection is not sent on another.
func TestRevisionGoesBackForBoundCall(t *testing.T) {
	a := newAddress(t, newModernServer(t, rpcError(400, unsupportedVersion, "")))
	c := newClient(t, &a.HTTP, nil)
	wantText(t, c, "new")
	before := newOldServer(t, rpcError(400, -32000, ""))
	a.server.Store(before)
	wantNotSent(t, assert.Err(c.CallTool(t.Context(), "x", json.RawMessage(`{}`), &mcp.RequestOptions{Connection: 1})), mcp.ErrOtherConnection)
	assert.Equal(t, len(before.of("tools/call")), 1, "calls")
	failed := c.State().Err
	assert.True(t, failed == nil || strings.Contains(failed.Error(), mcp.Revision20260728), "the state's error %v names the revision", failed)
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
		{"initialize is refused", mcptest.Script{"initialize": refused(-32602, `["1.0"]`)}, "the server has 1.0"},
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
				err := newClient(t, p.to(mcptest.NewServer(t, test.server)), nil).Ready(t.Context())
				assert.Contains(t, fmt.Sprint(err), test.want)
				assert.Between(t, len(err.Error()), 0, 400, "bytes of the error")
				wantOutcome(t, err, mcp.NotSent)
			})
		})
	}
}

const methodNotFound = -32601

// A legacy server that says so is asked once, and never again.
func TestProbeRefused(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			server, c := p.withReady(t, mcptest.NewServer(t, mcptest.Handshake(revision, "")), nil)
			assert.Equal(t, c.State().ProtocolVersion, revision, "protocol version")
			wantCount(t, server, "server/discover", 1)
			disconnect(server)
			wantPhase(t, c, mcp.Ready)
			wantCount(t, server, "server/discover", 1)
			wantCount(t, server, "initialize", 2)
		})
	}
}

// A server that does not answer the probe is initialized on the same connection.
func TestProbeUnanswered(t *testing.T) {
	//report: Revisions | MayDay-wpf/snow-app#56 | an older server does not answer server/discover at all | it is initialized after a short while, on the same connection
	for _, answer := range []mcptest.Handler{
		mcptest.Hang,
		slowly(11*time.Second, mcptest.Error(methodNotFound, "late")),
	} {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			server, c := p.withClient(t, legacy(t, mcptest.Script{"server/discover": answer}), nil)
			start := time.Now()
			ready(t, c)
			assert.Equal(t, time.Since(start), 10*time.Second, "ready after")
			pass(time.Minute)
			s := wantPhase(t, c, mcp.Ready)
			assert.Equal(t, [...]any{s.Connections, s.ProtocolVersion}, [...]any{1, mcp.Revision20251125})
			disconnect(server)
			wantPhase(t, c, mcp.Ready)
			wantCount(t, server, "server/discover", 1)
		})
	}
}

// A server that ends because of the probe is tried at once without it.
func TestProbeKills(t *testing.T) {
	//report: Revisions | 0xMassi/webclaw#107, github/copilot-cli#4809 | an older program ends when the first message is server/discover | it is started once more and initialized; that is remembered
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server, c := p.withClient(t, legacy(t, mcptest.Script{"server/discover": mcptest.Disconnect}), nil)
		start := time.Now()
		ready(t, c)
		assert.Equal(t, [...]any{server.Connections(), time.Since(start)}, [...]any{2, time.Duration(0)})
		disconnect(server)
		wantPhase(t, c, mcp.Ready)
		wantCount(t, server, "server/discover", 1)
	})
}

// A server that hangs for good because of the probe is tried without it, on a
// new connection.
func TestProbeStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := func(c *mcptest.Call) {
			if c.Connection == 1 {
				mcptest.Hang(c)
			} else {
				mcptest.Handshake(mcp.Revision20251125, "")["initialize"](c)
			}
		}
		server, c := withClient(t, legacy(t, mcptest.Script{"server/discover": mcptest.Hang, "initialize": stalls}), nil)
		assert.Fails(t, c.Ready(t.Context()), "ready")
		ready(t, c)
		wantCount(t, server, "server/discover", 1)
		assert.Equal(t, server.Connections(), 2, "connections")
	})
}

// A modern server that is slow to start gets more time on later connections.
func TestProbeAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		discover := mcptest.Handshake(mcp.Revision20260728, "")["server/discover"]
		server, c := withClient(t, modern(t, mcptest.Script{
			"server/discover": slowly(12*time.Second, discover),
			"initialize":      slowly(5*time.Second, mcptest.Error(methodNotFound, "initialize")),
		}), nil)
		assert.Contains(t, fmt.Sprint(c.Ready(t.Context())), "initialize")
		for range 3 {
			ready(t, c)
			assert.Equal(t, c.State().ProtocolVersion, mcp.Revision20260728, "protocol version")
			pass(time.Minute)
			disconnect(server)
		}
		ready(t, c)
		wantCount(t, server, "initialize", 1)
	})
}

// What was learned is forgotten when a handshake fails, and kept when no
// connection can be made.
func TestEraForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		initialize := mcptest.Handshake(mcp.Revision20251125, "")["initialize"]
		server, c := withReady(t, legacy(t, mcptest.Script{
			"initialize": mcptest.Sequence(initialize, initialize, mcptest.Error(-32603, "not yet"), initialize),
		}), nil)
		shutDown(server)
		wantPhase(t, c, mcp.Waiting)
		server.Down(nil)
		ready(t, c)
		wantCount(t, server, "server/discover", 1)

		disconnect(server)
		assert.Contains(t, fmt.Sprint(c.Ready(t.Context())), "not yet")
		wantCount(t, server, "server/discover", 1)
		ready(t, c)
		wantCount(t, server, "server/discover", 2)
	})
}

// A server that knows nothing of the probe for the newest revision is reached
// all the same: one that says nothing, and one that ends.
func TestProbeIsNoObstacle(t *testing.T) {
	for name, c := range map[string]struct {
		probed mcptest.Handler
		place  string
	}{
		"silent": {mcptest.Hang, "mcp/handshake.go"},
		"ends":   {mcptest.Disconnect, "mcp/revision.go"},
	} {
		runInBubble(t, name, func(t *testing.T) {
			server := legacy(t, mcptest.Script{"server/discover": c.probed, "tools/call": text("done")})
			assert.Equal(t, textOf(t, mustCall(t, newClient(t, server, nil), "x")), "done", "result")
			ctx := within(t, patience)
			if s, err := bareClient(nil).Connect(ctx, server, nil); err == nil {
				_ = s.Close()
				mended(t, c.place)
			}
		})
	}
}
