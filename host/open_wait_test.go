package host_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A stuckServer never answers, and does not end before the test lets it.
type stuckServer struct {
	started chan struct{} // gets a token for each connection
	release chan struct{}
	ended   chan struct{} // the same, when it has ended
}

func newStuckServer() *stuckServer {
	return &stuckServer{make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100)}
}

func (s *stuckServer) serve(context.Context, mcp.Transport) error {
	s.started <- struct{}{}
	<-s.release
	s.ended <- struct{}{}
	return nil
}

// with are options with which the servers named in stuck are such ones, and the others
// work.
func (s *stuckServer) with(stuck ...string) *host.Options {
	return &host.Options{StateDir: host.NoState, Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		for _, name := range stuck {
			if e.Name == name {
				return &transport.Pipe{Serve: s.serve, CloseTimeout: time.Hour}, nil
			}
		}
		return &transport.Pipe{Serve: newServer(e.Name).Run}, nil
	}}
}

// startedServers is a sink that gets the names of servers that were started.
type startedServers chan string

func (s startedServers) Write(_ context.Context, events []activity.Event) error {
	for _, e := range events {
		if e.Kind == activity.KindStart && e.Outcome == activity.OK {
			s <- e.Server
		}
	}
	return nil
}

// A server that hangs is not waited for.
func TestOpenDoesNotWaitForAHangingServer(t *testing.T) {
	stuck := newStuckServer()
	opts := stuck.with("hung")
	opts.OpenWait = 1 // the others may be still starting, too
	h := open(t, write(t, "hung", `{"command": "x"}`, "good", `{"command": "x"}`), opts)
	defer close(stuck.release)
	assert.Equal(t, status(t, h, "hung").Stage, host.StageStarting, "hung: got stage")
	until(t, h, "good", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	if _, err := call(t, h, "good__echo", `{"text": "hi"}`); err != nil {
		t.Errorf("good: %v", err)
	}
}

// By default nobody waits long.
func TestOpenWaitsForSomeTime(t *testing.T) {
	t.Parallel()
	stuck := newStuckServer()
	h := assert.Value(host.Open(watchdog(t), write(t, "hung", `{"command": "x"}`), stuck.with("hung")))(t)
	if got := status(t, h, "hung"); got.Stage != host.StageStarting {
		t.Errorf("got stage %s, want %s", got.Stage, host.StageStarting)
	}
	close(stuck.release)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A required server is waited for, also if others are not any more.
func TestOpenWaitsForRequiredServers(t *testing.T) {
	opts := &host.Options{OpenWait: 1}
	h := open(t, write(t, "needed", child(t, "needed", `"required": true`)), opts)
	assert.Equal(t, status(t, h, "needed").Stage, host.StageReady, "stage")
}

// If ctx ends before, the error names the servers, Open does not wait for what it ends,
// and the registry has none of the tools any more.
func TestOpenNamesTheServersThatAreNotReady(t *testing.T) {
	for name, required := range map[string]string{"optional": "", "required": `, "required": true`} {
		t.Run(name, func(t *testing.T) {
			stuck := newStuckServer()
			opts := stuck.with("hung", "stuck")
			opts.OpenWait, opts.Registry = -1, registry.New(nil)
			if required != "" {
				opts.OpenWait = 1
			}
			ctx, cancel := context.WithCancelCause(watchdog(t))
			stopped := errors.New("stopped by the user")
			ready := make(startedServers, 10)
			opts.Activity = activity.New(nil, ready)
			defer func() { _ = opts.Activity.Close(watchdog(t)) }()
			go func() {
				<-stuck.started
				<-stuck.started
				<-ready // the good one
				cancel(stopped)
			}()
			entry := `{"command": "x"` + required + `}`
			h, err := host.Open(ctx, write(t, "hung", entry, "good", `{"command": "x"}`, "stuck", entry), opts)
			if h != nil {
				t.Errorf("got a host, want none")
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want an error of ctx", err)
			}
			if !errors.Is(err, stopped) {
				t.Errorf("got %v, want the cause in it", err)
			}
			var servers *host.ServersError
			if !errors.As(err, &servers) {
				t.Fatalf("got %v, want a ServersError", err)
			}
			if len(servers.Failed) != 2 || servers.Failed["hung"] == nil || servers.Failed["stuck"] == nil {
				t.Errorf("got %v, want those of hung and stuck", servers.Failed)
			}
			assert.Equal(t, servers.Error(), `host: not ready are the servers "hung", "stuck": context canceled`)
			assert.Equal(t, len(opts.Registry.Snapshot().Tools()), 0, "tools in the registry")
			close(stuck.release) // it had not ended when Open returned
			<-stuck.ended
			<-stuck.ended
		})
	}
}

// What was started ends also if Open has not waited for that.
func TestOpenLeavesNoProcess(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.OK(t, err)
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(watchdog(t))
	alive := make(chan net.Conn, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			alive <- conn
		}
		cancel()
	}()
	path := write(t, "hung", child(t, "hold", fmt.Sprintf(`"args": [%q]`, listener.Addr())))
	_, err = host.Open(ctx, path, patient(nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of ctx", err)
	}
	conn := <-alive
	defer func() { _ = conn.Close() }()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("got a byte, want the end of the process")
	}
}

func TestOpenEndsWithADeadline(t *testing.T) {
	stuck := newStuckServer()
	opts := stuck.with("hung")
	opts.OpenWait = -1
	ctx, cancel := context.WithTimeout(watchdog(t), 1)
	defer cancel()
	_, err := host.Open(ctx, write(t, "hung", `{"command": "x"}`), opts)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want one that is context.DeadlineExceeded", err)
	}
	close(stuck.release)
}

// The errors of required servers have a type, and stay what they are.
func TestRequiredServersAreReported(t *testing.T) {
	_, err := host.Open(watchdog(t), write(t,
		"b", child(t, "exit", `"required": true`),
		"a", `{"command": "x", "args": ["${HOST_TEST_UNSET}"], "required": true}`,
		"c", `{"command": 5}`,
	), nil)
	var servers *host.ServersError
	if !errors.As(err, &servers) {
		t.Fatalf("got %T: %[1]v, want a ServersError", err)
	}
	if len(servers.Failed) != 2 || servers.Err != nil {
		t.Errorf("got %v, %v, want those of a and b and no error of ctx", servers.Failed, servers.Err)
	}
	var unset *config.UnsetVariableError
	if !errors.As(servers.Failed["a"], &unset) {
		t.Errorf("a: got %v, want that the variable is not set", servers.Failed["a"])
	}
	var exit *transport.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("got %v, want that b has ended", err)
	}
	if got := err.Error(); !strings.HasPrefix(got, `host: required: server "a" (`) {
		t.Errorf("got %s, want a before b", got)
	}
}

// Apply waits for all, and says for which it could not any more.
func TestApplyNamesTheServersThatAreNotReady(t *testing.T) {
	stuck := newStuckServer()
	h := host.New(stuck.with("hung"))
	defer func() {
		close(stuck.release)
		_ = h.Close()
	}()
	c := assert.Value(config.Load(t.Context(), write(t, "hung", `{"command": "x"}`, "good", `{"command": "x"}`), nil))(t)
	ctx, cancel := context.WithCancel(watchdog(t))
	go func() {
		for all := range h.Watch(watchdog(t)) {
			if len(all) == 2 && all[1].Stage == host.StageReady {
				break
			}
		}
		cancel()
	}()
	report, err := h.Apply(ctx, c)
	var servers *host.ServersError
	if !errors.As(err, &servers) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a ServersError of ctx", err)
	}
	if len(servers.Failed) != 1 || servers.Failed["hung"] == nil {
		t.Errorf("got %v, want that of hung", servers.Failed)
	}
	if len(report.Failed) != 1 {
		t.Errorf("got report %+v, want one failure", report)
	}
	if _, err := call(t, h, "good__echo", `{"text": "hi"}`); err != nil {
		t.Errorf("good: %v", err)
	}
}
