// Tests of task.go, await.go, job.go and progress.go: calls that take longer than their clients wait.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// tasksCaps declares the extension for tasks of revision 2026-07-28.
const tasksCaps = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// A call of a client with the extension becomes a task when it takes too long, and can ask its user then.
func TestModernTask(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.AnswerWithin = time.Millisecond }))
	gate := make(chan struct{})
	addTool(s.server.Server, "slow", func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) string {
		<-gate
		return askName(ctx, r, in)
	})
	hosttest.Eventually(t, "the tool is listed", func() bool { return s.modern("a", "").tools(t)["one__slow"] != nil })
	c := s.connect(t, &client{revision: mcp.Revision20260728, caps: tasksCaps})
	assert.Lacks(t, c.names(t), "await_call", "the list")
	m := c.call(t, "one__slow", `{}`)
	assert.Equal(t, m.at("resultType")+" "+m.at("status"), "task working")
	about := fmt.Sprintf(`"taskId":%q`, m.at("taskId"))
	status := func() string { return c.want(t, 0, "tasks/get", about).at("status") }
	for who, other := range map[string]*client{"another user": {user: "b"}, "another view": {path: "/s/one/mcp"}} {
		other.revision, other.caps = c.revision, c.caps
		s.connect(t, other).want(t, -32602, "tasks/get", about, who)
	}
	c.want(t, -32602, "tasks/get", `"taskId":"x"`)
	c.want(t, -32601, "tasks/result", about)
	s.modern("a", "").want(t, -32021, "tasks/get", about, "not declared")
	s.modern("a", "").want(t, -32021, "subscriptions/listen", fmt.Sprintf(`"notifications":{"taskIds":[%q]}`, m.at("taskId")), "not declared")
	assert.Equal(t, s.do(t, c.query("tasks/get", about).with("Mcp-Name", "x")).message(t).code(), -32020, "another name in the header: the code")

	assert.Equal(t, status(), "working", "the status")
	close(gate)
	hosttest.Eventually(t, "the task needs input", func() bool { return status() == "input_required" })
	questions := map[string]struct{ Method string }{}
	assert.OK(t, json.Unmarshal([]byte(c.want(t, 0, "tasks/get", about).at("inputRequests")), &questions))
	assert.Equal(t, len(questions), 1, "questions")
	for key, q := range questions {
		assert.Equal(t, q.Method, "elicitation/create", "the question")
		c.want(t, 0, "tasks/update", about+`,"inputResponses":{"x":{}}`)
		assert.Equal(t, status(), "input_required", "the status after another answer")
		answer := fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}}`, key)
		assert.Equal(t, c.want(t, 0, "tasks/update", about+answer).at("resultType"), "complete", "the result type")
	}
	hosttest.Eventually(t, "the task is completed", func() bool { return status() == "completed" })
	for range 2 { // the result is not forgotten with the first answer, nor by a cancel that is too late
		assert.Contains(t, c.want(t, 0, "tasks/get", about).at("result", "content"), "accept Ada")
		c.want(t, 0, "tasks/cancel", about)
	}
}

// A task that is cancelled ends the call of its server.
func TestModernTaskCancelled(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.AnswerWithin = time.Millisecond }))
	c := s.connect(t, &client{revision: mcp.Revision20260728, caps: tasksCaps})
	about := fmt.Sprintf(`"taskId":%q`, c.call(t, "one__wait", `{}`).at("taskId"))
	s.server.waits(t, 1)
	assert.Equal(t, string(c.want(t, 0, "tasks/cancel", about).Result), `{"resultType":"complete"}`)
	s.server.hasEnded(t, 1)
	assert.Equal(t, c.want(t, 0, "tasks/get", about).at("status"), "cancelled", "the status")
}

// A client of this library gets the same by a task as by a call, from servers of both families.
func TestModernTaskOfClient(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern server %t", serverModern), func(t *testing.T) {
			t.Parallel() // it asks for the task once a second
			s := openEntries(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.AnswerWithin = time.Nanosecond }), "asking", newAskingServer(t, serverModern))
			var all sync.WaitGroup
			for i := range 3 {
				user := fmt.Sprintf("user%d.", i)
				c := s.newUser(t, "/s/asking/mcp", user, mcp.Revision20260728, &mcp.ClientOptions{Tasks: true, Elicit: answerAs(t, user, "accept")})
				all.Go(func() { wantAsk(t, c, user, "accept "+user) })
			}
			all.Wait()
		})
	}
}

// A call that takes too long for its client is answered with an id, by which its own client gets the rest. It is made once.
func TestAwaitCall(t *testing.T) {
	//report: Gateway | modelcontextprotocol/typescript-sdk#245, modelcontextprotocol/typescript-sdk#2250, anthropics/claude-ai-mcp#115 | a client gives a call up after a minute, whatever its progress | before that the call is answered with an id, by which its result is fetched; it runs once
	for _, revision := range both {
		server := newSDKServer()
		goOn := make(chan struct{})
		var mu sync.Mutex
		made := 0
		addTool(server, "slow", func(context.Context, *sdk.CallToolRequest, anyInput) string {
			mu.Lock()
			made++
			mu.Unlock()
			<-goOn
			return "done"
		})
		s := openServer(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.AnswerWithin = time.Millisecond }), server)
		c := s.connect(t, &client{revision: revision})
		id := c.call(t, "belt__slow", `{}`).at("_meta", "mcpbelt/call")
		await := toolParams("await_call", fmt.Sprintf(`{"id":%q}`, id))
		assert.Equal(t, c.want(t, 0, "tools/call", await).at("_meta", "mcpbelt/call"), id, "%s: the id, again", revision)
		others := map[string]*client{"another user": {user: "b"}, "another view": {path: "/s/belt/mcp"}}
		if revision == mcp.Revision20251125 {
			others["another session"] = &client{}
		}
		for who, other := range others {
			other.revision = revision
			s.connect(t, other).want(t, -32602, "tools/call", await, who)
		}
		c.want(t, -32602, "tools/call", toolParams("await_call", `{"id":7}`))
		close(goOn)
		hosttest.Eventually(t, "the call is answered", func() bool { return c.want(t, 0, "tools/call", await).text() == "done" })
		assert.Equal(t, made, 1, "%s: calls", revision)
	}
}

// A caller that asked for progress hears something every Heartbeat; a question that is not answered within
// InputWait is one that the client did not answer.
func TestTimesOfCalls(t *testing.T) {
	//report: Gateway | anthropics/claude-code#470, anomalyco/opencode#14501, CherryHQ/cherry-studio#18097, can1357/oh-my-pi#12259 | a client waits for as long as there is progress, and the server or a person is silent | a client that asked for progress hears a sign of life while the call waits
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.Heartbeat = time.Minute; l.InputWait = 3 * time.Minute }))
		c := s.connect(t, &client{})
		began := time.Now()
		r := s.do(t, c.query("tools/call", toolParams("one__ask", `{}`)+`,"_meta":{"progressToken":"p"}`))
		assert.Equal(t, time.Since(began), 3*time.Minute, "the end after")
		if got := strings.Count(r.body, "notifications/progress"); got != 2 && got != 3 { // the last may come with the end
			t.Errorf("got %d signs of life, want one a minute", got)
		}
		assert.Contains(t, r.message(t).text(), "did not answer")
	})
}

// Progress of a call that is awaited comes with the token of the request that waits, and rises.
func TestTokenOfTheRequestThatWaits(t *testing.T) {
	for _, revision := range both {
		synctest.Test(t, func(t *testing.T) {
			s := openInMemory(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.AnswerWithin = 22 * time.Second; l.Heartbeat = 5 * time.Second }))
			c := s.connect(t, &client{revision: revision})
			call := func(name, args, token string) rpc {
				q := c.query("tools/call", toolParams(name, args))
				meta := fmt.Sprintf(`"_meta":{"progressToken":%q`, token)
				if strings.Contains(q.body, `"_meta":{`) {
					q.body = strings.Replace(q.body, `"_meta":{`, meta+",", 1)
				} else {
					q.body = strings.TrimSuffix(q.body, "}}") + "," + meta + "}}}"
				}
				r := s.do(t, q)
				beats, last := 0, -1.0
				for line := range strings.Lines(r.body) {
					var m struct {
						Method string
						Params struct {
							Token    string `json:"progressToken"`
							Progress float64
						}
					}
					data, _ := strings.CutPrefix(line, "data: ")
					if _ = json.Unmarshal([]byte(data), &m); m.Method != "notifications/progress" {
						continue
					}
					beats++
					assert.Equal(t, m.Params.Token, token, "the token")
					assert.True(t, m.Params.Progress > last, "%v is more than before, %v", m.Params.Progress, last)
					last = m.Params.Progress
				}
				assert.Equal(t, beats, 4, "%s: signs of life", token)
				return r.message(t)
			}
			call("await_call", fmt.Sprintf(`{"id":%q}`, call("one__wait", `{}`, "first").at("_meta", "mcpbelt/call")), "second")
		})
	}
}
