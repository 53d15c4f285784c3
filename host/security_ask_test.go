// Tests of user.go and transport.go: what is made for what was not allowed.

package host_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A countingProgram program makes transports and headers for whatever server it is
// asked about, and counts how often it is.
type countingProgram struct{ transports, headers atomic.Int64 }

func (c *countingProgram) options(book *consent.Book) *host.Options {
	return &host.Options{
		StateDir: host.NoState, Consents: book,
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			c.transports.Add(1)
			return nil, nil
		},
		UserHeaders: func(context.Context, session.Key, *config.Server) (http.Header, error) {
			c.headers.Add(1)
			return http.Header{"Authorization": {"Bearer of-the-user"}}, nil
		},
	}
}

func (c *countingProgram) wantNotAsked(t *testing.T) {
	t.Helper()
	assert.Equal(t, c.transports.Load(), 0, "calls of Transport")
	assert.Equal(t, c.headers.Load(), 0, "calls of UserHeaders")
}

func (c *countingProgram) forget() {
	c.transports.Store(0)
	c.headers.Store(0)
}

// TestNothingIsMadeForWhatWasNotAllowed: the program's own functions, which may hand out
// a user's secrets, are asked only about what was allowed at that moment.
func TestNothingIsMadeForWhatWasNotAllowed(t *testing.T) {
	remoteUsers := `"s":{"url":"http://127.0.0.1:1/mcp","type":"http","identity":"header"}`
	apply := func(t *testing.T, h *host.Host, entries string) *config.Server {
		t.Helper()
		file := filepath.Join(t.TempDir(), ".mcp.json")
		c := assert.Value(config.Parse(t.Context(), file, []byte(`{"mcpServers":{`+entries+`}}`), nil))(t)
		assert.Value(h.Apply(watchdog(t), c))(t)
		return c.Servers[0]
	}
	newHost := func(t *testing.T, program *countingProgram, book *consent.Book) *host.Host {
		t.Helper()
		h := host.New(program.options(book))
		t.Cleanup(func() { _ = h.Close() })
		return h
	}
	t.Run("pending", func(t *testing.T) {
		program := &countingProgram{}
		h := newHost(t, program, consent.New())
		apply(t, h, remoteUsers)
		_, err := h.Client(watchdog(t), session.Key{User: "ann", Server: "s"})

		assert.As[*host.LaunchNotAllowedError](t, err)
		program.wantNotAsked(t)
	})
	t.Run("a program that is not there", func(t *testing.T) {
		program := &countingProgram{}
		h := newHost(t, program, consent.New())
		e := apply(t, h, `"s":{"command":"mcpbelt-no-such-program"}`)
		assert.Value(doctor.Test(watchdog(t), h, e, nil))(t)
		program.wantNotAsked(t)
	})
	t.Run("rejected a moment ago", func(t *testing.T) {
		program, book := &countingProgram{}, consent.New()
		h := newHost(t, program, book)
		apply(t, h, remoteUsers)
		l := h.PendingLaunches()[0]
		assert.OK(t, h.AllowLaunch(watchdog(t), "ann", l.Fingerprint()))
		assert.OK(t, book.Decide(watchdog(t), "bob", l, consent.Rejected))
		program.forget()
		_, err := h.Client(watchdog(t), session.Key{User: "ann", Server: "s"})

		assert.As[*host.LaunchNotAllowedError](t, err)
		program.wantNotAsked(t)
	})
}
