package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

const question = "data: {\"jsonrpc\":\"2.0\",\"id\":\"qID\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}\n\n"

// TestQuestionsEndWithTheirCall has calls end while the server asks the user something:
// nobody can tell the client any more that the question is void. Sixteen of them would
// keep it from being asked ever again.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	for name, hangs := range map[string]bool{"the caller gives up": true, "the stream breaks": false} {
		t.Run(name, func(t *testing.T) {
			asked, over := make(chan struct{}, 99), make(chan struct{}, 99)
			s := &script{call: func(p *post) {
				if p.Method != "tools/call" {
					p.json(200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown"}}`)
					return
				}
				p.stream(strings.Replace(question, "ID", string(p.ID), 1))
				if hangs {
					p.hangs()
					return
				}
				<-asked
			}}
			var open atomic.Int32
			client := mcp.NewClient("s", &transport.HTTP{URL: listen(t, s)}, &mcp.ClientOptions{
				Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					open.Add(1)
					asked <- struct{}{}
					<-ctx.Done()
					open.Add(-1)
					over <- struct{}{}
					return nil, ctx.Err()
				},
			})
			defer func() { _ = client.Close() }()
			for range 20 {
				ctx, cancel := context.WithCancel(bounded(t))
				if hangs {
					go func() { <-asked; cancel() }()
				}
				_, err := client.CallTool(ctx, "x", json.RawMessage(`{}`), nil)
				cancel()
				if err == nil || hangs && !errors.Is(err, context.Canceled) {
					t.Fatalf("the call: %v", err)
				}
				select {
				case <-over:
				case <-bounded(t).Done():
					t.Fatalf("%d questions are open", open.Load())
				}
			}
		})
	}
}
