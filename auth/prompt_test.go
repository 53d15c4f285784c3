package auth_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A screen is what the user sees.
type screen struct {
	mu      sync.Mutex
	text    strings.Builder
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

// await waits until a text was shown n times.
func (s *screen) await(t *testing.T, text string, n int) {
	t.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	for {
		s.mu.Lock()
		found := strings.Count(s.text.String(), text) >= n
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			t.Fatalf("no %q in %q", text, s)
		}
	}
}

// returned is what Show returns.
type returned struct {
	callback string
	err      error
}

const state = "the-state-0123456789"

// pending is a login by authorization code.
func pending(redirect string) *auth.Pending {
	return &auth.Pending{
		Server: "notes", URL: "https://as.example/authorize?client_id=1&state=" + state, RedirectURI: redirect, State: state,
		Authority: auth.Authority{Issuer: "https://as.example"},
	}
}

// hostile has control characters wherever others have written.
func hostile() *auth.Pending {
	p := pending("")
	p.Server = "notes\x1b[2J\nServer \"bank\""
	p.URL += "\x1b]0;x\a\u202e\nbank"
	p.Authority.Issuer += "\x9b1m\u200b\nbank"
	p.Device = &auth.Device{UserCode: "AB\x1b[31m\r\nbank" + strings.Repeat("x", 10_000)}
	return p
}

// checkHarmless looks for what moves the cursor or passes for the program's own
// lines.
func checkHarmless(t *testing.T, shown string) {
	t.Helper()
	for line := range strings.Lines(shown) {
		for _, r := range strings.TrimSuffix(line, "\n") {
			assert.Equal(t, [...]any{r < ' ', r >= 0x7f}, [...]any{false, false}, "%U in %q", r, line)
		}
		assert.Equal(t, [...]any{strings.HasPrefix(line, "bank"), strings.HasPrefix(line, `Server "bank"`)}, [...]any{false, false}, "line %q", line)
	}
	assert.Equal(t, len(shown) <= 5000, true)
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
