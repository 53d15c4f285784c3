package gateway_test

//lint:file-ignore SA1019 Logging is deprecated since revision 2026-07-28, and works.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Clients hear of a changed tool if, and only if, it is one of their view.
func TestOnlyViewsThatChanged(t *testing.T) {
	//report: Gateway | Kuadrant/mcp-gateway#555, NousResearch/hermes-agent#115502 | list_changed comes without a change, or for tools that the client does not see | a client hears of a change of its own view, once
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{"part": {Servers: []string{"one"}}}})
	all, part := s.connect(t, &client{}).listen(t), s.connect(t, &client{path: "/p/part/mcp"}).listen(t)
	const changed = "notifications/tools/list_changed"
	addNative(t, s, "native")
	assert.Equal(t, all.message(t).Method, changed, "all")
	addTool(s.server.Server, "later", nil)
	assert.Equal(t, all.message(t).Method, changed, "all")
	assert.Equal(t, part.message(t).Method, changed, "part")
	one := s.connect(t, &client{path: "/s/one/mcp"}).listen(t)
	addTool(s.server.Server, "later", nil) // once more, as it was
	assert.Equal(t, one.message(t).Method, changed, "one server, which says that something has changed")
	assert.Equal(t, s.gateway.Close(), nil)
	assert.Equal(t, part.next("data"), "", "part: a second notification")
}

// A client is told that the list has changed in the mode direct only: in the others it has not.
func TestSearchListDoesNotChange(t *testing.T) {
	s := openSite(t, nil)
	streams := map[string]*listener{}
	for _, path := range []string{"/mcp/direct", "/mcp/search"} {
		for _, revision := range both {
			streams[path+" "+revision] = s.connect(t, &client{path: path, revision: revision}).listen(t)
		}
	}
	addTool(s.server.Server, "another", nil)
	s.server.AddPrompt(&sdk.Prompt{Name: "after"}, nil)
	for at, l := range streams {
		want := "notifications/tools/list_changed"
		if strings.Contains(at, "search") {
			want = "notifications/prompts/list_changed" // which came after the tool
		}
		m := l.message(t)
		for m.Method == "notifications/prompts/list_changed" && m.Method != want {
			m = l.message(t)
		}
		assert.Equal(t, m.Method, want, "%s", at)
	}
}

// BenchmarkToolsChanged tells what it costs that a tool is added, where 200 views of servers with 50
// tools each were used.
func BenchmarkToolsChanged(b *testing.B) {
	s := &site{server: newUpstream()}
	for i := range 46 {
		addTool(s.server.Server, fmt.Sprint("tool", i), nil)
	}
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprint("server", i))
	}
	s.open(b, s.hostOptions(), nil, commands(names...)...)
	for _, name := range names {
		s.connect(b, &client{path: "/s/" + name + "/mcp", user: name})
	}
	l := s.connect(b, &client{}).listen(b)
	n := 0
	for b.Loop() {
		n++
		addNative(b, s, fmt.Sprint("native", n))
		l.message(b)
	}
}

// Log messages pass between clients and servers of all revisions, to the client whose call caused them.
func TestLogCells(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		for _, revision := range both {
			t.Run(fmt.Sprintf("modern server %t/client %s", serverModern, revision), func(t *testing.T) {
				const users = 3
				var come sync.WaitGroup
				come.Add(users)
				server := newSDKServer()
				addTool(server, "say", func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) string {
					come.Done()
					come.Wait() // until all calls are under way
					if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: in.Text}); err != nil {
						return err.Error()
					}
					return "said"
				})
				s := openEntries(t, nil, "logging", serveSDK(t, server, serverModern))
				ctx := hosttest.Watchdog(t)
				var all sync.WaitGroup
				for i := range users {
					c := s.newUser(t, "/s/logging/mcp", "", revision, nil)
					assert.OK(t, c.Ready(ctx))
					assert.OK(t, c.SetLogLevel(ctx, "debug"))
					all.Go(func() {
						logged := ""
						text := fmt.Sprintf(`"client %d"`, i)
						res, err := c.CallTool(mcp.WithLog(ctx, func(m *mcp.LogMessage) { logged += string(m.Data) }), "say", json.RawMessage(`{"text":`+text+`}`), nil)
						if err != nil {
							t.Error(err)
							return
						}
						assert.Equal(t, res.Text()+" "+logged, "said "+text, "the result and what was logged")
					})
				}
				all.Wait()
			})
		}
	}
}

// A server logs what the client wants that wants most, and is not told again what it knows.
func TestLevelOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		var mu sync.Mutex
		var told []string
		s.server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if p, ok := r.GetParams().(*sdk.SetLoggingLevelParams); ok {
					mu.Lock()
					told = append(told, string(p.Level))
					mu.Unlock()
				}
				return next(ctx, method, r)
			}
		})
		for _, level := range []string{"error", "info", "warning"} {
			s.connect(t, &client{}).want(t, 0, "logging/setLevel", fmt.Sprintf(`"level":%q`, level))
		}
		for _, level := range []string{"debug", "notice"} {
			q := s.modern("a", "").query("tools/call", toolParams("one__echo", `{"text":"x"}`))
			q.body = strings.Replace(q.body, `"_meta":{`, fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/logLevel":%q,`, level), 1)
			assert.Equal(t, s.do(t, q).message(t).text(), "x")
		}
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, fmt.Sprint(told), "[error info debug]", "levels that the server was told")
	})
}
