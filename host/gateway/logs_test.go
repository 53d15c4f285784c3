package gateway_test

//lint:file-ignore SA1019 Logging is deprecated since revision 2026-07-28, and works.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// newLoggingServer returns the URL of a server whose tool say logs what it is given, as soon as so many
// calls of it are under way.
func newLoggingServer(t *testing.T, modern bool, calls int) string {
	var all sync.WaitGroup
	all.Add(calls)
	server := sdk.NewServer(&sdk.Implementation{Name: "logging", Version: "1"}, nil)
	addTool(server, "say", func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) string {
		all.Done()
		all.Wait()
		if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: in.Text}); err != nil {
			return err.Error()
		}
		return "said"
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: modern})
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

// Log messages pass between clients and servers of all revisions, to the client whose call caused them.
func TestLogCells(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		for _, revision := range both {
			t.Run(fmt.Sprintf("modern server %t/client %s", serverModern, revision), func(t *testing.T) {
				const users = 3
				entry := fmt.Sprintf(`{"type":"http","url":%q}`, newLoggingServer(t, serverModern, users))
				url, _ := newGateway(t, nil, "logging", entry)
				ctx := hosttest.Watchdog(t)
				var all sync.WaitGroup
				for i := range users {
					c := newUser(t, url+"/s/logging/mcp", "", revision, nil)
					assert.OK(t, c.Ready(ctx))
					assert.OK(t, c.SetLogLevel(ctx, "debug"))
					all.Go(func() {
						var got []string
						ctx := mcp.WithLog(ctx, func(m *mcp.LogMessage) { got = append(got, string(m.Data)) })
						text := fmt.Sprintf(`"client %d"`, i)
						res, err := c.CallTool(ctx, "say", json.RawMessage(`{"text":`+text+`}`), nil)
						if err != nil {
							t.Error(err)
							return
						}
						assert.Equal(t, res.Text(), "said")
						if want := []string{text}; !slices.Equal(got, want) {
							t.Errorf("got log messages %q, want %q", got, want)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// Servers log what the clients that are there want, and are told so at most once a minute when one goes.
func TestLevelOfClientsThatAreThere(t *testing.T) {
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
		want := func(what string, want ...string) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(told, want) {
				t.Errorf("%s: got the levels %q, want %q", what, told, want)
			}
			told = nil
		}
		time.Sleep(30 * time.Second) // between two minutes, when the sweeper comes
		ids := map[string]string{}
		for _, level := range []string{"error", "debug", "info", "error"} {
			ids[level] = s.begin(t, "/mcp", "", mcp.Revision20251125)
			s.wantCode(t, level, shot{session: ids[level], body: callOf(2, "logging/setLevel", fmt.Sprintf(`{"level":%q}`, level))}, 0)
		}
		want("as they come", "error", "debug")
		s.wantCode(t, "again", shot{session: ids["debug"], body: callOf(3, "logging/setLevel", `{"level":"warning"}`)}, 0)
		want("another level", "info")
		for _, level := range []string{"info", "debug"} {
			s.do(t, shot{method: http.MethodDelete, session: ids[level]})
		}
		want("gone", "error")
		in := modern("", "", "tools/call", "one__echo", `"name":"one__echo","arguments":{"text":"x"}`)
		in.body = strings.Replace(in.body, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"notice",`, 1)
		s.wantCode(t, "call", in, 0)
		want("for a call", "notice", "error")
		time.Sleep(time.Hour) // the others were idle
		want("none", "emergency")
	})
}
