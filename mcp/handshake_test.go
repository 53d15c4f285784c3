package mcp_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// handshakeRevisions are the revisions that begin with a handshake.
func handshakeRevisions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", mcp.Revision20251125}
}

// everyHandshake runs a test with each revision that has a handshake, on both
// planes.
func everyHandshake(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	withEach(t, handshakeRevisions(), test)
}

// After the probe come initialize, which says who asks and for what revision,
// then notifications/initialized, and only then anything else.
func TestHandshakeOrder(t *testing.T) {
	//report: Revisions | punkpeye/mcp-remote#66, OpenDigitalProductFactory/opendigitalproductfactory#705 | a server answers initialize with the one revision that it has, whatever was offered | each known revision is spoken
	for _, revision := range handshakeRevisions() {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			initialize := mcptest.Handshake(revision, "")["initialize"]
			server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"initialize": slowly(time.Second, initialize),
				"tools/call": text("done"),
			}), &mcp.ClientOptions{Implementation: &mcp.Implementation{Name: "belt", Version: "7"}})
			mustCall(t, c, "x") // it waits for the handshake
			var methods []string
			for _, r := range server.Received("") {
				methods = append(methods, r.Method)
			}
			assert.Equal(t, strings.Join(methods, " "), "server/discover initialize notifications/initialized tools/call", "the server received")
			params := server.Received("initialize")[0].Params
			assert.Equal(t, memberOf(t, params, "protocolVersion"), `"2025-11-25"`, "revision")
			assert.Equal(t, memberOf(t, params, "clientInfo"), `{"name":"belt","version":"7"}`, "client")
			assert.Equal(t, memberOf(t, params, "capabilities"), `{}`, "capabilities")
		})
	}
}

// A server that wants a revision that nobody here knows is left, and hears
// nothing more on that connection.
func TestUnknownRevisionIsLeft(t *testing.T) {
	//report: Revisions | strowk/mcp-k8s-go#40 | a server wants a revision that was never published | the connection ends, as the specification demands, and the error names it
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		left := make(chan struct{}, 8)
		initialize := mcptest.Handshake("1999-01-01", "")["initialize"]
		server, c := p.withClient(t, legacy(t, mcptest.Script{"initialize": func(c *mcptest.Call) {
			initialize(c)
			<-c.Context().Done()
			left <- struct{}{}
		}}), nil)
		err := c.Ready(t.Context())
		assert.Contains(t, fmt.Sprint(err), "1999-01-01")
		wantOutcome(t, err, mcp.NotSent)
		<-left
		for _, method := range []string{"notifications/initialized", "notifications/cancelled", "tools/list"} {
			wantCount(t, server, method, 0)
		}
	})
}

// A handshake that takes too long is given up with its connection, however long
// that takes to close. It is never cancelled.
func TestInitializeIsNotCancelled(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server := legacy(t, mcptest.Script{"initialize": mcptest.Hang})
		to := wrapped(p.to(server), func(conn mcp.Conn) mcp.Conn { return lingeringConn{conn} })
		c := newClient(t, to, &mcp.ClientOptions{ConnectTimeout: time.Second})
		assert.Fails(t, c.Ready(t.Context()), "ready")
		synctest.Wait()
		wantCount(t, server, "initialize", 1)
		wantCount(t, server, "notifications/cancelled", 0)
		assert.OK(t, c.Close())
		synctest.Wait()
		wantCount(t, server, "notifications/cancelled", 0)
	})
}

// A lingeringConn takes its time to close.
type lingeringConn struct{ mcp.Conn }

func (c lingeringConn) Close() error {
	pause(time.Second)
	return c.Conn.Close()
}

// A server may ask whether the client is there, at any time.
func TestPingIsAnswered(t *testing.T) {
	//report: Transports | vercel/ai#6282, PrefectHQ/fastmcp#1212 | a server pings its clients, and drops those that do not answer | answered at any time
	everyHandshake(t, func(t *testing.T, revision string, p plane) {
		answered := make(chan string, 2)
		ping := func(c *mcptest.Call) {
			answer, err := c.Ask("ping", "")
			assert.Is(t, err, nil, "%s", c.Method)
			assert.Equal(t, string(answer), `{}`, "%s: answer", c.Method)
			answered <- c.Method
		}
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"notifications/initialized": ping,
			"tools/call":                func(c *mcptest.Call) { ping(c); c.Result(`{}`) },
		})), nil)
		mustCall(t, c, "x")
		<-answered
		<-answered
	})
}

// A server may send what it likes before it answers initialize.
func TestMessagesBeforeTheHandshake(t *testing.T) {
	//report: Processes | modelcontextprotocol/rust-sdk#412, tim-smart/effect-mcp#18, modelcontextprotocol/python-sdk#192 | a server sends notifications, logs and requests before it has answered initialize | notifications are taken, requests answered, and the handshake goes on
	everyPlane(t, func(t *testing.T, p plane) {
		shake := mcptest.Handshake(mcp.Revision20251125, "")["initialize"]
		_, c := p.withReady(t, legacy(t, mcptest.Script{"initialize": func(c *mcptest.Call) {
			c.Notify("notifications/resources/list_changed", "")
			c.Notify("notifications/message", `{"level":"info","data":"starting"}`)
			c.Notify("notifications/of/nobody", `[1]`)
			assert.OK(t, assert.Err(c.Ask("ping", "")), "ping")
			assert.As[*mcp.JSONRPCError](t, assert.Err(c.Ask("roots/list", "")))
			shake(c)
		}, "tools/call": text("done")}), nil)
		mustCall(t, c, "x")
	})
}

// everyPin runs a test with each revision that can be pinned, on both planes.
func everyPin(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	withEach(t, append(handshakeRevisions(), mcp.Revision20260728), test)
}

// handshakesOf returns the methods of handshakes that the server received, with the
// revision that initialize offered.
func handshakesOf(t testing.TB, s *mcptest.Server) string {
	t.Helper()
	var seen []string
	for _, r := range s.Received("") {
		switch r.Method {
		case "server/discover":
			seen = append(seen, r.Method)
		case "initialize":
			seen = append(seen, r.Method+" "+strings.Trim(memberOf(t, r.Params, "protocolVersion"), `"`))
		}
	}
	return strings.Join(seen, ", ")
}

func handshakeWith(revision string) string {
	if revision == mcp.Revision20260728 {
		return "server/discover"
	}
	return "initialize " + revision
}

// What a server writes of itself in another form than the protocol's costs nothing else of it.
func TestLooseHandshake(t *testing.T) {
	everyPin(t, func(t *testing.T, revision string, p plane) {
		for capabilities, want := range map[string]bool{
			//report: Revisions | logiscape/mcp-sdk-php#1 | a server of PHP answers initialize with empty lists for empty objects | what it offers so is offered, without more, and the connection stands; nothing else of its answer is lost
			`{"tools":[],"logging":[],"experimental":[]}`: true, `{"tools":true}`: true, `{"tools":{"listChanged":"yes"}}`: true, `{"tools":false}`: false, `{"tools":null}`: false, `[]`: false,
		} {
			about := `"capabilities":` + capabilities + `,"serverInfo":{"name":"s","version":1,"icons":7,"title":[]},"instructions":"i"}`
			server := mcptest.NewServer(t, mcptest.Script{
				"initialize":      mcptest.Result(`{"protocolVersion":"` + revision + `",` + about),
				"server/discover": mcptest.Result(`{"resultType":"complete","supportedVersions":["` + revision + `"],` + about),
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{ProtocolVersion: revision})
			assert.OK(t, c.Ready(t.Context()), "%s", capabilities)
			assert.Equal(t, c.State().Capabilities.Tools != nil, want, "%s: tools are offered", capabilities)
			assert.Equal(t, c.State().Server.Name+c.State().Instructions, "si", "%s", capabilities)
		}
	})
}

// A client with a pinned revision offers that and nothing else.
func TestPinnedRevision(t *testing.T) {
	everyPin(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("done")})
		c := newClient(t, p.to(server), &mcp.ClientOptions{ProtocolVersion: revision})
		mustCall(t, c, "x")
		assert.OK(t, c.Reconnect(t.Context()))
		mustCall(t, c, "x")
		assert.Equal(t, c.State().ProtocolVersion, revision, "revision")
		assert.Equal(t, handshakesOf(t, server), handshakeWith(revision)+", "+handshakeWith(revision), "the handshakes")
	})
}

// A server that speaks another revision is left, and no other is tried.
func TestPinnedRevisionIsNotSpoken(t *testing.T) {
	const elsewhere = "1999-01-01"
	refuse := func(c *mcptest.Call) {
		c.ErrorData(unsupportedVersion, "unsupported protocol version", `{"supported":["`+elsewhere+`"]}`)
	}
	for name, script := range map[string]mcptest.Script{
		"answers another": {
			"server/discover": mcptest.Result(`{"resultType":"complete","supportedVersions":["` + elsewhere + `"],"capabilities":{}}`),
			"initialize":      mcptest.Handshake(elsewhere, "")["initialize"],
		},
		"refuses":               {"server/discover": refuse, "initialize": refuse},
		"does not know it":      {},
		"does not know it more": {"server/discover": mcptest.Error(-32601, "?"), "initialize": mcptest.Error(-32601, "?")},
	} {
		t.Run(name, func(t *testing.T) {
			everyPin(t, func(t *testing.T, revision string, p plane) {
				server, c := p.withClient(t, mcptest.NewServer(t, script), &mcp.ClientOptions{ProtocolVersion: revision})
				err := c.Ready(t.Context())
				other := assert.As[*mcp.ProtocolVersionError](t, err)
				assert.Contains(t, other.Error(), "protocol revision "+revision+" ")
				if says := len(script) > 0 && !strings.HasSuffix(name, "more"); says && !strings.Contains(other.Error(), "the server has "+elsewhere) {
					t.Errorf("got %q, want %q", other, elsewhere)
				}
				wantOutcome(t, err, mcp.NotSent)
				assert.Equal(t, handshakesOf(t, server), handshakeWith(revision), "the handshakes")
			})
		})
	}
}

// A server that does not answer discover is not initialized.
func TestPinnedDiscoverIsUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t, mcptest.Script{"server/discover": mcptest.Hang}), &mcp.ClientOptions{ProtocolVersion: mcp.Revision20260728})
		assert.Fails(t, c.Ready(t.Context()))
		assert.Equal(t, handshakesOf(t, server), "server/discover", "the handshakes")
	})
}

// A failure of a server that may speak the revision is no ProtocolVersionError.
func TestPinnedHandshakeFails(t *testing.T) {
	server := legacy(t, mcptest.Script{"initialize": mcptest.Error(-32603, "out of order")})
	err := newClient(t, server, &mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125}).Ready(t.Context())
	var other *mcp.ProtocolVersionError
	var answer *mcp.JSONRPCError
	if errors.As(err, &other) || !errors.As(err, &answer) {
		t.Errorf("got %v, want the server's error", err)
	}
}

// A revision that nobody knows makes no connection.
func TestPinnedRevisionIsUnknown(t *testing.T) {
	server, c := withClient(t, legacy(t), &mcp.ClientOptions{ProtocolVersion: "1999-01-01"})
	assert.As[*mcp.ProtocolVersionError](t, c.Ready(t.Context()))
	assert.Equal(t, server.Connections(), 0, "connections")
}

// While a server with a handshake is up, doubts do not make the client ask for another
// revision.
func TestPinnedRevisionIsNotDoubted(t *testing.T) {
	server, c := withClient(t, legacy(t, mcptest.Script{
		"tools/call": mcptest.Error(-32601, "?"),
		"ping":       mcptest.Error(-32601, "?"),
	}), &mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125})
	assert.Fails(t, assert.Err(call(t, c, "x")))
	assert.Equal(t, handshakesOf(t, server), handshakeWith(mcp.Revision20251125), "the handshakes")
}

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
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			discover := mcptest.Handshake(mcp.Revision20260728, "")["server/discover"]
			server, c := p.withClient(t, legacy(t, mcptest.Script{
				"server/discover": mcptest.Sequence(mcptest.Error(code, "not like this"), discover),
			}), nil)
			wantRefusal(t, c.Ready(t.Context()), code)
			wantCount(t, server, "initialize", 0)

			ready(t, c) // the next attempt asks again
			assert.Equal(t, c.State().ProtocolVersion, mcp.Revision20260728, "protocol version")
			wantCount(t, server, "initialize", 0)
		})
	}
}

// wantRefusal fails the test unless a handshake ended with the server's error.
func wantRefusal(t *testing.T, err error, code int64) {
	t.Helper()
	assert.Equal(t, assert.As[*mcp.JSONRPCError](t, err).Code, code, "code")
	wantOutcome(t, err, mcp.NotSent)
}

// refusing refuses a request because of its version, and lists those that the
// server supports, as JSON.
func refusing(supported string) func(*webRequest) {
	return func(v *webRequest) {
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
			s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){"server/discover": refusing(supported)})
			c := newClient(t, &s.HTTP, nil)
			err := c.Ready(t.Context())
			if want == "" {
				wantRefusal(t, err, unsupportedVersion)
				assert.Equal(t, len(s.of("initialize")), 0, "initialize")
				return
			}
			assert.OK(t, err)
			assert.Equal(t, c.State().ProtocolVersion, want)
		})
	}
	// It supports the version of the probe, but does not say so the first time.
	for name, want := range map[string]string{"answered then": mcp.Revision20260728, "unknown then": mcp.Revision20251125} {
		t.Run(name, func(t *testing.T) {
			s := newWebServer(t, mcp.Revision20251125, nil)
			s.script["server/discover"] = func(v *webRequest) {
				switch {
				case len(s.of("server/discover")) == 1:
					refusing(`["2026-07-28"]`)(v)
				case want == mcp.Revision20260728:
					result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)(v)
				default:
					v.reply(http.StatusNotFound, `"error":{"code":-32601,"message":"unknown method"}`)
				}
			}
			c := newReady(t, &s.HTTP, nil)
			got := c.State()
			assert.Equal(t, [...]any{got.ProtocolVersion, got.Connections, len(s.of("server/discover"))}, [...]any{want, 1, 2})
		})
	}
}

// An HTTP server is taken for an old one when it refuses the probe, but not if
// the body holds an error of revision 2026-07-28.
func TestProbeOverHTTP(t *testing.T) {
	//report: Revisions | modelcontextprotocol/csharp-sdk#1765, rahmanef63/mso#42, 0xMassi/webclaw#108 | an older server refuses server/discover with a status of HTTP, or with any error of JSON-RPC and status 200 | it is initialized on the same connection
	rpc := func(status int, code int64) func(*webRequest) {
		return func(v *webRequest) { v.reply(status, fmt.Sprintf(`"error":{"code":%d,"message":"m"}`, code)) }
	}
	page := func(status int, body string) func(*webRequest) {
		return func(v *webRequest) {
			v.ResponseWriter.Header().Set("Content-Type", "text/html")
			v.WriteHeader(status)
			_, _ = fmt.Fprint(v, body)
		}
	}
	for name, test := range map[string]struct {
		refuse func(*webRequest)
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
		"200 broken JSON":   {func(v *webRequest) { v.reply(200, `"result":{`) }, 0},
		"stream without it": {func(v *webRequest) { v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){"server/discover": test.refuse})
			c := newClient(t, &s.HTTP, nil)
			err := c.Ready(t.Context())
			if test.modern != 0 {
				wantRefusal(t, err, test.modern)
				assert.Equal(t, len(s.of("initialize")), 0, "initialize")
				return
			}
			assert.OK(t, err)
			got := c.State()
			assert.Equal(t, [...]any{got.ProtocolVersion, got.Connections}, [...]any{mcp.Revision20251125, 1})
			assert.Equal(t, len(s.of("server/discover")), 1, "probed times")
		})
	}
}

// A server that refuses the revision that it is offered gets the newest of those that it names, or
// else the next older one, once.
func TestInitializeOffersAnotherRevision(t *testing.T) {
	data := func(code int, message, data string) func(*webRequest) {
		return func(v *webRequest) {
			v.reply(http.StatusOK, fmt.Sprintf(`"error":{"code":%d,"message":%q,"data":%s}`, code, message, data))
		}
	}
	status := func(code int, text string) func(*webRequest) {
		return func(v *webRequest) { http.Error(v.ResponseWriter, text, code) }
	}
	for name, test := range map[string]struct {
		refuse    func(*webRequest)
		want      string // revision that is agreed on; empty: none
		handshake int    // initialize requests
	}{
		//report: Revisions | cl-ai-project/cl-mcp#26 | a server refuses to initialize with 2025-11-25, and lists what it has in data.supportedVersions | the newest revision of the list is offered next
		"supportedVersions": {data(-32602, "Unsupported protocolVersion 2025-11-25", `{"supportedVersions":["2025-06-18","2024-11-05"]}`), "2025-06-18", 2},
		//report: Revisions | gtapps/claude-code-hermit#912 | the same with the error and the data.supported of revision 2026-07-28, which came after it | the same
		"supported": {data(unsupportedVersion, "Unsupported protocol version", `{"supported":["2025-03-26"],"requested":"2025-11-25"}`), "2025-03-26", 2},
		//report: Revisions | sickn33/agentic-awesome-skills#1003 | the server names the one revision that it takes under a word of its own, data.expected | a revision that a refusal names anywhere is offered next
		"expected": {data(-32602, "Unsupported protocol version", `{"code":"VERSION_INCOMPATIBLE","expected":"2025-06-18"}`), "2025-06-18", 2},
		//report: Revisions | milind-soni/OpenMausBot#517 | the server names the revision that it takes in the text of the error | the same
		"message": {data(-32602, "Unsupported protocol version: 2025-11-25. Supported: 2024-11-05", "null"), "2024-11-05", 2},
		//report: Revisions | xpzouying/xiaohongshu-mcp#697 | the HTTP layer refuses what it does not know with status 400 and a text that lists the revisions it has | the text is read; nothing is tried over the older HTTP+SSE transport
		"text": {status(400, "Bad Request: Unsupported protocol version \n(supported versions: 2025-06-18, 2025-03-26, 2024-11-05)"), "2025-06-18", 2},
		//report: Revisions | hkr04/cpp-mcp#10 | the refusal says that the revision is not supported, and no more | the next older revision is tried once
		"nothing named": {data(-32602, "Unsupported protocol version", "null"), "2025-06-18", 2},
		//report: Revisions | Effect-TS/effect#7388 | status 400 with a text about the version, and no list | the same
		"text without names": {status(400, "Bad Request: Unsupported protocol version"), "2025-06-18", 2},
		"only newer ones":    {data(unsupportedVersion, "no", `{"supported":["2027-01-01"]}`), "", 1},
		"something else":     {data(-32603, "missing API key", "null"), "", 1},
		"another status":     {status(400, "missing API key"), "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWebServer(t, cmp.Or(test.want, mcp.Revision20251125), nil)
			accept := s.script["initialize"]
			s.script["server/discover"] = rpcError(200, methodNotFound, "")
			if name != "only newer ones" {
				s.script["server/discover"] = test.refuse
			}
			s.script["initialize"] = func(v *webRequest) {
				if test.want == "" || !strings.Contains(string(v.Params), `"protocolVersion":"`+test.want) {
					test.refuse(v)
					return
				}
				accept(v)
			}
			for _, to := range []mcp.Transport{&s.HTTP, &transport.HTTP{Variant: transport.Auto, URL: s.URL}} {
				before := len(s.of("initialize"))
				c := newClient(t, to, nil)
				err := c.Ready(t.Context())
				assert.Equal(t, err == nil, test.want != "", "ready: %v", err)
				if err == nil {
					wantRevision(t, c, test.want)
					assert.Equal(t, s.of("notifications/initialized")[0].Header.Get("Mcp-Protocol-Version"), test.want, "revision of the next request")
				} else if outcome := mcp.OutcomeOf(err); outcome == mcp.Unknown {
					t.Errorf("got the outcome %v", outcome)
				}
				assert.OK(t, c.Close())
				assert.Equal(t, len(s.of("initialize"))-before, test.handshake, "initialize requests")
				if test.want != "" && name != "text without names" { // each session may have one, which is not waited for
					assert.True(t, len(s.of(http.MethodGet)) <= len(s.of("notifications/initialized")), "more requests for streams than sessions")
				}
			}
		})
	}
}
