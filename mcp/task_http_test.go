package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

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
	res, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) }})
	assert.OK(t, err)
	wantList(t, got, []float64{0, 1, 2})
	assert.Equal(t, textOf(t, res), "done")
}
