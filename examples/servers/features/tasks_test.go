package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// status is the part of a task that both forms share.
type status struct {
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage"`
}

func TestTasksAreDeclared(t *testing.T) {
	p := dial(t, firstModern)
	wantAll(t, p.hello, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
}

// Older revisions get the results of the tools that are tasks in the newest.
func TestNoTasksInOlderRevisions(t *testing.T) {
	p := dial(t, legacy)
	wantAll(t, p.call("tools/call", `{"name":"research","arguments":{"topic":"rain","steps":1}}`), `Read 1 sources`)
	wantAll(t, p.fail("tasks/get", `{"taskId":"unknown"}`), `-32601`)
	asked := ""
	p.answers["elicitation/create"] = func(params string) string {
		asked = params
		return `{"action":"accept","content":{"title":"Days"}}`
	}
	wantAll(t, p.call("tools/call", `{"name":"publish"}`), `0 entries were published as`, `Days`)
	wantAll(t, asked, `Under which title`)
}

// until polls a task until it has a status.
func (p *peer) until(id, want string) string {
	p.t.Helper()
	for {
		res := p.call("tasks/get", `{"taskId":"`+id+`"}`)
		var s status
		p.decode(res, &s)
		switch s.Status {
		case want:
			return res
		case completed, failed, cancelled:
			p.t.Fatalf("the task is %s, want %s", res, want)
		}
	}
}

// start calls a tool as a task, which must be working, and returns its id.
func (p *peer) start(tool, args string) string {
	p.t.Helper()
	var created struct {
		status
		ResultType string `json:"resultType"`
	}
	p.decode(p.call("tools/call", `{"name":"`+tool+`","arguments":`+args+`}`), &created)
	assert.Equal(p.t, [...]string{created.ResultType, created.Status}, [...]string{"task", working}, "%s", tool)
	return created.TaskID
}

func TestTask(t *testing.T) {
	p := dial(t, firstModern)
	id := p.start("research", `{"topic":"rain"}`)
	done := p.until(id, completed)
	wantAll(t, done, `"resultType":"complete"`, `"ttlMs":`, `"pollIntervalMs":`, `Read 3 sources about rain.`)
	p.call("tasks/cancel", `{"taskId":"`+id+`"}`) // acknowledged, too late
	p.until(id, completed)
	wantAll(t, p.fail("tasks/get", `{"taskId":"unknown"}`), `-32602`)
}

func TestTaskAsks(t *testing.T) {
	p := dial(t, firstModern)
	id := p.start("publish", `{}`)
	const answer = `{"action":"accept","content":{"title":"Days"}}`
	wantAll(t, p.until(id, inputRequired), `"inputRequests":{"title":{"method":"elicitation/create","params":{`)
	p.call("tasks/update", `{"taskId":"`+id+`","inputResponses":{"title":`+answer+`,"unknown":{"action":"accept"}}}`)
	assert.Lacks(t, p.call("tasks/get", `{"taskId":"`+id+`"}`), inputRequired, "the task still asks after the answer")
	wantAll(t, p.until(id, completed), `0 entries were published as`, `Days`)
}

func TestTaskIsCancelled(t *testing.T) {
	p := dial(t, firstModern)
	id := p.start("publish", `{}`) // and it waits for an answer
	p.call("tasks/cancel", `{"taskId":"`+id+`"}`)
	p.until(id, cancelled)
}

func TestTaskNeedsExtension(t *testing.T) {
	p := dial(t, firstModern)
	p.send(`{"jsonrpc":"2.0","id":"bare","method":"tools/call","params":{"name":"publish","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	_, refusal := p.response(`"bare"`)
	wantAll(t, refusal, `-32021`, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)
}

func TestTaskOverHTTP(t *testing.T) {
	url := listening(t)
	defer http.DefaultClient.CloseIdleConnections()
	request := func(method, name, params string) string {
		body := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, withMeta(params)),
			"Mcp-Protocol-Version", firstModern, "Mcp-Method", method, "Mcp-Name", name)
		return body
	}
	res := request("tools/call", "research", `{"name":"research","arguments":{"topic":"rain"}}`)
	wantAll(t, res, `"resultType":"task"`)
	id := cut(res, `"taskId":"`, `"`)
	for strings.Contains(res, `"status":"working"`) {
		res = request("tasks/get", id, `{"taskId":"`+id+`"}`)
	}
	wantAll(t, res, `"status":"completed"`, `Read 3 sources about rain.`)
}
