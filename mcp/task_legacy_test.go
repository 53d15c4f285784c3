package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// everyOldTask runs a test of revision 2025-11-25 on every plane, in a bubble.
func everyOldTask(t *testing.T, test func(t *testing.T, s taskScript, p plane)) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) { test(t, taskScript{revision: mcp.Revision20251125}, p) })
	})
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
		server := s.server(t, mcptest.Script{
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
				time.Sleep(5 * time.Minute) // sleep: on the bubble's clock
				report(c, 40)
				c.Result(taskResult)
			},
		})
		c := newClient(t, p.to(server), nil)
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
		server := s.server(t, mcptest.Script{
			"tools/call": func(c *mcptest.Call) {
				c.Result(strings.Replace(s.created(), "working", "completed", 1))
			},
			"tasks/result": func(c *mcptest.Call) {
				for i := range many {
					c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%d,"progress":%d}`, c.Number, i))
				}
				c.Result(taskResult)
			},
		})
		c := newClient(t, p.to(server), nil)
		for range 20 {
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
		const flood = 2000
		server := s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			for i := range flood {
				c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tokenOf(t, c), i))
			}
		}})
		c := newClient(t, p.to(server), nil)
		var got []float64
		assert.Value(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) {
			if len(got) == 0 {
				time.Sleep(time.Minute) // sleep: on the bubble's clock
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
		server := s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			mark := 1
			if strings.Contains(string(c.Params), `"can"`) {
				mark = 2
			}
			c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tokenOf(t, c), mark))
		}})
		c := newClient(t, p.to(server), nil)
		ended := make(chan error, 2)
		for tool, want := range map[string]float64{"must": 1, "can": 2} {
			go func() {
				var got []float64
				_, err := c.CallTool(t.Context(), tool, nil, &mcp.CallToolOptions{
					Task:     &mcp.TaskOptions{},
					Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) },
				})
				if err == nil && !slices.Equal(got, []float64{want}) {
					err = fmt.Errorf("%s: progress %v", tool, got)
				}
				ended <- err
			}()
		}
		for range 2 {
			assert.OK(t, <-ended)
		}
	})
}

// A callback that panics does so in its caller, and leaves the client sound.
func TestTaskProgressPanics(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		server := s.server(t, mcptest.Script{
			"tools/call": mcptest.Sequence(func(c *mcptest.Call) {
				c.Result(s.created())
				// The first poll is on its way then.
				time.Sleep(time.Second) // sleep: on the bubble's clock
				c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1}`, tokenOf(t, c)))
			}, text("next")),
			"tasks/get": mcptest.Hang,
		})
		c := newClient(t, p.to(server), &mcp.ClientOptions{MaxInFlight: 1})
		func() {
			defer func() {
				assert.Equal(t, recover(), "oops")
			}()
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
		server := s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			for _, params := range []string{``, `[]`, `{}`, `{"taskId":7}`, `{"taskId":"t2","status":"completed"}`, `{"taskId":""}`} {
				c.Notify("notifications/tasks/status", params)
			}
			time.Sleep(7 * time.Second) // sleep: on the bubble's clock
			c.Notify("notifications/tasks/status", `{`+s.state("completed")+`}`)
		}})
		c := newClient(t, p.to(server), nil)
		start := time.Now()
		mustCall(t, c, "must")
		if took := time.Since(start); took < 7*time.Second || took > 7*time.Second+50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		wantCount(t, server, "tasks/get", 1)
	})
}

// A server that announces changes without end is not asked without end.
func TestTaskAnnouncedTooOften(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states, s.interval = []string{"working"}, "60000"
		server := s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			for c.Context().Err() == nil {
				c.Notify("notifications/tasks/status", `{`+s.state("working")+`}`)
				select {
				case <-time.After(10 * time.Millisecond): // five of them between two polls
				case <-c.Context().Done():
				}
			}
		}})
		c := newClient(t, p.to(server), nil)
		_, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: 10 * time.Second})
		taskError(t, err)
		if n := len(server.Received("tasks/get")); n < 100 || n > 210 {
			t.Errorf("%d polls in ten seconds", n)
		}
		_ = c.Close()
	})
}

// A server that needs input is asked for the result, and asks meanwhile, for
// however long the user thinks.
func TestTaskElicits(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "input_required"}
		const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}`
		server := s.server(t, mcptest.Script{"tasks/result": func(c *mcptest.Call) {
			answer, err := c.Ask("elicitation/create", strings.TrimSuffix(question, "}")+","+related+"}")
			assert.Is(t, err, nil)
			assert.Contains(t, string(answer), "Ann")
			assert.Contains(t, string(answer), related)
			time.Sleep(2 * time.Minute) // sleep: on the bubble's clock
			c.Result(taskResult)
		}})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			time.Sleep(3 * time.Minute) // sleep: on the bubble's clock
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
		var refused *mcp.ServerError
		if taskError(t, err); !errors.As(err, &refused) || refused.Method != "tasks/result" {
			t.Errorf("error %v", err)
		}
		wantOutcome(t, err, mcp.Answered)
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
	c := newClient(t, tripping(server, 1), nil)
	assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
	if params := server.Received("tools/call")[0].Params; strings.Contains(string(params), `"task"`) || server.Connections() < 2 {
		t.Errorf("the second server got %s", params)
	}
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
		server := s.server(t, mcptest.Script{"tasks/list": mcptest.Sequence(
			page(`,"nextCursor":"a\u0041"`, "working:1", "completed:2"), page(`,"nextCursor":"b"`), mcptest.Result(`{"tasks":[{"taskId":"t2"},{`+s.state("failed:3")+`},7],"nextCursor":""}`))})
		c := newClient(t, p.to(server), nil)
		var got []string
		for task, err := range c.Tasks(t.Context()) {
			assert.OK(t, err)
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
		c := newClient(t, s.server(t, mcptest.Script{"tasks/list": test.answer}), nil)
		var last error
		for _, err := range c.Tasks(t.Context()) {
			last = err
		}
		invalid := assert.As[*mcp.ProtocolError](t, last, "%s", name)
		assert.Equal(t, [...]any{invalid.Path, invalid.Method, invalid.Server}, [...]any{test.path, "tasks/list", "scripted"}, "%s", name)
	}
	for _, server := range []*mcptest.Server{legacy(t), modern(t)} {
		c := newClient(t, server, withTasks())
		n := 0
		for task, err := range c.Tasks(t.Context()) {
			if n++; task != nil || !errors.Is(err, errors.ErrUnsupported) || !mcp.SafeToRetry(err) {
				t.Errorf("task %v, %v", task, err)
			}
		}
		assert.Equal(t, n, 1, "yields")
	}
	c := newClient(t, s.server(t, mcptest.Script{"tasks/list": page(`,"nextCursor":"a"`, "working")}), &mcp.ClientOptions{MaxPages: 1})
	for _, err := range c.Tasks(t.Context()) {
		var limit *mcp.LimitError
		if err != nil && !errors.As(err, &limit) {
			t.Errorf("error %v", err)
		}
	}
	for range c.Tasks(t.Context()) {
		break
	}
}
