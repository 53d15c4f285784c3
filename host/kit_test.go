// Kit of the tests of package host: servers in this process, processes, and callers.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

const serverMode = hosttest.ServerMode

var (
	call       = hosttest.Call
	child      = hosttest.Child
	eventually = hosttest.Eventually
	fakes      = hosttest.Fakes
	inProcess  = hosttest.InProcess
	kill       = hosttest.Kill
	killSoon   = hosttest.KillSoon
	names      = hosttest.Names
	newServer  = hosttest.NewServer
	open       = hosttest.Open
	patch      = hosttest.Patch
	patient    = hosttest.Patient
	pinned     = hosttest.Pinned
	schemas    = hosttest.Schemas
	status     = hosttest.Status
	until      = hosttest.Until
	wantStage  = hosttest.WantStage
	watchdog   = hosttest.Watchdog
	write      = hosttest.Write
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(serve); end != nil {
		// The DELETE that ends a session of the SDK's server is given up on a busy machine.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"), goleak.Cleanup(end))
	}
}

// openStore opens a host of the records in a store.
func openStore(ctx context.Context, store record.Store, opts *host.Options) (*host.Host, error) {
	m, err := manage.OpenStore(ctx, store, &manage.Options{Host: *opts})
	if err != nil {
		return nil, err
	}
	return m.Host(), nil
}

// serve serves the modes that only these tests have.
func serve(mode string) bool {
	switch mode {
	case "silent":
		// Never answers, and takes no notice of the end of its input.
		_, _ = os.Stdin.Read(make([]byte, 1))
		select {}
	case "hold":
		// The same, with a connection that tells who listens that the process lives.
		if _, err := net.Dial("tcp", os.Args[1]); err != nil {
			panic(err)
		}
		select {}
	}
	return false
}

// serveFuncs are what servers in this process do, by the command of their entry.
type serveFuncs = map[string]func(context.Context, mcp.Transport) error

// pipeServers makes servers in this process. What a server does follows from its
// command; one whose command is not in serve has the tool echo, which answers with the
// arguments of the entry.
type pipeServers struct {
	serve serveFuncs

	started atomic.Int64 // connections that were made
	living  atomic.Int64 // connections that there are

	down atomic.Bool // new connections fail

	mu     sync.Mutex
	served map[string]int  // connections that were made, by the name of the entry
	cut    []chan struct{} // one for each connection, which ends when it is closed
}

// hangUp ends all connections at once, whatever their servers do at that moment.
func (pipes *pipeServers) hangUp() {
	pipes.mu.Lock()
	defer pipes.mu.Unlock()
	for _, cut := range pipes.cut {
		close(cut)
	}
	pipes.cut = nil
}

func (pipes *pipeServers) transport(_ session.Key, e *config.Server) (mcp.Transport, error) {
	serve := pipes.serve[e.Command]
	if serve == nil {
		text := strings.Join(e.Args, " ")
		serve = func(ctx context.Context, t mcp.Transport) error { return newEcho(e.Name, text).Run(ctx, t) }
	}
	return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
		if pipes.down.Load() {
			return errors.New("down for maintenance")
		}
		pipes.started.Add(1)
		pipes.living.Add(1)
		defer pipes.living.Add(-1)
		pipes.mu.Lock()
		if pipes.served == nil {
			pipes.served = map[string]int{}
		}
		pipes.served[e.Name]++
		cut := make(chan struct{})
		pipes.cut = append(pipes.cut, cut)
		pipes.mu.Unlock()
		served := make(chan error, 1)
		go func() { served <- serve(ctx, t) }()
		select {
		case err := <-served:
			return err
		case <-cut:
			return errors.New("hung up")
		}
	}}, nil
}

// connections says how often the named server was connected to.
func (pipes *pipeServers) connections(name string) int {
	pipes.mu.Lock()
	defer pipes.mu.Unlock()
	return pipes.served[name]
}

func (pipes *pipeServers) options() *host.Options {
	return &host.Options{Transport: pipes.transport, StateDir: host.NoState}
}

// newEcho returns a server whose tool echo answers with a fixed text.
func newEcho(name, text string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, schemas)
	type input struct {
		Text string `json:"text,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, any, error) {
		return textResult(text), nil, nil
	})
	return s
}

func textResult(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// parseEntries reads a config of pairs of names and entries.
func parseEntries(t testing.TB, pairs ...string) *config.Config {
	t.Helper()
	var members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	return assert.Value(config.Parse(t.Context(), "accept.json", []byte(`{"mcpServers": {`+strings.Join(members, ",\n")+`}}`), nil))(t)
}

// newHost returns a host that runs c, and is closed with the test.
func newHost(t *testing.T, opts *host.Options, c *config.Config) *host.Host {
	t.Helper()
	h := host.New(patient(opts))
	t.Cleanup(func() { assert.OK(t, h.Close(), "Close") })
	assert.Value(h.Apply(watchdog(t), c))(t)
	return h
}

// childEntry is the entry of a server that is this program, and that ends as fast
// under the race detector as without it.
func childEntry(t testing.TB, mode, generation string, more ...string) string {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	entry := fmt.Sprintf(`{"command": %q, "env": {%q: %q, "GORACE": "atexit_sleep_ms=0", "GENERATION": %q}`, program, serverMode, mode, generation)
	return entry + strings.Join(append([]string{""}, more...), ", ") + "}"
}

// awaitExit waits until a process has ended.
func awaitExit(t *testing.T, pid int) {
	t.Helper()
	needProc(t)
	eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
}

// A callLoad calls tools and looks at the catalogue while something happens.
type callLoad struct {
	callers, calls int
	tool           string
	args           string
	// look is asked about each snapshot that can be seen. Nil: the tool is there.
	look func(*registry.Snapshot) error
}

// When enough calls were made, so many callers go on at that pace, to leave the machine
// to what they wait for.
const (
	loadStay = 8
	loadPace = 8 * time.Millisecond
)

// during makes the calls until f has returned and there were enough of them. It
// returns how often each text was the answer, and fails the test for each call that
// failed and each snapshot that was not as it should be.
func (l callLoad) during(t *testing.T, h *host.Host, f func()) map[string]int {
	t.Helper()
	if l.args == "" {
		l.args = "{}"
	}
	if l.look == nil {
		l.look = func(s *registry.Snapshot) error {
			if _, ok := s.Lookup(l.tool); !ok {
				return fmt.Errorf("version %d does not list %s", s.Version(), l.tool)
			}
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var (
		mu      sync.Mutex
		answers = map[string]int{}
		faults  []error
		made    int
		ended   atomic.Bool
		wg      sync.WaitGroup
	)
	note := func(text string, err error) (enough, over bool) {
		mu.Lock()
		defer mu.Unlock()
		made++
		if err != nil {
			faults = append(faults, err)
		} else {
			answers[text]++
		}
		return made >= l.calls, made >= l.calls && ended.Load() || len(faults) > 20
	}
	for caller := range l.callers {
		wg.Go(func() {
			pace := time.NewTicker(loadPace)
			defer pace.Stop()
			for {
				res, err := h.Registry().Call(ctx, l.tool, json.RawMessage(l.args))
				text, err := textOf(res, err)
				enough, over := note(text, err)
				if over || enough && caller >= loadStay {
					return
				}
				if enough {
					<-pace.C
				}
			}
		})
	}
	looked := make(chan error, 1)
	looking, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for s := range h.Registry().Watch(looking) {
			if err := l.look(s); err != nil {
				looked <- err
				return
			}
		}
		looked <- l.look(h.Registry().Snapshot())
	}()
	f()
	ended.Store(true)
	wg.Wait()
	stop()
	assert.OK(t, <-looked, "a snapshot")
	for i, err := range faults {
		if t.Errorf("of %d calls one failed: %v", made, err); i == 5 {
			t.Fatalf("and %d others", len(faults)-i)
		}
	}
	return answers
}

// textOf returns the text of a result that has nothing else.
func textOf(res *mcp.CallToolResult, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if len(res.Content) != 1 || res.IsError {
		return "", fmt.Errorf("answer %+v, error %t", res.Content, res.IsError)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", errors.New("the answer is no text")
	}
	return text.Text, nil
}

// childProcesses returns the ids of this program's child processes that have not
// ended.
func childProcesses(t testing.TB) []int {
	t.Helper()
	needProc(t)
	tasks := assert.Value(filepath.Glob("/proc/self/task/*/children"))(t)
	var pids []int
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && alive(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// exceptProcess returns what makes transports for all servers but the named one, which
// is a process.
func exceptProcess(in func(session.Key, *config.Server) (mcp.Transport, error), name string) func(session.Key, *config.Server) (mcp.Transport, error) {
	return func(key session.Key, e *config.Server) (mcp.Transport, error) {
		if e.Name == name {
			return nil, nil
		}
		return in(key, e)
	}
}

// background calls f on another goroutine, and returns where its error comes.
func background(f func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- f() }()
	return result
}

// describe returns what a status says, without what is different each time.
func describe(s host.Status) string {
	return fmt.Sprintf("%s: %d tools, %d quarantined, %d rejected, %d users, enabled %t, %v", s.Stage, s.Tools, s.Quarantined, len(s.Rejected), s.Users, s.Enabled, s.Err)
}

// addTool adds a tool without arguments, whose answer is what text returns.
func addTool(s *sdk.Server, name string, text func(ctx context.Context) (string, error)) {
	sdk.AddTool(s, &sdk.Tool{Name: name}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		answer, err := text(ctx)
		return textResult(answer), nil, err
	})
}

// newToolServer returns a server with these tools, each of which answers with its name.
func newToolServer(tools ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, schemas)
	for _, name := range tools {
		addTool(s, name, func(context.Context) (string, error) { return name, nil })
	}
	return s
}

// needProc skips a test where processes cannot be looked at.
func needProc(t testing.TB) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
}

// callAs calls a tool without arguments on behalf of a user, and returns its text.
func callAs(ctx context.Context, h *host.Host, user, tool string) (string, error) {
	return textOf(h.Registry().Call(session.WithUser(ctx, user), tool, nil))
}

// answerOf returns the text of an answer, or that of its error.
func answerOf(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// inPipe makes transports to servers in this process.
func inPipe(serve func(context.Context, mcp.Transport) error) func(session.Key, *config.Server) (mcp.Transport, error) {
	return func(session.Key, *config.Server) (mcp.Transport, error) { return &transport.Pipe{Serve: serve}, nil }
}
