package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Many ask, approve, refuse, wait and go at once. Each call that was approved ran
// once, who waited for it knows, no other ran, and nothing is left.
func TestApprovalsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		r := New(&Options{
			Approvals: ApprovalOptions{TTL: time.Second, MaxPending: 40},
			Approver: ApproverFunc(func(context.Context, *ApprovalRequest) (Decision, error) {
				return Decision{Verdict: Ask}, nil
			}),
		})
		if err := r.Add(MustFunc("tool", "", func(context.Context, map[string]int) (string, error) {
			time.Sleep(rand.N(200 * time.Millisecond))
			return fmt.Sprint(ran.Add(1)), nil
		})); err != nil {
			t.Fatal(err)
		}
		r.Use(func(next Handler) Handler {
			return func(ctx context.Context, call *Call) (*mcp.CallToolResult, error) {
				if rand.N(4) == 0 {
					return nil, mcp.WithOutcome(errors.New("away"), mcp.NotSent)
				}
				return next(ctx, call)
			}
		})

		var mu sync.Mutex
		made := map[string]string{} // the answer, by id, as Resume got it
		told := map[string]string{} // as Await got it; empty: the call was not made
		said := func(res *mcp.CallToolResult) string { return res.Content[0].(*mcp.TextContent).Text }
		var users sync.WaitGroup
		for u := range 8 {
			ctx := onbehalf.With(t.Context(), fmt.Sprint(u%3))
			users.Go(func() { // an agent
				for range 100 {
					c := WithConversation(ctx, fmt.Sprint(rand.N(2)))
					_, err := r.Call(c, "tool", json.RawMessage(fmt.Sprintf(`{"n":%d}`, rand.N(20))))
					var required *ApprovalRequiredError
					var denied *DeniedError
					switch {
					case errors.As(err, &denied): // too many wait
						time.Sleep(rand.N(time.Second))
						continue
					case !errors.As(err, &required):
						t.Error(err)
						return
					}
					id := required.Request.ID
					res, err := r.Await(ctx, id)
					mu.Lock()
					switch {
					case err == nil:
						told[id] = said(res)
					case errors.As(err, &denied):
						told[id] = ""
					default:
						t.Error(err)
					}
					mu.Unlock()
					if rand.N(20) == 0 {
						r.EndConversation(c)
					}
				}
			})
			users.Go(func() { // the user
				for range 300 {
					time.Sleep(rand.N(100 * time.Millisecond))
					for _, req := range r.Approvals(ctx) {
						switch rand.N(6) {
						case 0:
							_ = r.Refuse(ctx, req.ID, "")
						case 1, 2:
							res, err := r.Resume(ctx, req.ID, nil)
							if err != nil {
								break
							}
							mu.Lock()
							if before, twice := made[req.ID]; twice {
								t.Errorf("a call was made twice: %s, %s", before, said(res))
							}
							made[req.ID] = said(res)
							mu.Unlock()
						}
					}
				}
			})
		}
		users.Wait()
		for id, answer := range told {
			if made[id] != answer {
				t.Errorf("made: %q, awaited: %q", made[id], answer)
			}
		}
		if len(made) != int(ran.Load()) || len(made) < 20 {
			t.Errorf("%d calls were approved, %d ran", len(made), ran.Load())
		}
		time.Sleep(time.Hour)
		r.approvals.idle(t)
	})
}
