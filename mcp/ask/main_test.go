package ask_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A screen is what the user sees.
type screen struct {
	mu      sync.Mutex
	text    strings.Builder
	seen    int // how much of it was awaited
	changed chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until a text appears behind what was awaited before, and returns
// what came before it.
func (s *screen) await(t *testing.T, text string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		s.mu.Lock()
		now := s.text.String()[s.seen:]
		before, _, found := strings.Cut(now, text)
		if found {
			s.seen += len(before) + len(text)
			s.mu.Unlock()
			return before
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("no %q in %q", text, now)
		}
	}
}

// A user sits at a terminal: a real pipe.
type user struct {
	screen
	console *ask.Console
	keys    *os.File
}

func newUser(t *testing.T) *user {
	t.Helper()
	in, keys, err := os.Pipe()
	assert.OK(t, err)
	u := &user{keys: keys}
	u.console = &ask.Console{In: in, Out: &u.screen}
	t.Cleanup(func() {
		_ = u.console.Close()
		_ = keys.Close()
		_ = in.Close()
	})
	return u
}

func (u *user) types(t *testing.T, line string) {
	t.Helper()
	assert.Value(u.keys.WriteString(line + "\n"))(t)
}

// after types a line when a text is on the screen.
func (u *user) after(t *testing.T, text, line string) {
	t.Helper()
	u.await(t, text)
	u.types(t, line)
}

// granted has a scripted server make a request, and returns what it got.
func granted(t *testing.T, opts *mcp.ClientOptions, method, params string) <-chan string {
	t.Helper()
	c := newClient(t, opts, func(c *mcptest.Call) {
		answer, err := c.Ask(method, params)
		if err != nil {
			answer, _ = json.Marshal(err)
		}
		quoted, _ := json.Marshal(string(answer))
		c.Result(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
	})
	answer := make(chan string, 1)
	go func() {
		res, err := c.CallTool(t.Context(), "x", nil, nil)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- res.Content[0].(*mcp.TextContent).Text
	}()
	return answer
}

// formParams returns the params of an elicitation.
func formParams(message, properties, required string) string {
	quoted, _ := json.Marshal(message)
	return `{"message":` + string(quoted) + `,"requestedSchema":{"type":"object","properties":` + properties + `,"required":` + required + `}}`
}

// actionsOf asks n questions at one time, and tells what the users do.
func actionsOf(t *testing.T, elicit func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error), n int) <-chan string {
	actions := make(chan string, n)
	for range n {
		go func() {
			if res, err := elicit(t.Context(), &mcp.ElicitRequest{}); err != nil {
				t.Error(err)
			} else {
				actions <- res.Action
			}
		}()
	}
	return actions
}

// newPaywall returns a client of a server that wants a page to be visited before
// it runs the first call.
func newPaywall(t *testing.T, calls *atomic.Int64, opts *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	return newClient(t, opts, func(c *mcptest.Call) {
		if calls.Add(1) == 1 {
			c.ErrorData(-32042, "pay", `{"elicitations":[{"mode":"url","message":"Pay","url":"https://a.example/","elicitationId":"1"}]}`)
			return
		}
		c.Result(`{"content":[]}`)
	})
}

// newClient returns a client of a server of revision 2025-11-25 with one tool.
func newClient(t *testing.T, opts *mcp.ClientOptions, tool mcptest.Handler) *mcp.Client {
	t.Helper()
	c := mcp.NewClient("notes", mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": tool}), opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// inBackground runs f beside the test.
func inBackground(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}
