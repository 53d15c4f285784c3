// Tests of exchange.go: whatever a caller waits for, it ends.

package mcp_test

import (
	"context"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// everyVerb are the methods of a client that wait for the server, by the request
// that each waits for.
func everyVerb() map[string]func(context.Context, *mcp.Client) error {
	return map[string]func(context.Context, *mcp.Client) error{
		"tools/call":     func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.CallTool(ctx, "x", nil, nil)) },
		"tools/list":     func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.Tools(ctx)) },
		"resources/list": func(ctx context.Context, c *mcp.Client) error { return assert.Err(collect(c.Resources(ctx))) },
		"resources/templates/list": func(ctx context.Context, c *mcp.Client) error {
			return assert.Err(collect(c.ResourceTemplates(ctx)))
		},
		"prompts/list":   func(ctx context.Context, c *mcp.Client) error { return assert.Err(collect(c.Prompts(ctx))) },
		"resources/read": func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.ReadResource(ctx, "a:a", nil)) },
		"prompts/get":    func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.GetPrompt(ctx, "p", nil, nil)) },
		"completion/complete": func(ctx context.Context, c *mcp.Client) error {
			return assert.Err(c.Complete(ctx, typed("a"), nil))
		},
		"tasks/get":        func(ctx context.Context, c *mcp.Client) error { return assert.Err(askTask(ctx, c, "tasks/get", "t")) },
		"tasks/cancel":     func(ctx context.Context, c *mcp.Client) error { return cancelTask(ctx, c, "t") },
		"logging/setLevel": func(ctx context.Context, c *mcp.Client) error { return c.SetLogLevel(ctx, "info") },
		"com.example/any": func(ctx context.Context, c *mcp.Client) error {
			return assert.Err(c.Request(ctx, "com.example/any", nil, nil))
		},
	}
}

const offeringAll = `{"tools":{"listChanged":true},"resources":{},"prompts":{},"completions":{},"logging":{},` +
	`"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`

// Whatever a method waits for, it returns at once when its context ends, when the
// client is closed, and in the end when the server dies of it each time, with an
// error that tells what became of the request.
func TestEveryWaitEnds(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		for method, use := range everyVerb() {
			if revision == mcp.Revision20260728 && method == "logging/setLevel" {
				continue // has none
			}
			awaited := func(handler mcptest.Handler) (*mcptest.Server, *mcp.Client) {
				script := mcptest.Script{"tools/list": mcptest.Result(`{"tools":[]}`)}
				script[method] = handler
				server, c := p.withReady(t, mcptest.NewServer(t, mcptest.Handshake(revision, offeringAll), script), &mcp.ClientOptions{Tasks: true})
				return server, c
			}
			server, c := awaited(mcptest.Hang)
			ctx, cancel := context.WithCancel(t.Context())
			cancelled := inBackground(func() error { return use(ctx, c) })
			pass(time.Second)
			start := time.Now()
			cancel()
			err := <-cancelled
			assert.Is(t, err, context.Canceled, "%s, cancelled", method)
			wantOutcome(t, err, mcp.Unknown)
			wantOther(t, len(server.Received(method)), 0, "%s: messages", method)
			assert.Equal(t, time.Since(start), 0, "%s, cancelled: time", method)
			closed := inBackground(func() error { return use(t.Context(), c) })
			pass(time.Second)
			_ = c.Close()
			wantOther(t, mcp.OutcomeOf(<-closed), mcp.Answered, "%s, closed: outcome", method)
			assert.Equal(t, time.Since(start), time.Second, "%s, closed: time", method)

			server, c = awaited(mcptest.Disconnect)
			want := mcp.Unknown
			if method == "logging/setLevel" {
				want = mcp.Answered // without an error: the next connection is told
			}
			assert.Equal(t, mcp.OutcomeOf(use(t.Context(), c)), want, "%s, dead: outcome", method)
			assert.Between(t, len(server.Received(method)), 1, 6, "%s, dead: messages", method)
			_ = c.Close()
		}
	})
}
