// Tests of task.go and task_wait.go: tasks of revision 2025-11-25, and over HTTP.

package mcp_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// everyOldTask runs a test of revision 2025-11-25 on every plane, in a bubble.
func everyOldTask(t *testing.T, test func(t *testing.T, s taskScript, p plane)) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) { test(t, taskScript{revision: mcp.Revision20251125}, p) })
}

// tokenOf is the token of progress that came with a call.
func tokenOf(t testing.TB, c *mcptest.Call) string {
	return memberOf(t, []byte(memberOf(t, c.Params, "_meta")), "progressToken")
}

// The progress of the call goes on while there is a task: all of it arrives, in
// order, on the caller's goroutine, as soon as it is there, and before the call
// returns.
func TestTaskProgress(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		var token string
		sent := 0
		report := func(c *mcptest.Call, n int) {
			for range n {
				sent++
				c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`, token, sent))
			}
		}
		c := newClient(t, p.to(s.server(t, mcptest.Script{
			"tools/call": func(c *mcptest.Call) {
				token = tokenOf(t, c)
				report(c, 3)
				c.Result(s.created())
				report(c, 3)
				c.Notify("notifications/progress", `{"progressToken":123456,"progress":-1}`)
				c.Notify("notifications/progress", `{"progressToken":{},"progress":-1}`)
			},
			"tasks/get": mcptest.Sequence(
				func(c *mcptest.Call) { report(c, 3); s.get("working")(c); report(c, 3) },
				func(c *mcptest.Call) { report(c, 1); s.get("input_required")(c) },
			),
			"tasks/result": func(c *mcptest.Call) {
				report(c, 1)
				// Longer than the server may be silent otherwise.
				pause(5 * time.Minute)
				report(c, 40)
				c.Result(taskResult)
			},
		})), nil)
		var got, want []float64
		start := time.Now()
		assert.Value(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) {
			got = append(got, p.Progress)
			if len(got) == 14 && time.Since(start) > time.Minute {
				t.Error("progress had to wait for the result")
			}
		}}))(t)
		for i := range sent {
			want = append(want, float64(i+1))
		}
		wantList(t, got, want)
	})
}

// The same without a bubble, where goroutines really race: what was sent before
// the last answer is not lost behind it.
func TestTaskProgressBeforeResult(t *testing.T) {
	s := taskScript{revision: mcp.Revision20251125, states: []string{"completed"}, interval: "50"}
	everyPlane(t, func(t *testing.T, p plane) {
		const many = 100
		c := newClient(t, p.to(s.server(t, mcptest.Script{
			"tools/call": func(c *mcptest.Call) { c.Result(strings.Replace(s.created(), "working", "completed", 1)) },
			"tasks/result": func(c *mcptest.Call) {
				for i := range many {
					c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%d,"progress":%d}`, c.Number, i))
				}
				c.Result(taskResult)
			},
		})), nil)
		for range assert.Cases(5, 20) {
			n := 0
			assert.OK(t, errOf(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { n++ }})))
			assert.Equal(t, n, many)
		}
	})
}

// Of a flood that the callback cannot follow the newest is kept.
func TestTaskProgressFlood(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"completed"}
		const flood = 1_500
		c := newClient(t, p.to(s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			for i := range flood {
				c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tokenOf(t, c), i))
			}
		}})), nil)
		var got []float64
		assert.Value(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) {
			if len(got) == 0 {
				pause(time.Minute)
			}
			got = append(got, p.Progress)
		}}))(t)
		assert.Equal(t, got[len(got)-1], float64(flood-1))
		if !slices.IsSorted(got) || len(got) < 256 || len(got) > 1000 {
			t.Errorf("%d notifications, the last %v", len(got), got[len(got)-1])
		}
	})
}

// Two tasks at one time have their own progress.
func TestTaskProgressOfEach(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"completed"}
		c := newClient(t, p.to(s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			mark := map[string]int{`"must"`: 1, `"can"`: 2}[memberOf(t, c.Params, "name")]
			c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tokenOf(t, c), mark))
		}})), nil)
		var all sync.WaitGroup
		for tool, want := range map[string]float64{"must": 1, "can": 2} {
			all.Go(func() {
				var got []float64
				opts := &mcp.CallToolOptions{Task: &mcp.TaskOptions{}, Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) }}
				assert.Is(t, errOf(c.CallTool(t.Context(), tool, nil, opts)), nil, "%s", tool)
				wantList(t, got, []float64{want}, "%s: progress", tool)
			})
		}
		all.Wait()
	})
}

// A callback that panics does so in its caller, and leaves the client sound.
func TestTaskProgressPanics(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		c := newClient(t, p.to(s.server(t, mcptest.Script{
			"tools/call": mcptest.Sequence(func(c *mcptest.Call) {
				c.Result(s.created())
				// The first poll is on its way then.
				pause(time.Second)
				c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1}`, tokenOf(t, c)))
			}, text("next")),
			"tasks/get": mcptest.Hang,
		})), &mcp.ClientOptions{MaxInFlight: 1})
		func() {
			defer func() { assert.Equal(t, recover(), "oops") }()
			_, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { panic("oops") }})
			t.Errorf("returned %v", err)
		}()
		assert.Equal(t, textOf(t, mustCall(t, c, "mute")), "next", "result")
		assert.OK(t, c.Shutdown(t.Context()))
	})
}

// An announcement saves the rest of the interval, and does no harm otherwise.
func TestTaskAnnounced(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states, s.interval = []string{"completed"}, "60000"
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			for _, params := range []string{``, `[]`, `{}`, `{"taskId":7}`, `{"taskId":"t2","status":"completed"}`, `{"taskId":""}`} {
				c.Notify("notifications/tasks/status", params)
			}
			pause(7 * time.Second)
			c.Notify("notifications/tasks/status", `{`+s.state("completed")+`}`)
		}}), nil)
		start := time.Now()
		mustCall(t, c, "must")
		wantBetween(t, time.Since(start), 7*time.Second, 7*time.Second+50*time.Millisecond, "time")
		wantCount(t, server, "tasks/get", 1)
	})
}

// A server that announces changes without end is not asked without end.
func TestTaskAnnouncedTooOften(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states, s.interval = []string{"working"}, "60000"
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			for c.Context().Err() == nil {
				c.Notify("notifications/tasks/status", `{`+s.state("working")+`}`)
				pause(10 * time.Millisecond) // five of them between two polls
			}
		}}), nil)
		taskError(t, errOf(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: 3 * time.Second})), mcp.Unknown)
		wantBetween(t, len(server.Received("tasks/get")), 30, 63, "tasks/get")
		_ = c.Close()
	})
}

// A server that needs input is asked for the result, and asks meanwhile, for
// however long the user thinks.
func TestTaskElicits(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "input_required"}
		const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}`
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/result": func(c *mcptest.Call) {
			answer, err := c.Ask("elicitation/create", strings.TrimSuffix(question, "}")+","+related+"}")
			assert.Is(t, err, nil)
			assert.Contains(t, string(answer), "Ann")
			assert.Contains(t, string(answer), related)
			pause(2 * time.Minute)
			c.Result(taskResult)
		}}), &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			pause(3 * time.Minute)
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
		wantCount(t, server, "tasks/result", 1)
	})
}

// A server that does not take tasks/result before the end is polled until then.
func TestTaskResultTooEarly(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"input_required", "input_required", "working", "input_required", "completed"}
		server := s.server(t, mcptest.Script{"tasks/result": mcptest.Sequence(mcptest.Error(-32602, "not yet"), mcptest.Result(taskResult))})
		assert.Equal(t, textOf(t, mustCall(t, newClient(t, p.to(server), nil), "must")), "done", "result")
		wantCount(t, server, "tasks/get", 5)
		wantCount(t, server, "tasks/result", 2)
	})
}

// The result can expire.
func TestTaskResultExpired(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"completed"}
		server := s.server(t, mcptest.Script{"tasks/result": mcptest.Error(-32602, "expired")})
		_, err := call(t, newClient(t, p.to(server), nil), "must")
		taskError(t, err, mcp.Answered)
		assert.Equal(t, assert.As[*mcp.ServerError](t, err).Method, "tasks/result", "method")
	})
}

// A server that was replaced by one without tasks gets no parameter for them.
func TestTaskServerReplaced(t *testing.T) {
	server := taskScript{revision: mcp.Revision20251125}.server(t, mcptest.Script{
		"initialize": mcptest.Sequence(
			mcptest.Handshake(mcp.Revision20251125, taskAbilities)["initialize"],
			mcptest.Handshake(mcp.Revision20251125, "")["initialize"]),
		"tools/call": text("done"),
	})
	assert.Equal(t, textOf(t, mustCall(t, newClient(t, failingFirst(server, 1), nil), "must")), "done", "result")
	assert.Lacks(t, string(server.Received("tools/call")[0].Params), `"task"`)
	wantBetween(t, server.Connections(), 2, 3, "connections")
}

func TestTasks(t *testing.T) {
	s := taskScript{revision: mcp.Revision20251125}
	page := func(next string, states ...string) mcptest.Handler {
		for i, is := range states {
			states[i] = "{" + s.state(is) + "}"
		}
		return mcptest.Result(`{"tasks":[` + strings.Join(states, ",") + `]` + next + `}`)
	}
	everyPlane(t, func(t *testing.T, p plane) {
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/list": mcptest.Sequence(
			page(`,"nextCursor":"a\u0041"`, "working:1", "completed:2"), page(`,"nextCursor":"b"`),
			mcptest.Result(`{"tasks":[{"taskId":"t2"},{`+s.state("failed:3")+`},7],"nextCursor":""}`))}), nil)
		var got []string
		for _, task := range assert.Value(collect(c.Tasks(t.Context())))(t) {
			got = append(got, task.StatusMessage)
		}
		wantList(t, got, []string{"1", "2", "3"})
		for i, want := range []string{"", `"a\u0041"`, `"b"`} {
			assert.Equal(t, memberOf(t, server.Received("tasks/list")[i].Params, "cursor"), want, "page %d: cursor", i+1)
		}
	})
	for name, test := range map[string]struct {
		answer mcptest.Handler
		path   string
	}{
		"circle":     {page(`,"nextCursor":"a"`, "working"), "nextCursor"},
		"cursor":     {page(`,"nextCursor":7`), "nextCursor"},
		"no tasks":   {mcptest.Result(`{}`), "tasks"},
		"no array":   {mcptest.Result(`{"tasks":{}}`), "tasks"},
		"no object":  {mcptest.Result(`[]`), "tasks"},
		"not a list": {mcptest.Result(`{"resultType":"task","tasks":[]}`), "resultType"},
	} {
		_, err := collect(newClient(t, s.server(t, mcptest.Script{"tasks/list": test.answer}), nil).Tasks(t.Context()))
		wantInvalid(t, err, "tasks/list", test.path, "%s", name)
	}
	for _, server := range []*mcptest.Server{legacy(t), modern(t)} {
		tasks, err := collect(newClient(t, server, withTasks()).Tasks(t.Context()))
		wantNotSent(t, err, errors.ErrUnsupported)
		assert.Equal(t, len(tasks), 0, "tasks")
	}
	c := newClient(t, s.server(t, mcptest.Script{"tasks/list": page(`,"nextCursor":"a"`, "working")}), nil)
	for range c.Tasks(t.Context()) {
		break
	}
}

// Over HTTP every request about a task names the task in its header.
func TestTaskHTTP(t *testing.T) {
	for id, name := range map[string]string{"t1": "t1", "täsk 1": "=?base64?" + base64.StdEncoding.EncodeToString([]byte("täsk 1")) + "?="} {
		task := func(status, more string) string {
			return fmt.Sprintf(`{"taskId":%q,"status":%q,"createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":1%s}`, id, status, more)
		}
		updated := make(chan struct{}, 100)
		s := newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){
			"server/discover": result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`),
			"tools/call":      result(`{"resultType":"task",` + task("working", "")[1:]),
			"tasks/get":       result(task("input_required", `,"inputRequests":{"a":`+inputRequest+`}`)),
			"tasks/update":    func(v *webRequest) { result(`{"resultType":"complete"}`)(v); updated <- struct{}{} },
			"tasks/cancel":    result(`{"resultType":"complete"}`),
		})
		ctx, stop := context.WithCancel(t.Context())
		c := newClient(t, &s.HTTP, &mcp.ClientOptions{Tasks: true, Elicit: annAnswers})
		keep := &mcp.CallToolOptions{Task: &mcp.TaskOptions{Keep: true}}
		ended := inBackground(func() error { return errOf(c.CallTool(ctx, "tool", nil, keep)) })
		<-updated
		stop()
		taskError(t, <-ended, mcp.Unknown)
		assert.OK(t, c.CancelTask(t.Context(), id))
		for method, want := range map[string]string{"tools/call": "tool", "tasks/get": name, "tasks/update": name, "tasks/cancel": name} {
			for _, v := range s.of(method) {
				assert.Equal(t, v.Header.Get("Mcp-Method")+" "+v.Header.Get("Mcp-Name"), method+" "+want, "header fields")
			}
		}
	}
}

// In 2025-11-25 progress comes on the stream of tasks/result, for one.
func TestTaskHTTPProgress(t *testing.T) {
	task := taskScript{revision: mcp.Revision20251125, interval: "50"}
	s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){
		"initialize": result(`{"protocolVersion":"2025-11-25","capabilities":` + taskAbilities + `,"serverInfo":{"name":"host","version":"1"}}`),
		"tools/list": result(taskTools),
		"tools/call": result(task.created()),
		"tasks/get":  result(`{` + task.state("completed") + `}`),
		"tasks/result": func(v *webRequest) {
			for i := range 3 { // the progress of the call comes on whatever stream is open
				v.stream(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i))
			}
			v.stream(`{"jsonrpc":"2.0","id":$ID,"result":` + taskResult + `}`)
		},
	})
	var got []float64
	opts := &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) }}
	assert.Equal(t, assert.Value(newClient(t, &s.HTTP, nil).CallTool(t.Context(), "must", nil, opts))(t).Text(), "done")
	wantList(t, got, []float64{0, 1, 2})
}
