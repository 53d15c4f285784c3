// Tests of task.go and task_wait.go: tasks of revision 2025-11-25, and over HTTP.

package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
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
				time.Sleep(5 * time.Minute) // sleep: on the bubble's clock
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
		c := newClient(t, p.to(s.server(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Result(s.created())
			mark := 1
			if strings.Contains(string(c.Params), `"can"`) {
				mark = 2
			}
			c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tokenOf(t, c), mark))
		}})), nil)
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
		c := newClient(t, p.to(s.server(t, mcptest.Script{
			"tools/call": mcptest.Sequence(func(c *mcptest.Call) {
				c.Result(s.created())
				// The first poll is on its way then.
				time.Sleep(time.Second) // sleep: on the bubble's clock
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
			time.Sleep(7 * time.Second) // sleep: on the bubble's clock
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
				select {
				case <-time.After(10 * time.Millisecond): // five of them between two polls
				case <-c.Context().Done():
				}
			}
		}}), nil)
		taskError(t, errOf(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: 3 * time.Second})))
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
			time.Sleep(2 * time.Minute) // sleep: on the bubble's clock
			c.Result(taskResult)
		}}), &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
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
		wantInvalid(t, last, "tasks/list", test.path, "%s", name)
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

// A taskHost is a server with tasks behind HTTP that notes the header fields of
// what it is asked.
type taskHost struct {
	t       *testing.T
	answer  map[string]string // results by method
	updated chan struct{}     // receives when the task was given input

	mu     sync.Mutex
	fields []string // method, Mcp-Method and Mcp-Name of each request about tasks
}

func (h *taskHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	assert.OK(h.t, json.NewDecoder(r.Body).Decode(&m))
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.mu.Lock()
	if m.Method != "server/discover" && m.Method != "initialize" && m.Method != "tools/list" {
		h.fields = append(h.fields, fmt.Sprintf("%s %s %s", m.Method, r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name")))
	}
	h.mu.Unlock()
	if m.Method == "tasks/update" {
		h.updated <- struct{}{}
	}
	result, known := h.answer[m.Method]
	switch {
	case !known:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s"}}`, m.ID, m.Method)
	case m.Method == "tasks/result":
		// The progress of the call comes on whatever stream is open.
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":%d}}\n\n", i)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, result)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

// Over HTTP every request about a task names the task in its header.
func TestTaskHTTP(t *testing.T) {
	for _, id := range []string{"t1", "täsk 1"} {
		quoted, _ := json.Marshal(id)
		task := func(status, more string) string {
			return fmt.Sprintf(`{"taskId":%s,"status":%q,"createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":1%s}`, quoted, status, more)
		}
		created := `{"resultType":"task",` + task("working", "")[1:]
		host := &taskHost{t: t, updated: make(chan struct{}, 1), answer: map[string]string{
			"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"host","version":"1"}}}`,
			"tools/call":      created,
			"tasks/get":       task("input_required", `,"inputRequests":{"a":`+inputRequest+`}`),
			"tasks/update":    `{"resultType":"complete"}`,
			"tasks/cancel":    `{"resultType":"complete"}`,
		}}
		listener := httptest.NewServer(host)
		t.Cleanup(listener.Close)
		ctx, stop := context.WithCancel(t.Context())
		c := newClient(t, &transport.HTTP{URL: listener.URL}, &mcp.ClientOptions{Tasks: true, Elicit: annAnswers})
		ended := inBackground(func() error {
			return errOf(c.CallTool(ctx, "tool", nil, &mcp.CallToolOptions{Task: &mcp.TaskOptions{Keep: true}}))
		})
		<-host.updated
		stop()
		taskError(t, <-ended)
		assert.OK(t, c.CancelTask(t.Context(), id))
		name := id
		if id != "t1" {
			name = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(id)) + "?="
		}
		host.mu.Lock()
		fields := slices.Compact(slices.Sorted(slices.Values(host.fields)))
		host.mu.Unlock()
		want := []string{"tasks/cancel tasks/cancel " + name, "tasks/get tasks/get " + name, "tasks/update tasks/update " + name, "tools/call tools/call tool"}
		wantList(t, fields, want)
	}
}

// In 2025-11-25 progress comes on the stream of tasks/result, for one.
func TestTaskHTTPProgress(t *testing.T) {
	s := taskScript{revision: mcp.Revision20251125, interval: "50"}
	listener := httptest.NewServer(&taskHost{t: t, answer: map[string]string{
		"initialize":   `{"protocolVersion":"2025-11-25","capabilities":` + taskAbilities + `,"serverInfo":{"name":"host","version":"1"}}`,
		"tools/list":   taskTools,
		"tools/call":   s.created(),
		"tasks/get":    `{` + s.state("completed") + `}`,
		"tasks/result": taskResult,
	}})
	t.Cleanup(listener.Close)
	c := newClient(t, &transport.HTTP{URL: listener.URL}, nil)
	var got []float64
	res := assert.Value(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) }}))(t)
	wantList(t, got, []float64{0, 1, 2})
	assert.Equal(t, textOf(t, res), "done")
}
