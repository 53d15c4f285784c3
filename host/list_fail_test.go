package host_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// scriptedHost returns options with which all servers follow a script.
func scriptedHost(t *testing.T, script mcptest.Script) *host.Options {
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), script)
	return &host.Options{StateDir: host.NoState, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: server.Serve}, nil
	}}
}

// A server that connects and cannot list its tools waits, with the reason, and the reason
// is kept.
func TestServerThatCannotListWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := mcptest.Error(-32603, "the index is locked")
		opts := scriptedHost(t, mcptest.Script{"tools/list": mcptest.Sequence(down, down, down, mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`))})
		kept := hosttest.NewStatuses(map[string]record.LastStatus{"s": {Status: record.StatusConnected, Tools: 3}})
		m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(&record.Record{Name: "s", Command: "x"}), &manage.Options{Host: *patient(opts), Statuses: kept}))(t)
		defer func() { _ = m.Close() }()
		h := m.Host()
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		s := status(t, h, "s")
		assert.Equal(t, s.Stage, host.StageWaiting, "the stage")
		if s.Err == nil || !strings.Contains(s.Err.Error(), "the index is locked") {
			t.Errorf("got the error %v, want that of the list", s.Err)
		}
		if got := kept.At("s"); got.Status != record.StatusError || !strings.Contains(got.Error, "the index is locked") {
			t.Errorf("got the kept status %+v, want an error with that of the list", got)
		}
		health := assert.Value(doctor.HealthOf(h, "s"))(t)
		if health.Level != doctor.LevelUnhealthy || health.Action != doctor.ActionWait {
			t.Errorf("got %s and %s, want %s and %s", health.Level, health.Action, doctor.LevelUnhealthy, doctor.ActionWait)
		}
		d := assert.Value(doctor.Diagnose(t.Context(), h, "s"))(t)
		assert.Equal(t, d.Doing, "It is connected, but its tools could not be listed. That is tried again by itself.")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := status(t, h, "s"); got.Stage != host.StageReady || got.Err != nil {
			t.Errorf("after a minute: got the stage %s and the error %v, want %s and none", got.Stage, got.Err, host.StageReady)
		}
		if got := kept.At("s"); got.Status != record.StatusConnected || got.Tools != 1 || got.Error != "" {
			t.Errorf("after a minute: got the kept status %+v, want that it is connected with one tool", got)
		}
	})
}

// A tool whose schema is nested without end costs no other tool of its server.
func TestBottomlessToolCostsItself(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	opts := scriptedHost(t, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[{"name":"deep","inputSchema":` + deep + `},{"name":"a","inputSchema":{"type":"object"}}]}`)})
	h := host.New(opts)
	defer func() { _ = h.Close() }()
	assert.Value(h.Apply(context.Background(), acceptParse(t, "s", `{"command": "x"}`)))(t)
	if got := status(t, h, "s"); got.Stage != host.StageReady || got.Tools != 1 {
		t.Errorf("got the stage %s and %d tools, want %s and 1", got.Stage, got.Tools, host.StageReady)
	}
}
