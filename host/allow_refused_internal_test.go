package host

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Who does not answer is not asked at each attempt to start, but when somebody wants it.
func TestRefusedAnswer(t *testing.T) {
	text := `{"inputs":[{"id":"i","type":"promptString"}],"servers":{"a":{"url":"https://x/","headers":{"X":"${input:i}"}}}}`
	asked, willing := 0, false
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(text), &config.Options{Scope: config.ScopeProject,
		Input: func(context.Context, config.Input) (config.Secret, error) {
			asked++
			if !willing {
				return "", errors.New("the window was closed")
			}
			return "said", nil
		}}))(t)
	made := 0
	h := New(&Options{StateDir: NoState})
	defer func() { _ = h.Close() }()
	guard := assert.Value(h.guard(c.Servers[0], func(e *config.Server) (mcp.Transport, error) {
		made++
		return &transport.HTTP{URL: e.Headers["X"].Reveal()}, nil
	}))(t)
	s := &server{transport: func() (mcp.Transport, error) { return guard, nil }}
	g := guard.(*guarded)
	for range 3 {
		if _, _, err := g.transport(t.Context()); !errors.Is(err, config.ErrNotAnswered) {
			t.Fatal(err)
		}
	}
	assert.Equal(t, asked, 1, "asked times")
	willing = true
	s.askAgain()
	for range 3 {
		inner, e, err := g.transport(t.Context())
		assert.OK(t, err)
		if h, ok := inner.(*transport.HTTP); !ok || h.URL != "said" || e.Headers["X"] != "said" {
			t.Errorf("%v for %v", inner, e)
		}
	}
	if asked != 2 || made != 1 {
		t.Errorf("asked %d times, made %d transports", asked, made)
	}
	(&server{}).askAgain() // not started
}
