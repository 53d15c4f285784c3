// Tests of server_request.go and question.go: which request makes a server ask, and how often it may.

package mcp_test

//lint:file-ignore SA1019 sampling is deprecated and in use.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
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

// A requestLog answers server requests and counts them. It notes for each whose context
// the handler got, and the cause that it was told.
type requestLog struct {
	elicited, sampled atomic.Int64

	mu   sync.Mutex
	seen []string // such as "ann true draw"
}

func (l *requestLog) options() *mcp.ClientOptions {
	note := func(ctx context.Context, count *atomic.Int64, caused bool, tool string) {
		count.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		user, _ := ctx.Value(userKey{}).(string)
		l.seen = append(l.seen, strings.TrimSpace(fmt.Sprintf("%s %v %s", user, caused, tool)))
	}
	return &mcp.ClientOptions{
		Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			note(ctx, &l.elicited, r.Caused, r.Tool)
			return annAnswers(ctx, r)
		},
		ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			note(ctx, &l.elicited, r.Caused, r.Tool)
			r.Done()
			return accept(nil), nil
		},
		Sample: func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
			note(ctx, &l.sampled, r.Caused, r.Tool)
			return &mcp.SampleResult{Content: []mcp.Content{&mcp.TextContent{Text: "yes"}}}, nil
		},
	}
}

// withRequestLog returns a client that answers server requests, and the log of them.
func withRequestLog(t *testing.T, to mcp.Transport) (*requestLog, *mcp.Client) {
	t.Helper()
	log := &requestLog{}
	return log, newClient(t, to, log.options())
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

// A server of an older revision that asks 40 times in one call is answered 16 times.
func TestFloodOfQuestionsInACall(t *testing.T) {
	for _, test := range []struct{ method, params, declined string }{
		{"elicitation/create", question, `"action":"decline"`},
		{"sampling/createMessage", sampling, "too many questions"},
	} {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			var log bytes.Buffer
			var asked requestLog
			opts := asked.options()
			opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c := newClient(t, p.to(legacy(t, mcptest.Script{"tools/call": asksOften(40, test.method, test.params, test.declined)})), opts)
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "24", "questions declined")
			assert.Equal(t, asked.elicited.Load()+asked.sampled.Load(), 16, "questions for the handler")
			assert.Equal(t, c.State().QuestionsDeclined, 24, "declined in State")
			_ = c.Close()
			assert.Equal(t, strings.Count(log.String(), "level=WARN"), 1, "warnings")
		})
	}
}

// The next call is asked anew, and the bound can be another one.
func TestQuestionsOfEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := new(requestLog).options()
		opts.MaxQuestions = 3
		c := newClient(t, legacy(t, mcptest.Script{"tools/call": asksOften(5, "elicitation/create", question, `"accept"`)}), opts)
		for range 3 {
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "3", "questions answered")
		}
	})
}

// What one connection asks in many calls, or without any, is bounded, too.
func TestFloodOfQuestionsOfAConnection(t *testing.T) {
	for _, test := range []struct {
		name       string
		script     mcptest.Script
		calls      int
		atOnce     int64
		afterwards int64 // and after twenty calls, ten seconds later
	}{
		{"in calls", mcptest.Script{"tools/call": asksOften(1, "elicitation/create", question, "accept")}, 200, 64, 74},
		{"by itself", mcptest.Script{"tools/call": text(""), "notifications/initialized": asksOften(200, "elicitation/create", question, "")}, 0, 64, 64},
	} {
		runInBubble(t, test.name, func(t *testing.T) {
			asked, c := withRequestLog(t, legacy(t, test.script))
			ready(t, c)
			for range test.calls {
				mustCall(t, c, "x")
			}
			synctest.Wait()
			assert.Equal(t, asked.elicited.Load(), test.atOnce, "questions at once")
			assert.Equal(t, c.State().QuestionsDeclined, 136, "declined in State")
			pass(10 * time.Second)
			for range 20 {
				mustCall(t, c, "x")
			}
			assert.Equal(t, asked.elicited.Load(), test.afterwards, "questions ten seconds later")
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
		asked, c := withRequestLog(t, p.to(server))
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done")
		assert.Equal(t, asked.elicited.Load(), 16, "questions for the handler")
		assert.Equal(t, c.State().QuestionsDeclined, 32, "declined in State")
		assert.Equal(t, strings.Count(string(server.Received("tools/call")[2].Params), `{"action":"decline"}`), 16, "declined in the second answer")
	})
}

// There a sampling that is declined is an error of the call, and so is a page to be visited
// before a call.
func TestFloodOfSamplingInResults(t *testing.T) {
	for _, server := range []*mcptest.Server{
		modern(t, mcptest.Script{"tools/call": needs(`{"a":{"method":"sampling/createMessage","params":`+sampling+`}}`, "")}),
		legacy(t, mcptest.Script{"tools/call": required(`{"elicitations":[{"url":"https://a.example"},{"url":"https://a.example"}]}`)}),
	} {
		var asked requestLog
		opts := asked.options()
		opts.MaxQuestions = 3
		_, err := call(t, newClient(t, server, opts), "x")
		wantOutcome(t, err, mcp.Answered)
		assert.Contains(t, err.Error(), "too many questions")
		assert.Equal(t, asked.elicited.Load()+asked.sampled.Load(), 3, "questions for the handler")
	}
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
		asked, c := withRequestLog(t, p.to(s.server(t, mcptest.Script{
			"tools/call":   asks(mcptest.Result(s.created())),
			"tasks/get":    mcptest.Sequence(asks(s.get("working")), asks(s.get("working")), asks(s.get("completed"))),
			"tasks/result": asks(mcptest.Result(taskResult)),
		})))
		mustCall(t, c, "must")
		assert.Equal(t, asked.elicited.Load(), 16, "questions for the handler")
	})
}

type userKey struct{}

// as returns a context of a user's call.
func as(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// want checks what was seen since it was called last, in any order.
func (l *requestLog) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.List(t, slices.Sorted(slices.Values(l.seen)), want)
	l.seen = nil
}

// serverRequests are the kinds of server requests that have a handler.
var serverRequests = []struct{ name, method, params string }{
	{"form", "elicitation/create", question},
	{"url", "elicitation/create", `{"mode":"url","message":"?","url":"https://a.example/","elicitationId":"1"}`},
	{"sampling", "sampling/createMessage", sampling},
}

// Over HTTP each of two calls under way gets its own server request, with the values of
// its own user, and the answer carries that user's header fields.
func TestCauseOverHTTP(t *testing.T) {
	for _, kind := range serverRequests {
		t.Run(kind.name, func(t *testing.T) {
			var both, all sync.WaitGroup
			both.Add(2)
			answered := map[string]chan string{"ann": make(chan string, 1), "bob": make(chan string, 1)}
			s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){
				"tools/call": func(v *webRequest) {
					var params struct{ Name string }
					assert.Is(t, json.Unmarshal(v.Params, &params), nil)
					both.Done()
					both.Wait()
					v.stream(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, params.Name, kind.method, kind.params))
					select {
					case user := <-answered[params.Name]:
						v.stream(fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":%q}]}}`, user))
					case <-v.gone:
					}
				},
				"": func(v *webRequest) { // an answer to a question
					var id string
					_ = json.Unmarshal(v.ID, &id)
					answered[id] <- v.Header.Get("X-User")
					v.WriteHeader(http.StatusAccepted)
				},
			})
			log, c := withRequestLog(t, &s.HTTP)
			ready(t, c)
			for user := range answered {
				all.Go(func() {
					res, err := c.CallTool(mcp.WithHTTPHeader(as(t.Context(), user), http.Header{"X-User": {user}}), user, nil, nil)
					assert.Is(t, err, nil)
					assert.Equal(t, res.Text(), user, "an answer with the header field of")
				})
			}
			all.Wait()
			log.want(t, "ann true ann", "bob true bob")
		})
	}
}

// On a stream the cause is known while one call is under way, and not while there are two.
func TestCauseOnAStream(t *testing.T) {
	for _, kind := range serverRequests {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			release := make(chan struct{})
			log, c := withRequestLog(t, p.to(legacy(t, mcptest.Script{
				"notifications/initialized": asksOften(1, kind.method, kind.params, ""),
				"tools/call": func(c *mcptest.Call) {
					if strings.Contains(string(c.Params), `"waits"`) {
						<-release
					} else {
						assert.Is(t, assert.Err(c.Ask(kind.method, kind.params)), nil)
					}
					answerText(c, "done")
				},
			})))
			ready(t, c)
			synctest.Wait()
			log.want(t, "false") // no call is under way
			wantCause := func(want string) {
				t.Helper()
				assert.Value(c.CallTool(as(t.Context(), "ann"), "asks", nil, nil))(t)
				log.want(t, want)
			}
			wantCause("ann true asks")
			other := inBackground(func() error { return assert.Err(c.CallTool(as(t.Context(), "bob"), "waits", nil, nil)) })
			synctest.Wait()
			wantCause("false")
			close(release)
			assert.OK(t, <-other)
			wantCause("ann true asks")
		})
	}
}

// The server may still be at work for a call that was given up.
func TestCauseAfterACallGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log requestLog
		opts := log.options()
		opts.CallTimeout = time.Minute
		c := newReady(t, legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(mcptest.Hang, asking(question))}), opts)
		assert.Fails(t, assert.Err(c.CallTool(as(within(t, time.Second), "bob"), "x", nil, nil)))
		for _, want := range []string{"false", "ann true x"} {
			assert.Value(c.CallTool(as(t.Context(), "ann"), "x", nil, nil))(t)
			log.want(t, want)
			pass(time.Minute)
		}
	})
}

// A request that names a task belongs to the call that waits for the task, and another
// one may belong to any task.
func TestCauseOfATask(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		related := strings.TrimSuffix(question, "}") + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`
		release := make(chan struct{})
		log, c := withRequestLog(t, p.to(s.server(t, mcptest.Script{
			"tools/call": mcptest.Sequence(mcptest.Result(s.created()), asking(question), asking(related)),
			"tasks/get": func(c *mcptest.Call) {
				select {
				case <-release:
					s.get("input_required")(c)
				default:
					s.get("working")(c)
				}
			},
			"tasks/result": func(c *mcptest.Call) {
				_, _ = c.Ask("elicitation/create", related)
				_, _ = c.Ask("elicitation/create", question)
				c.Result(taskResult)
			},
		})))
		ended := inBackground(func() error { return assert.Err(c.CallTool(as(t.Context(), "bob"), "must", nil, nil)) })
		synctest.Wait()
		for range 2 {
			assert.Value(c.CallTool(as(t.Context(), "ann"), "never", nil, nil))(t)
			log.want(t, "false")
		}
		close(release)
		assert.OK(t, <-ended)
		log.want(t, "bob true must", "bob true must")
	})
}

// In revision 2026-07-28 a server request comes with the result of its call, and a page that
// is to be visited before a call belongs to that call.
func TestCauseOfInput(t *testing.T) {
	for _, kind := range serverRequests {
		everyPlane(t, func(t *testing.T, p plane) {
			first := needs(fmt.Sprintf(`{"a":{"method":%q,"params":%s}}`, kind.method, kind.params), "")
			log, c := withRequestLog(t, p.to(modern(t, mcptest.Script{
				"tools/call":  mcptest.Sequence(first, text("done")),
				"prompts/get": mcptest.Sequence(first, mcptest.Result(`{"messages":[]}`)),
			})))
			assert.Value(c.CallTool(as(t.Context(), "ann"), "x", nil, nil))(t)
			log.want(t, "ann true x")
			assert.Value(c.GetPrompt(as(t.Context(), "bob"), "p", nil, nil))(t)
			log.want(t, "bob true")
		})
	}
	page := required(`{"elicitations":[{"url":"https://a.example"}]}`)
	log, c := withRequestLog(t, legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(page, text("done"))}))
	assert.Value(c.CallTool(as(t.Context(), "ann"), "x", nil, nil))(t)
	log.want(t, "ann true x")
}

// The handler's context ends with the connection and not with the call whose values it has.
func TestCauseDoesNotEndTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, ended := make(chan struct{}), make(chan error, 1)
		c := newReady(t, legacy(t, mcptest.Script{"tools/call": asking(question)}), &mcp.ClientOptions{
			Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(entered)
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			},
		})
		ctx, cancel := context.WithCancel(as(t.Context(), "ann"))
		go func() { <-entered; cancel() }()
		assert.Fails(t, assert.Err(c.CallTool(ctx, "x", nil, nil)))
		synctest.Wait()
		assert.Equal(t, len(ended), 0, "contexts that ended with the call")
		_ = c.Close()
		assert.Fails(t, <-ended, "the context of a closed connection")
	})
}
