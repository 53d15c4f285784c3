package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	regnames "github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestOneFailureHarmsNobody(t *testing.T) {
	t.Parallel()
	h := open(t, write(t,
		"good", child(t, "good"),
		"exit", child(t, "exit"),
		"gone", `{"command": "no-such-program-anywhere"}`,
		"silent", child(t, "silent", `"connectTimeoutSeconds": 0.1`),
		"broken", `{"comand": "x"}`,
		"off", child(t, "off", `"enabled": false`),
	), &host.Options{Transport: killSoon("silent")})

	assert.True(t, strings.HasPrefix(assert.Value(call(t, h, "good__echo", `{"text":"hi"}`))(t), "hi "), "good")
	assert.Equal(t, names(h), "good__echo", "tools")

	// How a process has ended, and what it wrote, a busy machine may tell of a later attempt only.
	var exit *transport.ExitError
	until(t, h, "exit", "known to have ended", func(s host.Status) bool { return errors.As(s.Err, &exit) && exit.Stderr != "" })
	assert.Equal(t, exit.Code, 3, "exit")
	assert.Contains(t, exit.Stderr, "no licence found", "exit")
	s := status(t, h, "gone")
	assert.Is(t, s.Err, exec.ErrNotFound, "gone")
	assert.False(t, s.State.Phase == mcp.Ready, "gone")
	assert.Is(t, status(t, h, "silent").Err, context.DeadlineExceeded, "silent")

	at := assert.As[*config.Error](t, status(t, h, "broken").Err, "broken")
	assert.Equal(t, at.Line, 7, "broken")
	assert.Equal(t, at.Key, "mcpServers.broken.comand", "broken")
	s = status(t, h, "off")
	assert.OK(t, s.Err, "off")
	assert.False(t, s.Enabled, "off")
	assert.Equal(t, s.State.Phase, mcp.Idle, "off")
}

func TestOpenReportsTheFile(t *testing.T) {
	path := write(t, "a", `{"command": "x",, }`)
	_, err := host.Open(watchdog(t), path, nil)
	assert.Fails(t, err, "malformed")
	assert.True(t, strings.HasPrefix(err.Error(), path+":3:"), "malformed")
	assert.Is(t, assert.Err(host.Open(watchdog(t), filepath.Join(t.TempDir(), "none"), nil)), fs.ErrNotExist, "missing")
}

func TestFilterAndRename(t *testing.T) {
	entry := `{"command": "x", "tools": {"allow": ["a", "b"], "deny": ["b"], "rename": {"a": "first"}}}`
	opts := &host.Options{Transport: inPipe(newToolServer("a", "b", "c").Run)}
	for scheme, name := range map[regnames.Scheme]string{regnames.ServerTool: "x__first", regnames.BareTool: "first"} {
		opts.Registry = registry.New(&registry.Options{Names: scheme})
		h := open(t, write(t, "x", entry), opts)
		assert.Equal(t, names(h), name, "tools")
		assert.Equal(t, assert.Value(call(t, h, name, "{}"))(t), "a", "%s", name)
	}
}

func TestHeadersAndNativeTools(t *testing.T) {
	var key string
	mux := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		key = r.Header.Get("X-Api-Key")
		return newServer("remote")
	}, nil)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("HOST_TEST_KEY", "s3cret")
	h := open(t, write(t, "remote", `{"url": "`+server.URL+`", "headers": {"X-Api-Key": "${HOST_TEST_KEY}"}}`), nil)
	assert.Equal(t, key, "s3cret", "the server saw key")
	assert.OK(t, h.Registry().Add(registry.MustFunc("add", "Add", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	})))
	assert.Equal(t, names(h), "add remote__echo", "tools")
	assert.Equal(t, assert.Value(call(t, h, "add", `{"A":1,"B":2}`))(t), "3", "add")
	assert.Equal(t, assert.As[*registry.UnknownToolError](t, assert.Err(call(t, h, "remote__ecco", `{}`))).Suggestions[0], "remote__echo")
}

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
		if e.Kind == "start" && e.Outcome == "ok" {
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
	assert.Value(call(t, h, "good__echo", `{"text": "hi"}`))(t)
}

// By default nobody waits long.
func TestOpenWaitsForSomeTime(t *testing.T) {
	path := write(t, "hung", `{"command": "x"}`)
	synctest.Test(t, func(t *testing.T) {
		stuck := newStuckServer()
		h := assert.Value(host.Open(t.Context(), path, stuck.with("hung")))(t)
		assert.Equal(t, status(t, h, "hung").Stage, host.StageStarting, "stage")
		close(stuck.release)
		assert.OK(t, h.Close())
	})
}

// A required server is waited for, also if others are not any more.
func TestOpenWaitsForRequiredServers(t *testing.T) {
	opts := &host.Options{OpenWait: 1}
	assert.Equal(t, status(t, open(t, write(t, "needed", child(t, "needed", `"required": true`)), opts), "needed").Stage, host.StageReady, "stage")
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
			log := activity.New(nil, ready)
			opts.Activity = log
			defer func() { _ = log.Close(watchdog(t)) }()
			go func() {
				<-stuck.started
				<-stuck.started
				<-ready // the good one
				cancel(stopped)
			}()
			entry := `{"command": "x"` + required + `}`
			h, err := host.Open(ctx, write(t, "hung", entry, "good", `{"command": "x"}`, "stuck", entry), opts)
			assert.True(t, h == nil, "a host")
			assert.Is(t, err, context.Canceled)
			assert.Is(t, err, stopped)

			servers := assert.As[*host.ServersError](t, err)
			assert.Equal(t, servers.Error(), `host: the servers "hung", "stuck" are not ready: context canceled`)
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
	listener := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
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
	assert.Is(t, assert.Err(host.Open(ctx, path, patient(&host.Options{Transport: killSoon("hung")}))), context.Canceled)
	conn := <-alive
	defer func() { _ = conn.Close() }()
	assert.Fails(t, assert.Err(conn.Read(make([]byte, 1))), "a byte, want the end of the process")
}

// The errors of required servers have a type, and stay what they are.
func TestRequiredServersAreReported(t *testing.T) {
	_, err := host.Open(watchdog(t), write(t,
		"b", child(t, "exit", `"required": true`),
		"a", `{"command": "x", "args": ["${HOST_TEST_UNSET}"], "required": true}`,
		"c", `{"command": 5}`,
	), nil)

	servers := assert.As[*host.ServersError](t, err)
	assert.Equal(t, len(servers.Failed), 2)
	assert.Equal(t, len(servers.Unwrap()), 2)

	assert.As[*config.UnsetVariableError](t, servers.Failed["a"], "a")

	assert.Fails(t, servers.Failed["b"], "b")
	assert.True(t, strings.HasPrefix(err.Error(), `host: required: server "a" (`), "has prefix")
}

// Apply waits for all, and says for which it could not any more.
func TestApplyNamesTheServersThatAreNotReady(t *testing.T) {
	stuck, ready := newStuckServer(), make(startedServers, 10)
	opts := stuck.with("hung")
	log := activity.New(nil, ready)
	opts.Activity = log
	defer func() { _ = log.Close(watchdog(t)) }()
	h := host.New(opts)
	defer func() {
		close(stuck.release)
		_ = h.Close()
	}()
	ctx, cancel := context.WithCancel(watchdog(t))
	go func() {
		<-ready // the good one
		cancel()
	}()
	report, err := h.Apply(ctx, load(t, "hung", "x", "good", "x"))
	assert.Is(t, err, context.Canceled)
	failed := assert.As[*host.ServersError](t, err).Failed
	assert.Equal(t, len(failed), 1, "servers that are not ready")
	assert.Fails(t, failed["hung"], "hung")
	assert.Equal(t, len(report.Failed), 1, "failed")
	assert.Value(call(t, h, "good__echo", `{"text": "hi"}`))(t)
}

// A following is a host that follows a config file, of which the test says when it
// has changed.
type following struct {
	t       *testing.T
	host    *host.Host
	path    string
	changed chan struct{}
	done    chan followed
	ended   chan error
}

type followed struct {
	report host.Report
	err    error
}

// newFollowing follows the file at path, beginning with what is in it.
func newFollowing(t *testing.T, ctx context.Context, path string) *following {
	t.Helper()
	f := &following{
		t: t, host: host.New(exampleOptions()), path: path,
		changed: make(chan struct{}), done: make(chan followed), ended: make(chan error, 1),
	}
	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	done := func(r host.Report, err error) { f.done <- followed{r, err} }
	go func() { f.ended <- f.host.Follow(ctx, f.changes, load, done) }()
	t.Cleanup(func() { assert.OK(t, f.host.Close()) })
	return f
}

func (f *following) changes(ctx context.Context) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for {
			select {
			case _, ok := <-f.changed:
				if !ok || !yield([]string{f.path}) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// change puts text into the file and returns what came of it.
func (f *following) change(text string) (host.Report, error) {
	f.t.Helper()
	assert.OK(f.t, os.WriteFile(f.path, []byte(text), 0o600))
	return f.again()
}

func (f *following) again() (host.Report, error) {
	f.t.Helper()
	f.changed <- struct{}{}
	done := <-f.done
	return done.report, done.err
}

// running returns the names of the servers that are ready.
func (f *following) running() string {
	var names []string
	for _, s := range f.host.Servers() {
		if s.State.Server != nil {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, " ")
}

func servers(names ...string) string {
	var members []string
	for _, name := range names {
		members = append(members, fmt.Sprintf("%q: {\"command\": \"x\"}", name))
	}
	return `{"mcpServers": {` + strings.Join(members, ", ") + `}}`
}

func TestFollow(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	report, err := f.change(servers("a", "b"))
	assert.OK(t, err)
	assert.Equal(t, strings.Join(report.Started, " "), "a b")
	assert.Equal(t, f.running(), "a b")
	report, err = f.change(servers("b", "c"))
	assert.OK(t, err)
	assert.Equal(t, fmt.Sprint(report.Stopped, report.Kept), "[a] [b]", "stopped and kept")
	assert.Equal(t, f.running(), "b c")
}

// A file that is half-written, empty, wrong or gone leaves all as it is.
func TestFollowABadFile(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	whole := servers("a", "b")
	assert.Value(f.change(whole))(t)
	for i := range len(whole) {
		assert.Equal(t, assert.As[*config.Error](t, assert.Err(f.change(whole[:i])), "%q", whole[:i]).File, f.path, "%q", whole[:i])
		assert.Equal(t, f.running(), "a b", "after %q there runs", whole[:i])
	}
	assert.OK(t, os.Remove(f.path))
	assert.Is(t, assert.Err(f.again()), fs.ErrNotExist, "of no file")
	assert.Equal(t, f.running(), "a b", "of no file")
	assert.Value(f.change(servers("b")))(t)
	assert.Equal(t, f.running(), "b")
}

// An entry with an error is told of, and the others are applied.
func TestFollowABadEntry(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	assert.Value(f.change(servers("a")))(t)
	assert.Fails(t, assert.Value(f.change(`{"mcpServers": {"a": {"command": 5}, "b": {"command": "x"}}}`))(t).Failed["a"])
	assert.Equal(t, f.running(), "a b")
}

func TestFollowEnds(t *testing.T) {
	t.Run("with ctx", func(t *testing.T) {
		ctx, cancel := context.WithCancel(watchdog(t))
		f := newFollowing(t, ctx, filepath.Join(t.TempDir(), "mcp.json"))
		cancel()
		assert.Is(t, <-f.ended, context.Canceled)
	})
	t.Run("with the host", func(t *testing.T) {
		f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
		assert.Value(f.change(servers("a")))(t)
		assert.OK(t, f.host.Close())
		assert.Is(t, <-f.ended, host.ErrClosed)
	})
	t.Run("with the changes", func(t *testing.T) {
		f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
		close(f.changed)
		assert.OK(t, <-f.ended)
	})
	t.Run("without configuration", func(t *testing.T) {
		h := host.New(nil)
		defer func() { _ = h.Close() }()
		once := func(context.Context) iter.Seq[[]string] {
			return func(yield func([]string) bool) { yield(nil) }
		}
		none := func(context.Context) (*config.Config, error) { return nil, nil }
		var told error
		err := h.Follow(t.Context(), once, none, func(_ host.Report, err error) { told = err })
		assert.OK(t, err)
		assert.Fails(t, told)
	})
}

// A host of the records of a store follows it: what another process adds and removes there
// starts and ends here.
func TestOpenStoreFollows(t *testing.T) {
	kept := storage.NewMemory()
	there := record.NewStore(kept, "servers")
	opts := exampleOptions()
	opts.Follow = true
	h := assert.Value(openStore(t.Context(), record.NewStore(kept, "servers"), opts))(t)
	defer func() { assert.Is(t, h.Close(), nil) }()
	await := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for servers := range h.Watch(ctx) {
			if len(servers) == want {
				return
			}
		}
		t.Fatalf("got %d servers, want %d", len(h.Servers()), want)
	}
	assert.Value(record.Add(t.Context(), there, &config.Server{Name: "notes", Command: "x"}))(t)
	await(1)
	assert.Value(record.Remove(t.Context(), there, "notes"))(t)
	await(0)
}

// Open follows its file if it is told to, and only as long as it is sound.
func TestOpenFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	for name, follow := range map[string]bool{"followed": true, "not followed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				put := func(text string) {
					t.Helper()
					// Beside it and over it, as editors do: a file in which a time is the same is
					// another one all the same.
					assert.OK(t, os.WriteFile(path+".new", []byte(text), 0o600))
					assert.OK(t, os.Rename(path+".new", path))
					time.Sleep(time.Minute)
				}
				var log lockedBuffer
				put(servers("a", "b"))
				opts := fakes(&host.Options{Follow: follow})
				opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h := open(t, path, opts)
				want := func(what string, names ...string) {
					t.Helper()
					if !follow {
						names = []string{"a", "b"}
					}
					var got []string
					for _, s := range h.Servers() {
						if s.Stage == host.StageReady {
							got = append(got, s.Name)
						}
					}
					assert.Equal(t, fmt.Sprint(got), fmt.Sprint(names), "%s", what)
				}
				want("at first", "a", "b")
				put(servers("b", "c"))
				want("after a change", "b", "c")
				log.take()
				put(`{"mcpServers": {"b": {`)
				want("half-written", "b", "c")
				if got := strings.Count(log.take(), "has an error"); got != 1 && follow {
					t.Errorf("the error was logged %d times, want once", got)
				}
				assert.OK(t, os.Remove(path))
				time.Sleep(time.Minute)
				want("without a file", "b", "c")
				put(servers("c"))
				want("with a file again", "c")
				assert.OK(t, h.Close())
			})
		})
	}
}

// A file that is being written is read when it is whole.
func TestFollowWaitsForTheEndOfTheFile(t *testing.T) {
	path := write(t, "a", `{"command": "x"}`)
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		opts := fakes(&host.Options{Follow: true})
		opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := open(t, path, opts)
		text := servers("b", "c", "d")
		for i := range len(text) {
			assert.OK(t, os.WriteFile(path, []byte(text[:i+1]), 0o600))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		assert.Equal(t, names(h), "b__echo c__echo d__echo", "tools")
		assert.Lacks(t, log.take(), "error", "log")
		assert.OK(t, h.Close())
	})
}
