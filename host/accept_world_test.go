package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An acceptTown runs servers in this process. What a server is follows from its
// command; one without a house of its own has the tool echo, which answers with the
// first argument of the entry.
type acceptTown struct {
	// houses are what answers, by the command of the entry.
	houses map[string]func(context.Context, mcp.Transport) error

	started atomic.Int64 // connections that were made
	living  atomic.Int64 // connections that there are

	mu     sync.Mutex
	served map[string]int // connections that were made, by the name of the entry
}

func (town *acceptTown) transport(_ session.Key, e *config.Server) (mcp.Transport, error) {
	serve := town.houses[e.Command]
	if serve == nil {
		text := strings.Join(e.Args, " ")
		serve = func(ctx context.Context, t mcp.Transport) error { return acceptEcho(e.Name, text).Run(ctx, t) }
	}
	return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
		town.started.Add(1)
		town.living.Add(1)
		defer town.living.Add(-1)
		town.mu.Lock()
		if town.served == nil {
			town.served = map[string]int{}
		}
		town.served[e.Name]++
		town.mu.Unlock()
		return serve(ctx, t)
	}}, nil
}

// connections says how often the named server was connected to.
func (town *acceptTown) connections(name string) int {
	town.mu.Lock()
	defer town.mu.Unlock()
	return town.served[name]
}

func (town *acceptTown) options() *host.Options {
	return &host.Options{Transport: town.transport, StateDir: host.NoState}
}

// acceptEcho returns a server whose tool echo answers with a fixed text.
func acceptEcho(name, text string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, sameSchemas)
	type input struct {
		Text string `json:"text,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, any, error) {
		return acceptText(text), nil, nil
	})
	return s
}

func acceptText(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// acceptParse reads a config of pairs of names and entries.
func acceptParse(t testing.TB, pairs ...string) *config.Config {
	t.Helper()
	var members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	c := assert.Value(config.Parse(t.Context(), "accept.json", []byte(`{"mcpServers": {`+strings.Join(members, ",\n")+`}}`), nil))(t)
	return c
}

// acceptNew returns a host that runs c, and is closed with the test.
func acceptNew(t *testing.T, opts *host.Options, c *config.Config) *host.Host {
	t.Helper()
	h := host.New(opts)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	assert.Value(h.Apply(watchdog(t), c))(t)
	return h
}

// acceptChild is the entry of a server that is this program, and that ends as fast
// under the race detector as without it.
func acceptChild(t testing.TB, mode, generation string, more ...string) string {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	entry := fmt.Sprintf(`{"command": %q, "env": {%q: %q, "GORACE": "atexit_sleep_ms=0", "GENERATION": %q}`, program, serverMode, mode, generation)
	return entry + strings.Join(append([]string{""}, more...), ", ") + "}"
}

// acceptGone waits until a process has ended.
func acceptGone(t *testing.T, pid int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	acceptEventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
}

// acceptEventually waits for what no event tells.
func acceptEventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx := watchdog(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("in vain waited for %s", what)
		}
	}
}

// An acceptLoad calls tools and looks at the catalogue while something happens.
type acceptLoad struct {
	callers, calls int
	tool           string
	args           string
	// look is asked about each snapshot that can be seen. Nil: the tool is there.
	look func(*registry.Snapshot) error
}

// When enough calls were made, so many callers go on at that pace, to leave the machine
// to what they wait for.
const (
	acceptStay = 8
	acceptPace = 8 * time.Millisecond
)

// during makes the calls until f has returned and there were enough of them. It
// returns how often each text was the answer, and fails the test for each call that
// failed and each snapshot that was not as it should be.
func (l acceptLoad) during(t *testing.T, h *host.Host, f func()) map[string]int {
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
			pace := time.NewTicker(acceptPace)
			defer pace.Stop()
			for {
				res, err := h.Registry().Call(ctx, l.tool, json.RawMessage(l.args))
				text, err := acceptAnswer(res, err)
				enough, over := note(text, err)
				if over || enough && caller >= acceptStay {
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
	if err := <-looked; err != nil {
		t.Errorf("a snapshot: %v", err)
	}
	for i, err := range faults {
		if t.Errorf("of %d calls one failed: %v", made, err); i == 5 {
			t.Fatalf("and %d others", len(faults)-i)
		}
	}
	return answers
}

// acceptAnswer returns the text of a result that has nothing else.
func acceptAnswer(res *mcp.CallToolResult, err error) (string, error) {
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
