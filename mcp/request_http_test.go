// Tests of request.go, transport.go and send.go over HTTP: header fields, and streams that break.

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// newServerOfAll returns a server that knows every method of revision 2026-07-28.
func newServerOfAll(t *testing.T, listening chan<- string) *webServer {
	complete := func(members string) func(*webRequest) { return result(`{"resultType":"complete",` + members + `}`) }
	task := complete(`"taskId":"tä","status":"working","createdAt":"2026-01-02T03:04:05Z","ttlMs":null,"pollIntervalMs":500`)
	s := newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){
		"server/discover": complete(`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},` +
			`"resources":{"subscribe":true},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{}}}`),
		"subscriptions/listen": func(v *webRequest) {
			v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`)
			listening <- string(v.Params)
			<-v.gone
		},
		"tools/list":               complete(`"tools":[]`),
		"prompts/list":             complete(`"prompts":[]`),
		"prompts/get":              complete(`"messages":[]`),
		"resources/list":           complete(`"resources":[]`),
		"resources/templates/list": complete(`"resourceTemplates":[]`),
		"resources/read":           complete(`"contents":[{"uri":"file:///r","text":""}]`),
		"completion/complete":      complete(`"completion":{"values":[]}`),
		"tasks/get":                task,
		"tasks/cancel":             task,
		"com.example/x":            complete(`"y":1`),
	})
	s.script["tools/call"] = func(v *webRequest) {
		if len(s.of("tools/call")) == 1 {
			v.reply(200, `"result":{"resultType":"input_required","inputRequests":{"q":`+inputRequest+`}}`)
			return
		}
		v.stream(`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}`)
	}
	return s
}

// askAll makes a request of every kind.
func askAll(t *testing.T, c *mcp.Client) {
	ctx := t.Context()
	assert.OK(t, c.Ping(ctx), "ping")
	wantTools(t, c, "")
	mustCall(t, c, "tool")
	assert.OK(t, assert.Err(collect(c.Prompts(ctx))), "prompts")
	assert.OK(t, assert.Err(c.GetPrompt(ctx, "prompt", nil, nil)), "prompt")
	assert.OK(t, assert.Err(collect(c.Resources(ctx))), "resources")
	assert.OK(t, assert.Err(collect(c.ResourceTemplates(ctx))), "templates")
	assert.OK(t, assert.Err(c.ReadResource(ctx, "file:///r", nil)), "resource")
	assert.OK(t, assert.Err(c.Complete(ctx, typed("x"), nil)), "completion")
	assert.OK(t, assert.Err(askTask(ctx, c, "tasks/get", "tä")), "task")
	assert.OK(t, cancelTask(ctx, c, "tä"), "cancelled task")
	assert.OK(t, assert.Err(c.Request(ctx, "com.example/x", nil, nil)), "request")
}

// Every request of revision 2026-07-28 says in which version, by whom and with
// what capabilities it is made. The header repeats the version, the method and
// the name of what it is about, and both kinds of answers are accepted.
func TestRequestMetaOfEveryRequest(t *testing.T) {
	listening := make(chan string, 2)
	s := newServerOfAll(t, listening)
	c := newReady(t, &s.HTTP, &mcp.ClientOptions{
		Implementation: &mcp.Implementation{Name: "belt", Version: "7"},
		Elicit:         annAnswers, Tasks: true,
	})
	askAll(t, c)
	both := <-listening // before another one takes its place
	follows, stop := context.WithCancel(t.Context())
	go func() {
		for range c.ResourceUpdates(follows, "file:///r") {
			continue
		}
	}()
	both += <-listening
	assert.Contains(t, both, `"toolsListChanged":true`)
	assert.Contains(t, both, `"resourceSubscriptions":["file:///r"]`)
	stop()
	assert.OK(t, c.Shutdown(t.Context()))

	names := map[string]string{
		"tools/call": "tool", "prompts/get": "prompt", "resources/read": "file:///r",
		"tasks/get": "=?base64?dMOk?=", "tasks/cancel": "=?base64?dMOk?=",
	}
	seen := map[string]bool{}
	for _, v := range s.of("") {
		seen[v.Method] = true
		var params struct {
			Meta struct {
				Version      string                         `json:"io.modelcontextprotocol/protocolVersion"`
				Capabilities map[string]json.RawMessage     `json:"io.modelcontextprotocol/clientCapabilities"`
				ClientInfo   struct{ Name, Version string } `json:"io.modelcontextprotocol/clientInfo"`
			} `json:"_meta"`
		}
		assert.OK(t, json.Unmarshal(v.Params, &params), "%s: params %s", v.Method, v.Params)
		m := params.Meta
		assert.Equal(t, [...]any{m.Version, m.ClientInfo.Name, m.ClientInfo.Version, string(m.Capabilities["elicitation"]), string(m.Capabilities["extensions"])},
			[...]any{mcp.Revision20260728, "belt", "7", `{"form":{}}`, `{"io.modelcontextprotocol/tasks":{}}`}, "%s", v.Method)
		for field, want := range map[string]string{
			"Mcp-Protocol-Version": m.Version, "Mcp-Method": v.Method, "Mcp-Name": names[v.Method], "Mcp-Session-Id": "",
			"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		} {
			assert.Equal(t, v.Header.Get(field), want, "%s: %s", v.Method, field)
		}
	}
	for method := range s.script {
		assert.True(t, seen[method], "seen")
	}
}

// regional is a list with one tool, whose argument is repeated in a header.
func regional(header string) mcptest.Handler {
	return mcptest.Result(`{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"` + header + `"}}}}]}`)
}

// A server that refuses a call because of its headers has changed the schema
// that asks for them: the client reads it again and repeats the call, once.
func TestHeaderMismatch(t *testing.T) {
	const mismatch = -32020
	for _, gives := range []bool{false, true} {
		answers := mcptest.Sequence(mcptest.Error(mismatch, "header mismatch"), text("done"))
		if !gives {
			answers = mcptest.Error(mismatch, "header mismatch")
		}
		server := modern(t, mcptest.Script{"tools/list": mcptest.Sequence(regional("Old"), regional("New")), "tools/call": answers})
		conns := &headerLog{}
		c := newClient(t, wrapped(&transport.Pipe{Serve: server.Serve}, func(conn mcp.Conn) mcp.Conn { return &headerConn{mcp.CallerOf(conn), conns} }), nil)
		wantTools(t, c, "x")
		_, err := c.CallTool(t.Context(), "x", json.RawMessage(`{"region":"eu"}`), nil)
		if gives {
			assert.OK(t, err)
		} else {
			assert.Equal(t, assert.As[*mcp.ServerError](t, err).Err.Code, mismatch)
		}
		wantCount(t, server, "tools/list", 2)
		wantCount(t, server, "tools/call", 2)
		for i, want := range []string{"Mcp-Param-Old", "Mcp-Param-New"} {
			wantDeep(t, conns.calls[i], map[string]string{want: "eu"}, "call %d: calls", i+1)
		}
	}
}

// A headerLog notes the header fields of the calls on its connections.
type headerLog struct {
	mu    sync.Mutex
	calls []map[string]string
}

type headerConn struct {
	mcp.Caller
	log *headerLog
}

func (c *headerConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if method == "tools/call" {
		c.log.mu.Lock()
		c.log.calls = append(c.log.calls, opts.Header)
		c.log.mu.Unlock()
	}
	return c.Caller.Call(ctx, method, params, opts)
}

// Of a list, the tools whose header annotations are invalid are left out, and
// the log says which and why. To older revisions an annotation means nothing.
func TestInvalidHeaderToolIsLeftOut(t *testing.T) {
	property := func(schema string) string { return `"properties":{"p":` + schema + `}` }
	reasons := map[string]string{ // by tool
		"bad_token":    "no header token",
		"bad_type":     "must have type",
		"bad_place":    "path of properties",
		"bad_repeated": "is taken",
	}
	list := func(name, schema string) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object",%s}}`, name, schema)
	}
	answer := mcptest.Result(`{"tools":[` + strings.Join([]string{
		list("good_first", property(`{"type":"string","x-mcp-header":"A"}`)),
		list("bad_token", property(`{"type":"string","x-mcp-header":"a b"}`)),
		list("bad_type", property(`{"type":"number","x-mcp-header":"A"}`)),
		list("bad_place", property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`)),
		list("bad_repeated", `"properties":{"p":{"type":"string","x-mcp-header":"A"},"q":{"type":"string","x-mcp-header":"a"}}`),
		list("good_last", property(`{"type":"string"}`)),
	}, ",") + `]}`)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		var log bytes.Buffer
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": answer})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if revision != mcp.Revision20260728 {
			wantTools(t, c, "good_first bad_token bad_type bad_place bad_repeated good_last")
			return
		}
		wantTools(t, c, "good_first good_last")
		for tool, reason := range reasons {
			found := false
			for line := range strings.Lines(log.String()) {
				found = found || strings.Contains(line, "level=WARN") && strings.Contains(line, tool) && strings.Contains(line, reason)
			}
			assert.True(t, found, "found")
		}
	})
}

// Who calls a tool before the tools were listed does not know what to repeat:
// the server refuses, the list tells, and the call is made again.
func TestHeaderMismatchBeforeList(t *testing.T) {
	s := newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){
		"tools/list": result(`{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object","properties":{
			"where":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}},
			"zone":{"type":"string","x-mcp-header":"Zone"}}}}]}`),
		"tools/call": func(v *webRequest) {
			if v.Header.Get("Mcp-Param-Region") == "" {
				v.reply(400, `"error":{"code":-32020,"message":"header mismatch"}`)
				return
			}
			v.reply(200, `"result":{"resultType":"complete","content":[]}`)
		},
	})
	assert.Value(newClient(t, &s.HTTP, nil).CallTool(t.Context(), "x", []byte(`{"where":{"region":"=?base64?eA==?="},"zone":null}`), nil))(t)
	calls := s.of("tools/call")
	wantLen(t, calls, 2, "calls")
	assert.Equal(t, len(s.of("tools/list")), 1, "tools/list")
	wantOther(t, string(calls[0].ID), string(calls[1].ID), "ID")
	assert.Equal(t, calls[1].Header.Get("Mcp-Param-Region"), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", "Mcp-Param-Region")
	assert.Equal(t, len(calls[1].Header["Mcp-Param-Zone"]), 0, "a null is repeated: Mcp-Param-Zone")
}

// What can become of the stream of an answer in revision 2026-07-28, where none
// can be resumed. It has begun, and the events may have ids.
var streamEnds = map[string]func(*webRequest){
	"ends": func(v *webRequest) { v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`) },
	"cut": func(v *webRequest) {
		v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}` + "\nid: event-1")
		panic(http.ErrAbortHandler)
	},
	"cut in the answer": func(v *webRequest) {
		v.ResponseWriter.Header().Set("Content-Length", "500")
		v.reply(200, `"result":{}`)
	},
	"no response": func(*webRequest) { panic(http.ErrAbortHandler) },
}

// A request whose stream is lost is issued anew, once, on the same connection
// and with another id, if it does no harm twice; else its outcome is unknown.
func TestLostStream(t *testing.T) {
	for name, end := range streamEnds {
		t.Run(name, func(t *testing.T) {
			var s *webServer
			firstThen := func(method string, then func(*webRequest)) func(*webRequest) {
				return func(v *webRequest) {
					if len(s.of(method)) == 1 {
						end(v)
					} else {
						then(v)
					}
				}
			}
			s = newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){
				"tools/list": firstThen("tools/list", result(strings.Replace(toolPages, "{", `{"resultType":"complete",`, 1))),
				"tools/call": firstThen("tools/call", result(`{"resultType":"complete","content":[]}`)),
			})
			for _, trust := range []bool{false, true} {
				s.mu.Lock()
				s.requests = nil
				s.mu.Unlock()
				c := newClient(t, &s.HTTP, &mcp.ClientOptions{TrustAnnotations: trust})
				wantTools(t, c, "plain reads sets")
				wantReissued(t, s, "tools/list", 2)
				_, err := call(t, c, "reads")
				if trust {
					assert.OK(t, err, "a harmless call")
					wantReissued(t, s, "tools/call", 2)
				} else {
					wantOutcome(t, err, mcp.Unknown)
					assert.Is(t, err, mcp.ErrAnswerLost)
					wantReissued(t, s, "tools/call", 1)
				}
				assert.Equal(t, c.State().Connections, 1, "connections")
				assert.Equal(t, len(s.of("GET")), 0, "streams opened by GET")
			}
		})
	}
}

// wantReissued fails the test unless a request was made n times, each with an id
// of its own, with the same params but for the token of progress, and as if there
// had been no other.
func wantReissued(t *testing.T, s *webServer, method string, n int) {
	t.Helper()
	ids := map[string]bool{}
	requests := s.of(method)
	for _, v := range requests {
		ids[string(v.ID)] = true
		assert.Equal(t, v.Header.Get("Last-Event-Id"), "", "%s: Last-Event-Id", method)
		var first, again struct{ Name, Cursor string }
		assert.OK(t, json.Unmarshal(requests[0].Params, &first), "%s", method)
		assert.OK(t, json.Unmarshal(v.Params, &again), "%s", method)
		assert.Equal(t, first, again, "%s: first", method)
	}
	assert.Equal(t, [...]any{len(requests), len(ids)}, [...]any{n, n})
}

// It is issued anew only once.
func TestLostAgain(t *testing.T) {
	s := newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){"tools/list": streamEnds["ends"]})
	wantOutcome(t, assert.Err(newClient(t, &s.HTTP, nil).Tools(t.Context())), mcp.Unknown)
	wantReissued(t, s, "tools/list", 2)
}

// A call over HTTP that runs out of time is cancelled in the way of the revision:
// by the end of its stream, or by a notification that names it.
func TestTimeoutOverHTTP(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		gone, told := make(chan struct{}, 100), make(chan struct{}, 100)
		s := newWebServer(t, revision, map[string]func(*webRequest){
			"tools/call": func(v *webRequest) {
				v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`)
				<-v.gone
				gone <- struct{}{}
			},
			"notifications/cancelled": func(v *webRequest) {
				v.WriteHeader(http.StatusAccepted)
				told <- struct{}{}
			},
		})
		c := newReady(t, &s.HTTP, nil)
		sent := 0
		// On a busy machine time may be over before the server has the call.
		for idle := 50 * time.Millisecond; len(s.of("tools/call")) == 0; idle *= 2 {
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{IdleTimeout: idle})
			assert.As[*mcp.TimeoutError](t, err)
			if !mcp.SafeToRetry(err) {
				sent++
			}
		}
		<-gone
		if revision == mcp.Revision20260728 {
			sent = 0 // the end of the stream says it all
		}
		for range sent {
			<-told
		}
		assert.OK(t, c.Close())
		notes := s.of("notifications/cancelled")
		assert.Equal(t, len(notes), sent, "cancellations")
		if sent == 0 {
			return
		}
		// The calls before it may have come as late as it did.
		call := s.of("tools/call")[0].ID
		if !slices.ContainsFunc(notes, func(v *webRequest) bool {
			return memberOf(t, v.Params, "requestId") == string(call)
		}) {
			t.Errorf("call %s is not among what was cancelled", call)
		}
	})
}

// The session of a server that wants a revision that nobody here knows is ended,
// as it was begun.
func TestUnknownRevisionOverHTTP(t *testing.T) {
	initialize := result(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)
	s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){
		"initialize": func(v *webRequest) {
			v.ResponseWriter.Header().Set("Mcp-Session-Id", "s1")
			initialize(v)
		},
		http.MethodDelete: func(*webRequest) {},
	})
	assert.Fails(t, newClient(t, &s.HTTP, nil).Ready(t.Context()), "ready")
	ends := s.of(http.MethodDelete)
	wantLen(t, ends, 1, "ends")
	assert.Equal(t, ends[0].Header.Get("Mcp-Session-Id"), "s1", "get")
	assert.Equal(t, len(s.of("notifications/initialized")), 0)
}
