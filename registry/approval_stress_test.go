// Tests of approval_pending.go and approval_resume.go: many calls at once.

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// Many ask, approve, refuse, wait and go at once. Each call that was approved ran
// once, who waited for it knows, no other ran, and nothing is left.
func TestApprovalsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		r := New(&Options{
			Approvals: approval.Options{TTL: time.Second, MaxPending: 40},
			Approver: ApproverFunc(func(context.Context, *ApprovalRequest) (approval.Decision, error) {
				return approval.Decision{Verdict: approval.Ask}, nil
			}),
		})
		assert.OK(t, r.Add(MustFunc("tool", "", func(context.Context, map[string]int) (string, error) {
			time.Sleep(rand.N(200 * time.Millisecond))
			return fmt.Sprint(ran.Add(1)), nil
		})))
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
					var denied *approval.DeniedError
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
							_ = r.Deny(ctx, req.ID, "")
						case 1, 2:
							res, err := r.Approve(ctx, req.ID, nil)
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
			assert.Equal(t, made[id], answer, "made")
		}
		if len(made) != int(ran.Load()) || len(made) < 20 {
			t.Errorf("%d calls were approved, %d ran", len(made), ran.Load())
		}
		time.Sleep(time.Hour)
		r.approvals.idle(t)
	})
}

// A flipping is a tool that notes down what runs, and under which definition.
type flipping struct {
	def *Definition
	ran func(def *Definition, args string)
}

func (f *flipping) Definition() *Definition { return f.def }

func (f *flipping) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	f.ran(f.def, string(args))
	return resultOf(textBlock("done")), nil
}

// Definitions flip while calls wait and are resumed, four times at once each. No call
// runs with other arguments, or as another tool, than was shown, and none runs twice.
// MCPBELT_SOAK=1 makes 3,200 calls.
func TestApprovalsWhileDefinitionsFlip(t *testing.T) {
	calls, resumes, workers := 160, 4, 16
	if os.Getenv("MCPBELT_SOAK") != "" {
		calls = 3200
	}
	type seen struct{ tool, args string }
	var (
		mu                               sync.Mutex
		shown                            = map[int]seen{}   // by the number of the call
		ran                              = map[int][]seen{} // the same
		made, stale, tooLate, questioned int
	)
	number := func(args string) int {
		var in struct{ N int }
		assert.OK(t, json.Unmarshal([]byte(args), &in), "arguments %q", args)
		return in.N
	}
	var surfaces [2][]Tool
	for i, text := range []string{"reads", "deletes"} {
		surfaces[i] = []Tool{&flipping{
			def: &Definition{
				Name: "s__tool", Description: text, Origin: Origin{"s", "tool"},
				InputSchema: json.RawMessage(`{"type":"object","description":"` + text + `"}`),
			},
			ran: func(def *Definition, args string) {
				mu.Lock()
				defer mu.Unlock()
				n := number(args)
				ran[n] = append(ran[n], seen{def.Description, args})
			},
		}}
	}
	r := New(&Options{Approver: ApproverFunc(func(_ context.Context, req *ApprovalRequest) (approval.Decision, error) {
		defer clear(req.Args) // which are a copy
		mu.Lock()
		defer mu.Unlock()
		if now := (seen{req.Tool.Description, string(req.Args)}); req.ID != "" && shown[number(now.args)] != now {
			questioned++
		}
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	flip := func() {
		assert.Value(r.Replace(Server{Name: "s"}, surfaces[rand.N(2)]))(t)
	}
	flip()
	r.Use(func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*mcp.CallToolResult, error) {
			if rand.N(4) == 0 { // after the call was confirmed
				flip()
			}
			return next(ctx, call)
		}
	})

	ended := make(chan struct{})
	var flipper, agents sync.WaitGroup
	flipper.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				flip()
				runtime.Gosched()
			}
		}
	})
	resume := func(ctx context.Context, id string) {
		_, err := r.Approve(ctx, id, nil)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			made++
		case errors.As(err, new(*approval.StaleError)):
			stale++
		case errors.As(err, new(*approval.UnknownError)):
			tooLate++
		default:
			t.Error(err)
		}
	}
	numbers := make(chan int)
	for i := range workers {
		ctx := onbehalf.With(t.Context(), fmt.Sprint(i%3))
		agents.Go(func() {
			for n := range numbers {
				args := json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
				_, err := r.Call(ctx, "s__tool", args)
				var required *ApprovalRequiredError
				if !errors.As(err, &required) {
					t.Errorf("got %v, want an ApprovalRequiredError", err)
					continue
				}
				mu.Lock()
				shown[n] = seen{required.Request.Tool.Description, string(required.Request.Args)}
				mu.Unlock()
				clear(args)
				clear(required.Request.Args)
				var all sync.WaitGroup
				for range resumes {
					all.Go(func() { resume(ctx, required.Request.ID) })
				}
				all.Wait()
			}
		})
	}
	for n := range calls {
		numbers <- n
	}
	close(numbers)
	agents.Wait()
	close(ended)
	flipper.Wait()

	others, twice := 0, 0
	for n, all := range ran {
		if len(all) > 1 {
			twice++
		}
		for _, one := range all {
			if one != shown[n] {
				others++
			}
		}
	}
	t.Logf("%d calls, %d resumes each: %d ran, %d were stale, %d resumes came too late; %d ran other than shown, %d more than once", calls, resumes, made, stale, tooLate, others, twice)
	assert.Equal(t, others, 0, "calls that ran with other arguments or another definition than was shown")
	assert.Equal(t, twice, 0, "calls that ran more than once")
	assert.Equal(t, questioned, 0, "calls that the approver was asked again about as something else")
	assert.Equal(t, len(ran), made, "calls that ran")
	assert.Equal(t, made+stale+tooLate, calls*resumes, "resumes that ended as they may")
	assert.Equal(t, made == 0, false)
	assert.Equal(t, stale == 0, false)
}
