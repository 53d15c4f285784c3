package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// status is the part of a task that both forms share.
type status struct {
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage"`
}

func TestTasksAreDeclared(t *testing.T) {
	everywhere(t, func(t *testing.T, p *peer) {
		tools := p.call("tools/list", `{}`)
		if p.revision == legacy {
			wantAll(t, p.hello, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
			wantAll(t, tools, `"execution":{"taskSupport":"optional"}`, `"execution":{"taskSupport":"required"}`)
			return
		}
		wantAll(t, p.hello, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
		if strings.Contains(tools, "taskSupport") {
			t.Errorf("the extension has no taskSupport: %s", tools)
		}
	})
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
		ResultType string  `json:"resultType"`
		Task       *status `json:"task"`
	}
	if p.revision == legacy {
		p.decode(p.call("tools/call", `{"name":"`+tool+`","arguments":`+args+`,"task":{"ttl":60000}}`), &created)
		if created.Task == nil || created.Task.Status != working {
			p.t.Fatalf("%s answered %+v, want a task", tool, created)
		}
		return created.Task.TaskID
	}
	p.decode(p.call("tools/call", `{"name":"`+tool+`","arguments":`+args+`}`), &created)
	if created.ResultType != "task" || created.Status != working {
		p.t.Fatalf("%s answered %+v, want a task", tool, created)
	}
	return created.TaskID
}

func TestTask(t *testing.T) {
	everywhere(t, func(t *testing.T, p *peer) {
		id := p.start("research", `{"topic":"rain"}`)
		done := p.until(id, completed)
		if p.revision == legacy {
			wantAll(t, done, `"ttl":60000`, `"pollInterval":`)
			wantAll(t, p.call("tasks/list", `{}`), id)
			done = p.call("tasks/result", `{"taskId":"`+id+`"}`)
			wantAll(t, done, `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`)
			wantAll(t, p.fail("tasks/cancel", `{"taskId":"`+id+`"}`), `-32602`)
		} else {
			wantAll(t, done, `"resultType":"complete"`, `"ttlMs":`, `"pollIntervalMs":`)
			wantAll(t, p.fail("tasks/result", `{"taskId":"`+id+`"}`), `-32601`)
			p.call("tasks/cancel", `{"taskId":"`+id+`"}`) // acknowledged, too late
			p.until(id, completed)
		}
		wantAll(t, done, `Read 3 sources about rain.`)
		wantAll(t, p.fail("tasks/get", `{"taskId":"unknown"}`), `-32602`)
	})
}

func TestTaskAsks(t *testing.T) {
	everywhere(t, func(t *testing.T, p *peer) {
		id := p.start("publish", `{}`)
		const answer = `{"action":"accept","content":{"title":"Days"}}`
		done := ""
		if p.revision == legacy {
			p.answers["elicitation/create"] = func(params string) string {
				wantAll(t, params, `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`)
				return answer
			}
			p.until(id, inputRequired)
			done = p.call("tasks/result", `{"taskId":"`+id+`"}`)
		} else {
			wantAll(t, p.until(id, inputRequired), `"inputRequests":{"title":{"method":"elicitation/create","params":{`)
			p.call("tasks/update", `{"taskId":"`+id+`","inputResponses":{"title":`+answer+`,"unknown":{"action":"accept"}}}`)
			if got := p.call("tasks/get", `{"taskId":"`+id+`"}`); strings.Contains(got, inputRequired) {
				t.Errorf("the task still asks after the answer: %s", got)
			}
			done = p.until(id, completed)
		}
		wantAll(t, done, `0 entries were published as`, `Days`)
	})
}

func TestTaskIsCancelled(t *testing.T) {
	everywhere(t, func(t *testing.T, p *peer) {
		id := p.start("publish", `{}`) // and it waits for an answer
		p.call("tasks/cancel", `{"taskId":"`+id+`"}`)
		p.until(id, cancelled)
	})
}

func TestTaskSupport(t *testing.T) {
	p := dial(t, legacy)
	wantAll(t, p.fail("tools/call", `{"name":"publish"}`), `-32601`)
	wantAll(t, p.fail("tools/call", `{"name":"count","arguments":{"to":1},"task":{}}`), `-32601`)
	wantAll(t, p.call("tools/call", `{"name":"research","arguments":{"topic":"rain","steps":1}}`), `Read 1 sources`)

	p = dial(t, firstModern)
	p.send(`{"jsonrpc":"2.0","id":"bare","method":"tools/call","params":{"name":"publish","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	_, refusal := p.response(`"bare"`)
	wantAll(t, refusal, `-32021`, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)
}

func TestTaskOverHTTP(t *testing.T) {
	url := listening(t)
	defer http.DefaultClient.CloseIdleConnections()
	t.Run(legacy, func(t *testing.T) {
		session, _ := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
			"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`)
		headers := []string{"Mcp-Protocol-Version", legacy, "Mcp-Session-Id", session}
		post(t, url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...)
		_, created := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{
			"name":"research","arguments":{"topic":"rain"},"task":{"ttl":60000}}}`, headers...)
		id := cut(created, `"task":{"taskId":"`, `"`)
		_, done := post(t, url, `{"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"`+id+`"}}`, headers...)
		wantAll(t, done, `Read 3 sources about rain.`)
	})
	t.Run(firstModern, func(t *testing.T) {
		request := func(method, name, params string) string {
			_, body := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, withMeta(params)),
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
	})
}
