package mcp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A page that the user is done with is not the one that the server wants him to
// visit next, though it may have the same id.
func TestPageIsVisitedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(required(onePage), required(onePage), text("done"))})
		c := newClient(t, server, &mcp.ClientOptions{
			ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				select {
				case <-r.Completed:
					t.Error("the user is said to be done before he was asked")
				default:
				}
				time.AfterFunc(time.Minute, r.Done)
				return accept(nil), nil
			},
		})
		start := time.Now()
		mustCall(t, c, "x")
		assert.Equal(t, time.Since(start), 2*time.Minute, "the call took")
	})
}

// When the time of a call is over while the user is asked, or the client is
// closed, that is the error, whatever the handler made of its context.
func TestTimeIsOverWhileUserIsAsked(t *testing.T) {
	for revision, asks := range map[string]mcptest.Handler{
		mcp.Revision20251125: required(onePage),
		mcp.Revision20260728: needs(`{"a":{"method":"elicitation/create","params":`+visitQuestion("https://a.example/")+`}}`, ""),
	} {
		for name, ends := range map[string]struct {
			timeout time.Duration
			is      func(error) bool
		}{
			"total":  {time.Minute, func(err error) bool { var late *mcp.TimeoutError; return errors.As(err, &late) }},
			"closed": {time.Hour, func(err error) bool { return errors.Is(err, mcp.ErrClosed) }},
		} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": asks})
					c := newClient(t, server, &mcp.ClientOptions{
						ElicitURL: func(ctx context.Context, _ *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
							<-ctx.Done()
							return nil, errors.New("no answer")
						},
					})
					time.AfterFunc(2*time.Minute, func() { _ = c.Close() })
					_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{CallTimeout: ends.timeout})
					wantOutcome(t, err, mcp.Answered)
					if !ends.is(err) {
						t.Errorf("error %v", err)
					}
					_ = c.Close()
				})
			})
		}
	}
}
