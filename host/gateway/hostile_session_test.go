package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// wantCode sends a request, and compares the code of its error, which is 0 if there is none.
func (s *site) wantCode(t testing.TB, what string, in shot, want int) rpc {
	t.Helper()
	m := s.do(t, in).message(t)
	got := 0
	if m.Error != nil {
		got = m.Error.Code
	}
	assert.Equal(t, got, want, "%s: the code (%+v)", what, m.Error)
	return m
}

// A task is known to its own session alone, and ends with it.
func TestTaskOfAnother(t *testing.T) {
	s := openSite(t, nil)
	mine := s.begin(t, "/mcp", "a", "2025-11-25")
	m := s.wantCode(t, "begin", shot{user: "a", session: mine, body: callOf(2, "tools/call", `{"name":"one__wait","arguments":{},"task":{"ttl":60000}}`)}, 0)
	id := m.at("task", "taskId")
	eventually(t, "the call waits", func() bool { return s.server.waiting.Load() == 1 })
	others := map[string]shot{
		"another session": {user: "a", session: s.begin(t, "/mcp", "a", "2025-11-25")},
		"another user":    {user: "b", session: s.begin(t, "/mcp", "b", "2025-11-25")},
		"another view":    {user: "a", path: "/s/one/mcp", session: s.begin(t, "/s/one/mcp", "a", "2025-11-25")},
	}
	for who, in := range others {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			in.body = callOf(3, method, `{"taskId":"`+id+`"}`)
			s.wantCode(t, who+" "+method, in, -32602)
		}
		in.body = callOf(3, "tasks/list", `{}`)
		assert.Equal(t, s.wantCode(t, who, in, 0).at("tasks"), "[]", "%s: the tasks", who)
	}
	s.wantCode(t, "mine", shot{user: "a", session: mine, body: callOf(3, "tasks/get", `{"taskId":"`+id+`"}`)}, 0)
	if r := s.do(t, shot{method: http.MethodDelete, user: "a", session: mine}); r.status != http.StatusNoContent {
		t.Errorf("DELETE: got %d, want 204", r.status)
	}
	eventually(t, "the task ends with its session", func() bool { return s.server.waited.Load() == 1 })
}

// A client that gives up waiting for the result of a task does not end the task.
func TestResultNotAwaited(t *testing.T) {
	s := openSite(t, nil)
	mine := s.begin(t, "/mcp", "a", "2025-11-25")
	m := s.wantCode(t, "begin", shot{user: "a", session: mine, body: callOf(2, "tools/call", `{"name":"one__wait","arguments":{},"task":{}}`)}, 0)
	id := m.at("task", "taskId")
	eventually(t, "the call waits", func() bool { return s.server.waiting.Load() == 1 })
	var all sync.WaitGroup
	all.Go(func() {
		s.do(t, shot{user: "a", session: mine, body: callOf(3, "tasks/result", `{"taskId":"`+id+`"}`)})
	})
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	for over := false; !over; {
		s.do(t, shot{user: "a", session: mine, body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`})
		select {
		case <-ended:
			over = true
		case <-time.After(time.Millisecond):
		}
	}
	m = s.wantCode(t, "get", shot{user: "a", session: mine, body: callOf(4, "tasks/get", `{"taskId":"`+id+`"}`)}, 0)
	assert.Equal(t, m.at("status"), "working", "the status")
	m = s.wantCode(t, "cancel", shot{user: "a", session: mine, body: callOf(5, "tasks/cancel", `{"taskId":"`+id+`"}`)}, 0)
	assert.Equal(t, m.at("status"), "cancelled", "the status")
}

// The id of a call that goes on is of use to its own client alone.
func TestAwaitOfAnother(t *testing.T) {
	s := openSite(t, &gateway.Options{AnswerWithin: time.Millisecond})
	mine := s.begin(t, "/mcp", "a", "2025-11-25")
	m := s.wantCode(t, "call", shot{user: "a", session: mine, body: callOf(2, "tools/call", `{"name":"one__wait","arguments":{}}`)}, 0)
	id := m.at("_meta", "mcpbelt/call")
	if id == "" {
		t.Fatalf("got %s, want an id", m.Result)
	}
	await := callOf(3, "tools/call", `{"name":"await_call","arguments":{"id":"`+id+`"}}`)
	s.wantCode(t, "another session", shot{user: "a", session: s.begin(t, "/mcp", "a", "2025-11-25"), body: await}, -32602)
	s.wantCode(t, "another user", shot{user: "b", session: s.begin(t, "/mcp", "b", "2025-11-25"), body: await}, -32602)
	s.wantCode(t, "without a session", modern("a", "", "tools/call", "await_call", `"name":"await_call","arguments":{"id":"`+id+`"}`), -32602)
	s.wantCode(t, "no id", shot{user: "a", session: mine, body: callOf(3, "tools/call", `{"name":"await_call","arguments":{"id":7}}`)}, -32602)
	if m := s.wantCode(t, "mine", shot{user: "a", session: mine, body: await}, 0); m.at("_meta", "mcpbelt/call") != id {
		t.Errorf("mine: got %s, want the same id", m.Result)
	}
}

// The state that continues a call is good for this call of this client, and for once.
func TestStateOfAnother(t *testing.T) {
	s := openSite(t, nil)
	ask := func(user, path, name, more string) shot {
		return modern(user, path, "tools/call", name, `"name":"`+name+`","arguments":{}`+more)
	}
	m := s.wantCode(t, "ask", ask("a", "", "one__ask", ""), 0)
	state := m.at("requestState")
	var questions map[string]json.RawMessage
	if err := json.Unmarshal([]byte(m.at("inputRequests")), &questions); err != nil || len(questions) != 1 {
		t.Fatalf("got %s, want one question", m.Result)
	}
	responses := map[string]any{}
	for id := range questions {
		responses[id] = map[string]any{"action": "accept", "content": map[string]string{"name": "eve"}}
	}
	given := assert.Value(json.Marshal(responses))(t)
	with := func(state string) string {
		return `,"requestState":"` + state + `","inputResponses":` + string(given)
	}
	for what, in := range map[string]shot{
		"another user": ask("b", "", "one__ask", with(state)),
		"another view": ask("a", "/s/one/mcp", "ask", with(state)),
		"another call": ask("a", "", "one__wait", with(state)),
		"other input":  modern("a", "", "tools/call", "one__ask", `"name":"one__ask","arguments":{"a":1}`+with(state)),
		"cut off":      ask("a", "", "one__ask", with(state[:len(state)-1])),
		"its job":      ask("a", "", "one__ask", with(state[:strings.LastIndexByte(state, '.')])),
		"empty":        ask("a", "", "one__ask", with("mcpbelt.")),
		"made up":      ask("a", "", "one__ask", with("mcpbelt.AAAA.BBBB")),
	} {
		s.wantCode(t, what, in, -32602)
	}
	m = s.wantCode(t, "mine", ask("a", "", "one__ask", with(state)), 0)
	if !strings.Contains(string(m.Result), "accept eve") {
		t.Errorf("mine: got %s, want the answer", m.Result)
	}
	s.wantCode(t, "again", ask("a", "", "one__ask", with(state)), -32602)
}

// The answer to a question is taken from the session that was asked alone.
func TestAnswerOfAnother(t *testing.T) {
	s := openSite(t, nil)
	mine := s.begin(t, "/mcp", "a", "2025-11-25")
	other := s.begin(t, "/mcp", "b", "2025-11-25")
	l := s.listen(t, shot{user: "a", session: mine, body: callOf(2, "tools/call", `{"name":"one__ask","arguments":{}}`)})
	question := l.message(t)
	if question.Method != "elicitation/create" {
		t.Fatalf("got %+v, want a question", question)
	}
	answer := func(name string) string {
		return `{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept","content":{"name":"` + name + `"}}}`
	}
	for user, id := range map[string]string{"b": other} {
		if r := s.do(t, shot{user: user, session: id, body: answer("eve")}); r.status != http.StatusAccepted {
			t.Errorf("got %d, want 202", r.status)
		}
	}
	if r := s.do(t, shot{user: "b", session: mine, body: answer("eve")}); r.status != http.StatusNotFound {
		t.Errorf("got %d, want 404", r.status)
	}
	for range 3 { // once is taken, the others are ignored
		s.do(t, shot{user: "a", session: mine, body: answer("alice")})
	}
	if m := l.message(t); !strings.Contains(string(m.Result), "accept alice") {
		t.Errorf("got %s, want the answer of alice", m.Result)
	}
}

// A stream is resumed by its own session alone.
func TestStreamOfAnother(t *testing.T) {
	s := openSite(t, nil)
	mine := s.begin(t, "/mcp", "a", "2025-11-25")
	l := s.listen(t, shot{user: "a", session: mine, body: callOf(2, "tools/call", `{"name":"one__echo","arguments":{"text":"hello"}}`)})
	_, event := l.next("id")
	resume := map[string]string{"Accept": "text/event-stream", "Last-Event-ID": event}
	for user, id := range map[string]string{"a": s.begin(t, "/mcp", "a", "2025-11-25"), "b": s.begin(t, "/mcp", "b", "2025-11-25")} {
		if r := s.do(t, shot{method: http.MethodGet, user: user, session: id, header: resume}); r.status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", user, r.status)
		}
	}
	if m := l.message(t); !strings.Contains(string(m.Result), "hello") {
		t.Errorf("got %s, want hello", m.Result)
	}
	// Behind the event that has no message there is all that was sent.
	r := s.do(t, shot{method: http.MethodGet, user: "a", session: mine, header: resume})
	if m := r.message(t); !strings.Contains(string(m.Result), "hello") {
		t.Errorf("resumed: got %s, want hello", m.Result)
	}
}

// A request that is withdrawn takes nothing from the rest of its session.
func TestCancelKeepsListening(t *testing.T) {
	s := openSite(t, nil)
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	l := s.listen(t, shot{method: http.MethodGet, user: "a", session: id, header: map[string]string{"Accept": "text/event-stream"}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.do(t, shot{user: "a", session: id, header: map[string]string{"Accept": "application/json"}, body: callOf(2, "tools/call", `{"name":"one__wait","arguments":{}}`)})
	}()
	eventually(t, "the call waits", func() bool { return s.server.waiting.Load() == 1 })
	s.do(t, shot{user: "a", session: id, body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`})
	<-ended
	addEmptyTool(s.server, "later")
	if m := l.message(t); m.Method != "notifications/tools/list_changed" {
		t.Errorf("got %+v, want a notification", m)
	}
}

// A session that is deleted takes its calls with it.
func TestDeleteInTheMiddle(t *testing.T) {
	s := openSite(t, nil)
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			s.do(t, shot{user: "a", session: id, body: callOf(10+i, "tools/call", `{"name":"one__wait","arguments":{}}`)})
		})
	}
	eventually(t, "the calls wait", func() bool { return s.server.waiting.Load() == 5 })
	if r := s.do(t, shot{user: "a", session: id, body: callOf(10, "ping", `{}`)}); r.message(t).Error == nil {
		t.Errorf("an id twice: got %s, want an error", r.body)
	}
	s.do(t, shot{method: http.MethodDelete, user: "a", session: id})
	all.Wait()
	eventually(t, "the calls end", func() bool { return s.server.waited.Load() == 5 })
	if r := s.do(t, shot{user: "a", session: id, body: callOf(3, "ping", `{}`)}); r.status != http.StatusNotFound {
		t.Errorf("got %d, want 404", r.status)
	}
}

// The list of a user who may use every tool is not shown to one who may not.
func TestListOfAnother(t *testing.T) {
	s := &site{server: newUpstream()}
	ho := s.hostOptions()
	ho.Registry = registry.New(&registry.Options{Approver: byUser{}})
	s.open(t, ho, &gateway.Options{Authenticate: userOfField}, []string{"one"})
	for _, c := range []struct {
		user string
		want bool
	}{{"admin", true}, {"guest", false}, {"admin", true}, {"guest", false}, {"other", false}} {
		r := s.do(t, modern(c.user, "", "tools/list", "", ""))
		assert.Equal(t, strings.Contains(r.body, "one__wait"), c.want, "%s: got a list with the tool", c.user)
	}
}

// byUser lets the admin call every tool, and others echo.
type byUser struct{}

func (p byUser) Approve(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	return p.Decide(r), nil
}

func (byUser) Decide(r *registry.ApprovalRequest) approval.Decision {
	if r.User == "admin" || strings.HasSuffix(r.Tool.Name, "echo") {
		return approval.Decision{Verdict: approval.Allow}
	}
	return approval.Decision{Verdict: approval.Deny}
}
