//go:build integration && linux

package integration

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// wantUnknown checks the error of a call whose server died.
func wantUnknown(t *testing.T, err error, server, tool string) {
	t.Helper()
	var unknown *mcp.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("error %v (%T), want an OutcomeUnknownError", err, err)
	}
	if unknown.Server != server || unknown.Tool != tool || unknown.Method != "tools/call" {
		t.Errorf("the error names server %q, method %q, tool %q", unknown.Server, unknown.Method, unknown.Tool)
	}
	if mcp.OutcomeOf(err) != mcp.Unknown || mcp.SafeToRetry(err) {
		t.Errorf("outcome %v, safe to retry: %v", mcp.OutcomeOf(err), mcp.SafeToRetry(err))
	}
}

func TestKilledChildIsReplaced(t *testing.T) {
	m := newMark()
	h := open(t, map[string]entry{"every": m.put(stdio(t, "everything", "stdio"))}, nil)
	for range 3 {
		before := m.pid(t, "server-everything")
		call(t, h, "every__echo", `{"message":"before"}`)
		kill9(t, before)
		assert.Equal(t, text(call(t, h, "every__echo", `{"message":"after"}`)), "Echo: after", "after the kill")
		if after := m.pid(t, "server-everything"); after == before {
			t.Errorf("process %d answered after it was killed", after)
		}
	}
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 13, "tools after the kills")
}

// A server behind a URL that is started again has forgotten the session.
func TestKilledListenerIsMetAgain(t *testing.T) {
	for _, tt := range []struct{ name, mode, kind string }{
		{"http", "streamableHttp", "http"},
		{"sse", "sse", "sse"},
		{"auto to sse", "sse", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := listen(t, tt.mode)
			h := open(t, map[string]entry{"every": {Type: tt.kind, URL: srv.url()}}, nil)
			for range 2 {
				call(t, h, "every__echo", `{"message":"before"}`)
				srv.kill()
				srv.start(t)
				assert.Equal(t, text(call(t, h, "every__echo", `{"message":"after"}`)), "Echo: after", "after the kill")
			}
			assert.Equal(t, len(h.Registry().Snapshot().Tools()), 13, "tools after the kills")
		})
	}
}

// A call that has begun when its server dies is not repeated, even though the
// server calls the tool read-only: nobody said that it is to be believed.
func TestKilledDuringCall(t *testing.T) {
	m := newMark()
	tests := []struct {
		name  string
		setup func(t *testing.T) (e entry, kill, start func())
	}{
		{"stdio", func(t *testing.T) (entry, func(), func()) {
			kill := func() { kill9(t, m.pid(t, "server-everything")) }
			return m.put(stdio(t, "everything", "stdio")), kill, func() {}
		}},
		{"http", func(t *testing.T) (entry, func(), func()) {
			srv := listen(t, "streamableHttp")
			return entry{Type: "http", URL: srv.url()}, srv.kill, func() { srv.start(t) }
		}},
		{"sse", func(t *testing.T) (entry, func(), func()) {
			srv := listen(t, "sse")
			return entry{Type: "sse", URL: srv.url()}, srv.kill, func() { srv.start(t) }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, kill, start := tt.setup(t)
			h := open(t, map[string]entry{"every": e}, nil)
			var seen []float64
			opts := &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) {
				seen = append(seen, p.Progress)
				if p.Progress == 2 {
					kill()
					start()
				}
			}}
			const tool = "trigger-long-running-operation"
			res, err := client(t, h, "every").CallTool(ctxFor(t), tool, json.RawMessage(`{"duration":2,"steps":20}`), opts)
			if err == nil {
				t.Fatalf("answer %q from a killed server", text(res))
			}
			wantUnknown(t, err, "every", tool)
			if !slices.Equal(seen, []float64{1, 2}) {
				t.Errorf("progress %v, want 1 and 2 and then the kill", seen)
			}
			assert.Equal(t, text(call(t, h, "every__echo", `{"message":"after"}`)), "Echo: after", "after the kill")
		})
	}
}

// The server dies after the call has taken effect and before it has answered.
// The client cannot know; repeating the call would make it take effect twice.
func TestEffectIsNotRepeated(t *testing.T) {
	dir := t.TempDir()
	e := stdio(t, "memory")
	crash, err := filepath.Abs("testdata/crash.cjs")
	assert.OK(t, err)
	e.Args = append([]string{"--require", crash}, e.Args...)
	e.Env = map[string]string{
		"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl"),
		"CRASH_LOG":        filepath.Join(dir, "writes"),
	}
	h := open(t, map[string]entry{"memory": e}, nil)
	_, err = h.Registry().Call(ctxFor(t), "memory__create_entities",
		json.RawMessage(`{"entities":[{"name":"Once","entityType":"deed","observations":[]}]}`))
	wantUnknown(t, err, "memory", "create_entities")
	if s := text(call(t, h, "memory__read_graph", `{}`)); strings.Count(s, "Once") != 1 {
		t.Errorf("the graph after the call: %s", s)
	}
	writes, err := os.ReadFile(filepath.Join(dir, "writes"))
	if err != nil || strings.Count(string(writes), "\n") != 1 {
		t.Errorf("the memory was written by\n%s(%v)\nwant one line", writes, err)
	}
}

// The request lies in the pipe of a server that is stopped, when the server is killed.
// It cannot be known that it was not read, so the call is not sent to the next process.
func TestUnreadCallIsUnknown(t *testing.T) {
	m := newMark()
	e := m.put(stdio(t, "memory"))
	e.Env["MEMORY_FILE_PATH"] = filepath.Join(t.TempDir(), "memory.jsonl")
	h := open(t, map[string]entry{"memory": e}, nil)

	pid := m.pid(t, "server-memory")
	assert.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, "the server to stop", func() bool { return procState(pid) == "T" })
	done := make(chan error)
	go func() {
		_, err := h.Registry().Call(ctxFor(t), "memory__create_entities",
			json.RawMessage(`{"entities":[{"name":"Once","entityType":"deed","observations":[]}]}`))
		done <- err
	}()
	eventually(t, "the request to be sent", func() bool { return unread(t, pid) > 0 })
	kill9(t, pid)
	wantUnknown(t, <-done, "memory", "create_entities")
	assert.Lacks(t, text(call(t, h, "memory__read_graph", `{}`)), "Once", "the graph")
	if after := m.pid(t, "server-memory"); after == pid {
		t.Errorf("process %d is alive after it was killed", after)
	}
}
