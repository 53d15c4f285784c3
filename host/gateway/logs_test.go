package gateway_test

//lint:file-ignore SA1019 Logging is deprecated since revision 2026-07-28, and works.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
					if err := c.Ready(ctx); err != nil {
						t.Fatal(err)
					}
					if err := c.SetLogLevel(ctx, "debug"); err != nil {
						t.Fatal(err)
					}
					all.Go(func() {
						var got []string
						ctx := mcp.WithLog(ctx, func(m *mcp.LogMessage) { got = append(got, string(m.Data)) })
						text := fmt.Sprintf(`"client %d"`, i)
						res, err := c.CallTool(ctx, "say", json.RawMessage(`{"text":`+text+`}`), nil)
						if err != nil {
							t.Error(err)
							return
						}
						if got := res.Text(); got != "said" {
							t.Errorf("got %q, want %q", got, "said")
						}
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
