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
		"tools/call": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.CallTool(ctx, "x", nil, nil)
			return err
		},
		"tools/list": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.Tools(ctx)
			return err
		},
		"resources/list": func(ctx context.Context, c *mcp.Client) error {
			for _, err := range c.Resources(ctx) {
				return err
			}
			return nil
		},
		"resources/templates/list": func(ctx context.Context, c *mcp.Client) error {
			for _, err := range c.ResourceTemplates(ctx) {
				return err
			}
			return nil
		},
		"prompts/list": func(ctx context.Context, c *mcp.Client) error {
			for _, err := range c.Prompts(ctx) {
				return err
			}
			return nil
		},
		"resources/read": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.ReadResource(ctx, "a:a", nil)
			return err
		},
		"prompts/get": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.GetPrompt(ctx, "p", nil, nil)
			return err
		},
		"completion/complete": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.NewCompleter(nil).Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "p"},
				Argument: mcp.CompleteArgument{Name: "a"},
			})
			return err
		},
		"tasks/get": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.Task(ctx, "t")
			return err
		},
		"tasks/cancel": func(ctx context.Context, c *mcp.Client) error { return c.CancelTask(ctx, "t") },
		"tasks/list": func(ctx context.Context, c *mcp.Client) error {
			for _, err := range c.Tasks(ctx) {
				return err
			}
			return nil
		},
		"logging/setLevel": func(ctx context.Context, c *mcp.Client) error { return c.SetLogLevel(ctx, "info") },
		"com.example/any": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.Request(ctx, "com.example/any", nil, nil)
			return err
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
			if revision == mcp.Revision20260728 && (method == "tasks/list" || method == "logging/setLevel") {
				continue // has none
			}
			awaited := func(handler mcptest.Handler) (*mcptest.Server, *mcp.Client) {
				script := mcptest.Script{"tools/list": mcptest.Result(`{"tools":[]}`)}
				script[method] = handler
				server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, offeringAll), script), &mcp.ClientOptions{Tasks: true})
				ready(t, c)
				return server, c
			}
			ended := func(c *mcp.Client, ctx context.Context) <-chan error {
				end := inBackground(func() error { return use(ctx, c) })
				time.Sleep(time.Second) // sleep: on the bubble's clock
				return end
			}
			server, c := awaited(mcptest.Hang)
			ctx, cancel := context.WithCancel(t.Context())
			end := ended(c, ctx)
			start := time.Now()
			cancel()
			err := <-end
			assert.Fails(t, err, "%s, cancelled", method)
			assert.Is(t, err, context.Canceled, "%s, cancelled", method)
			wantOutcome(t, err, mcp.Unknown)
			wantOther(t, len(server.Received(method)), 0, "%s: messages", method)
			end = ended(c, t.Context())
			_ = c.Close()
			err = <-end
			if took := time.Since(start); took > 2*time.Second { // one is that of ended
				t.Errorf("%s: the ends took %v", method, took)
			}
			if err == nil || mcp.OutcomeOf(err) == mcp.Answered {
				t.Errorf("%s, closed: error %v, outcome %v", method, err, mcp.OutcomeOf(err))
			}

			server, c = awaited(mcptest.Disconnect)
			err = use(t.Context(), c)
			if method == "logging/setLevel" {
				if err != nil { // the next connection is told
					t.Errorf("dead: error %v", err)
				}
			} else if err == nil || mcp.OutcomeOf(err) != mcp.Unknown {
				t.Errorf("%s, dead: error %v, outcome %v", method, err, mcp.OutcomeOf(err))
			}
			wantBetween(t, len(server.Received(method)), 1, 6, "%s, dead: messages", method)
			_ = c.Close()
		}
	})
}
