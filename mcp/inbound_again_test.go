package mcp_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server that uses the id of a question again, which it has withdrawn, gets the
// answer to its last question, however late the handler of the first returns.
func TestServerAsksAgainByTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := assert.Value(jsonrpc.MakeID("q"))(t)
		ask := func(message string) *jsonrpc.Request {
			return &jsonrpc.Request{ID: id, Method: "elicitation/create", Params: json.RawMessage(`{"message":"` + message + `"}`)}
		}
		answers := make(chan string, 2)
		serve := func(ctx context.Context, to mcp.Transport) error {
			conn, err := to.Connect(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			for {
				m, err := conn.Read(ctx)
				if err != nil {
					return nil
				}
				switch m := m.(type) {
				case *jsonrpc.Response:
					answers <- string(m.Result)
				case *jsonrpc.Request:
					var out []jsonrpc.Message
					switch m.Method {
					case "initialize":
						out = append(out, &jsonrpc.Response{ID: m.ID, Result: json.RawMessage(
							`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)})
					case "server/discover":
						out = append(out, &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: -32601, Message: "no"}})
					case "notifications/initialized":
						out = append(out, ask("first"),
							&jsonrpc.Request{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":"q"}`)}, ask("second"))
					}
					for _, m := range out {
						if err := conn.Write(ctx, m); err != nil {
							return nil
						}
						time.Sleep(time.Second) // sleep: on the bubble's clock
					}
				}
			}
		}
		c := newClient(t, &transport.Pipe{Serve: serve}, &mcp.ClientOptions{
			Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				time.Sleep(time.Minute) // sleep: on the bubble's clock
				return accept(map[string]any{"to": r.Params.Message}), nil
			},
		})
		ready(t, c)
		time.Sleep(90 * time.Second) // sleep: on the bubble's clock
		_ = c.Close()
		close(answers)
		var got []string
		for answer := range answers {
			got = append(got, answer)
		}
		wantLen(t, got, 1)
		assert.Contains(t, got[0], "second")
	})
}
