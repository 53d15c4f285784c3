package otel_test

import (
	"testing"
	"testing/synctest"
	"time"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// The measurement begins when a request is sent, or at once if it never was.
func TestDuration(t *testing.T) {
	for _, sent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, belt.Options{})
			r := &mcp.RequestInfo{Server: "notes", Method: "ping", Incoming: true}
			ctx := l.RequestStart(t.Context(), r)
			time.Sleep(10 * time.Second)
			want := 12.0
			if sent {
				r.SentAt, want = time.Now(), 2
			}
			time.Sleep(2 * time.Second)
			l.RequestEnd(ctx, r)
			assert.Equal(t, assert.Only(t, l.histogram(t, "mcp.server.operation.duration")).Sum, want, "sent %v", sent)
			s := l.one(t, "ping", "server")
			assert.Equal(t, s.EndTime.Sub(s.StartTime), 12*time.Second, "the span lasts")
		})
	}
}
