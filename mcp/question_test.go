package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const sampling = `{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`

// questions counts those that come to the handlers.
type questions struct{ elicited, sampled atomic.Int64 }

func (q *questions) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			q.elicited.Add(1)
			return annAnswers(ctx, r)
		},
		ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			q.elicited.Add(1)
			r.Done()
			return accept(nil), nil
		},
		Sample: func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
			q.sampled.Add(1)
			return &mcp.SampleResult{Content: []mcp.Content{&mcp.TextContent{Text: "yes"}}}, nil
		},
	}
}

// asksOften answers a call with how often its questions were answered with a text.
func asksOften(n int, method, params, answer string) mcptest.Handler {
	return func(c *mcptest.Call) {
		count := 0
		for range n {
			got, err := c.Ask(method, params)
			if strings.Contains(fmt.Sprint(string(got), err), answer) {
				count++
			}
		}
		answerText(c, fmt.Sprint(count))
	}
}

// A server of an older revision that asks 1,000 times in one call is answered 16 times.
func TestFloodOfQuestionsInACall(t *testing.T) {
	for _, test := range []struct{ method, params, declined string }{
		{"elicitation/create", question, `"action":"decline"`},
		{"sampling/createMessage", sampling, "too many questions"},
	} {
		for _, p := range planes() {
			t.Run(test.method+"/"+p.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					var asked questions
					opts := asked.options()
					opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
					server := legacy(t, mcptest.Script{"tools/call": asksOften(1_000, test.method, test.params, test.declined)})
					c := newClient(t, p.to(server), opts)
					assert.Equal(t, textOf(t, mustCall(t, c, "x")), "984", "questions declined")
					assert.Equal(t, asked.elicited.Load()+asked.sampled.Load(), 16, "questions for the handler")
					assert.Equal(t, c.State().QuestionsDeclined, 984, "declined in State")
					_ = c.Close()
					assert.Equal(t, strings.Count(log.String(), "level=WARN"), 1)
				})
			})
		}
	}
}

// The next call is asked anew, and the bound can be another one.
func TestQuestionsOfEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked questions
		opts := asked.options()
		opts.MaxQuestions = 3
		server := legacy(t, mcptest.Script{"tools/call": asksOften(5, "elicitation/create", question, `"accept"`)})
		c := newClient(t, server, opts)
		for range 3 {
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "3", "questions answered")
		}
	})
}

// What one connection asks in many calls, or without any, is bounded, too.
func TestFloodOfQuestionsOfAConnection(t *testing.T) {
	for name, inCalls := range map[string]bool{"in calls": true, "by itself": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked questions
				server := legacy(t, mcptest.Script{
					"tools/call": asksOften(1, "elicitation/create", question, "accept"),
					"notifications/initialized": func(c *mcptest.Call) {
						for range 200 {
							if !inCalls {
								_, _ = c.Ask("elicitation/create", question)
							}
						}
					},
				})
				c := newClient(t, server, asked.options())
				ready(t, c)
				for range 200 {
					if inCalls {
						mustCall(t, c, "x")
					}
				}
				synctest.Wait()
				assert.Equal(t, asked.elicited.Load(), 64, "questions at once")
				assert.Equal(t, c.State().QuestionsDeclined, 136, "declined in State")
				time.Sleep(10 * time.Second)
				for range 20 {
					mustCall(t, c, "x")
				}
				if got := asked.elicited.Load(); inCalls && got != 74 {
					t.Errorf("got %d questions ten seconds later, want 74", got)
				}
			})
		})
	}
}

// In revision 2026-07-28, where questions come with results, the bound is the same.
func TestFloodOfQuestionsInResults(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		var many []string
		for i := range 16 {
			many = append(many, fmt.Sprintf(`"%d":%s`, i, inputRequest))
		}
		all := needs("{"+strings.Join(many, ",")+"}", "")
		server := modern(t, mcptest.Script{"tools/call": mcptest.Sequence(all, all, all, text("done"))})
		var asked questions
		c := newClient(t, p.to(server), asked.options())
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done")
		assert.Equal(t, asked.elicited.Load(), 16, "questions for the handler")
		assert.Equal(t, c.State().QuestionsDeclined, 32, "declined in State")
		received := server.Received("tools/call")
		assert.Equal(t, strings.Count(string(received[2].Params), `{"action":"decline"}`), 16, "declined in the second answer")
	})
}

// There a sampling that is declined is an error of the call.
func TestFloodOfSamplingInResults(t *testing.T) {
	server := modern(t, mcptest.Script{"tools/call": needs(`{"a":{"method":"sampling/createMessage","params":`+sampling+`}}`, "")})
	var asked questions
	opts := asked.options()
	opts.MaxQuestions = 3
	c := newClient(t, server, opts)
	_, err := call(t, c, "x")
	wantOutcome(t, err, mcp.Answered)
	assert.Contains(t, err.Error(), "too many questions")
	assert.Equal(t, asked.sampled.Load(), 3, "questions for the handler")
}

// Pages to be visited before a call are questions.
func TestFloodOfPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := strings.Repeat(`{"url":"https://a.example"},`, 9)
		server := legacy(t, mcptest.Script{"tools/call": required(`{"elicitations":[` + strings.TrimSuffix(pages, ",") + `]}`)})
		var asked questions
		c := newClient(t, server, asked.options())
		_, err := call(t, c, "x")
		wantOutcome(t, err, mcp.Answered)
		assert.Contains(t, err.Error(), "too many questions")
		assert.Equal(t, asked.elicited.Load(), 16, "pages for the handler")
	})
}

// Calls at the same time have their questions each.
func TestQuestionsOfCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked questions
		server := legacy(t, mcptest.Script{"tools/call": asksOften(16, "elicitation/create", question, "accept")})
		c := newClient(t, server, asked.options())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { mustCall(t, c, "x") })
		}
		all.Wait()
		assert.Equal(t, asked.elicited.Load(), 48, "questions for the handler")
	})
}

// A task is one call, however often it is looked at.
func TestFloodOfQuestionsInATask(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		asks := func(answer mcptest.Handler) mcptest.Handler {
			return func(c *mcptest.Call) {
				for range 10 {
					_, _ = c.Ask("elicitation/create", question)
				}
				answer(c)
			}
		}
		server := s.server(t, mcptest.Script{
			"tools/call":   asks(mcptest.Result(s.created())),
			"tasks/get":    mcptest.Sequence(asks(s.get("working")), asks(s.get("working")), asks(s.get("completed"))),
			"tasks/result": asks(mcptest.Result(taskResult)),
		})
		var asked questions
		c := newClient(t, p.to(server), asked.options())
		assert.Value(call(t, c, "must"))(t)
		assert.Equal(t, asked.elicited.Load(), 16, "questions for the handler")
	})
}
