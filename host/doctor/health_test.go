package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// How each server does, and what helps it.
func TestHealthOfEachStage(t *testing.T) {
	web := served(t, site(newServer("web")))
	locked := served(t, statusOf(401, ""))
	down := served(t, statusOf(503, ""))
	h := open(t, write(t,
		"good", child(t, "good"),
		"web", fmt.Sprintf(`{"url": %q}`, web.URL),
		"exit", child(t, "exit"),
		"gone", `{"command": "no-such-program-anywhere"}`,
		"broken", `{"comand": "x"}`,
		"unset", `{"command": "sh", "args": ["${NO_SUCH_VARIABLE_AT_ALL}"]}`,
		"off", child(t, "off", `"enabled": false`),
		"locked", fmt.Sprintf(`{"url": %q}`, locked.URL),
		"down", fmt.Sprintf(`{"url": %q}`, down.URL),
	), nil)
	want := strings.Join([]string{
		"good ready healthy none",
		"web ready healthy none",
		"exit waiting unhealthy configure",
		"gone waiting unhealthy configure",
		"broken invalid unhealthy configure",
		"unset invalid unhealthy set_secret",
		"off disabled healthy enable",
		"locked waiting unhealthy set_secret",
		"down waiting unhealthy wait",
	}, "\n")
	// Those that fail are tried again now and then, and are starting meanwhile.
	var list []doctor.Health
	got := ""
	defer func() { t.Logf("the last was\n%s", got) }()
	eventually(t, "what is wrong with each", func() bool {
		var lines []string
		list = doctor.HealthOfAll(h)
		for _, s := range list {
			lines = append(lines, fmt.Sprint(s.Status.Name, " ", s.Status.Stage, " ", s.Level, " ", s.Action))
		}
		got = strings.Join(lines, "\n")
		return got == want
	})
	for _, s := range list {
		if s.Status.Stage == host.StageWaiting {
			assert.False(t, s.LastError == "" || s.LastErrorAt.IsZero() || s.Failures == 0, "%s: no last error", s.Status.Name)
		}
		assert.Equal(t, (s.Status.Stage == host.StageWaiting || s.Status.Stage == host.StageInvalid), (s.Error != ""), "wrong")
	}
}

// Health knows the calls, the processes and what went wrong before.
func TestHealthOverTime(t *testing.T) {
	t.Parallel()
	path := write(t, "local", child(t, "local"), "web", fmt.Sprintf(`{"url": %q}`, served(t, site(newServer("web"))).URL))
	h := open(t, path, nil)
	for range 3 {
		assert.Value(call(t, h, "local__echo", `{"text":"a"}`))(t)
	}
	s := assert.Value(doctor.HealthOf(h, "local"))(t)
	assert.Equal(t, fmt.Sprint(s.Calls.Total.Done, s.Calls.Recent.Done, s.Calls.Latency.Count, *s.Calls.ErrorRate), "3 3 3 0", "calls")
	assert.Equal(t, fmt.Sprintf("%d %d %q %t", s.Status.Tools, s.Restarts, s.LastError, s.Since.IsZero()), `1 0 "" false`, "tools, restarts, last error")
	pid := s.PID
	assert.Equal(t, pid, status(t, h, "local").State.PID, "pid")
	kill(t, pid)
	until(t, h, "local", "connected again", func(s host.Status) bool { return s.Stage == host.StageReady && s.State.Connections == 2 })
	s = assert.Value(doctor.HealthOf(h, "local"))(t)
	assert.Equal(t, s.Restarts, 1, "restarts")
	assert.False(t, s.PID == pid, "the former process")
	assert.Equal(t, assert.Value(doctor.HealthOf(h, "web"))(t).PID, 0, "a remote server")

	assert.As[*host.UnknownServerError](t, hosttest.ErrorOf(doctor.HealthOf(h, "nobody")), "an unknown server")
	assert.OK(t, h.Close())
	doctor.HealthOfAll(h) // of a closed host, which does no harm
}

// What is not known is absent, not zero.
func TestHealthAsJSON(t *testing.T) {
	h := open(t, write(t, "s", child(t, "s"), "off", `{"command": "x", "enabled": false}`), nil)
	text, err := json.Marshal(doctor.HealthOfAll(h))
	assert.OK(t, err)
	var list []map[string]any
	assert.OK(t, json.Unmarshal(text, &list))
	for _, key := range []string{"pid", "since", "retryAt", "error", "lastErrorAt", "users"} {
		_, ok := list[1][key]
		assert.False(t, ok, "a server that is switched off has %q", key)
	}
	for _, key := range []string{"server", "stage", "level", "action", "calls", "tools", "restarts", "pid", "since"} {
		_, ok := list[0][key]
		assert.True(t, ok, "no %q", key)
	}
}

// Each user's connection is told of.
func TestHealthOfUsers(t *testing.T) {
	opts := &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: newServer("s").Run}, nil
	}}
	h := open(t, write(t, "s", `{"command": "x", "identity": "user"}`), opts)
	for _, user := range []string{"bob", "ann"} {
		assert.OK(t, h.Discover(watchdog(t), session.Key{User: user, Server: "s"}))
	}
	s := assert.Value(doctor.HealthOf(h, "s"))(t)
	assert.Equal(t, len(s.Users), 2, "users")
	assert.Equal(t, s.Users[0].User+" "+s.Users[0].Phase+" "+s.Users[1].User, "ann ready bob", "users")
	assert.Equal(t, s.Level, doctor.LevelHealthy, "level")
	d := assert.Value(doctor.Diagnose(session.WithUser(watchdog(t), "bob"), h, "s"))(t)
	assert.True(t, d.PingSeconds > 0, "a ping of bob's")
	assert.Equal(t, assert.Value(doctor.Diagnose(session.WithUser(watchdog(t), "eve"), h, "s"))(t).PingSeconds, 0.0, "of eve, who has none")
}

// A diagnosis of what works, of what does not, and of what rests.
func TestDiagnose(t *testing.T) {
	h := open(t, write(t,
		"good", child(t, "good"),
		"exit", child(t, "exit"),
		"off", child(t, "off", `"enabled": false`),
		"broken", `{"comand": "x"}`,
	), nil)
	diagnose := func(name, want string) *doctor.Diagnosis {
		t.Helper()
		d := assert.Value(doctor.Diagnose(watchdog(t), h, name))(t)
		var codes []string
		for _, hint := range d.Hints {
			codes = append(codes, hint.Code)
		}
		level := d.Health.Level
		if d.Health.Status.Stage == host.StageStarting && d.Err != nil { // it is tried again at this moment
			level = doctor.LevelUnhealthy
		}
		assert.Equal(t, fmt.Sprintf("%s %v, pinged %t, %d tools, failed %t", level, codes, d.PingSeconds > 0, len(d.Tools), d.Err != nil), want, "%s", name)
		return d
	}
	d := diagnose("good", "healthy [], pinged true, 1 tools, failed false")
	assert.Equal(t, d.Program+" "+d.Tools[0].RegisteredName, "good good__echo")
	assert.True(t, d.PingSeconds > 0 && d.PingError == "" && d.Protocol != "", "an answer to the ping")
	diagnose("exit", "unhealthy [exited unset_variable], pinged false, 0 tools, failed true")
	assert.Equal(t, diagnose("off", "healthy [], pinged false, 0 tools, failed false").Doing, "It is switched off.")
	d = diagnose("broken", "unhealthy [invalid_entry], pinged false, 0 tools, failed true")
	assert.As[*host.UnknownServerError](t, hosttest.ErrorOf(doctor.Diagnose(watchdog(t), h, "nobody")), "an unknown server")
	text := assert.Value(json.Marshal(d))(t)
	assert.Contains(t, string(text), `"health":{"server":"broken"`)
}

// A ping that is not answered is told, and changes nothing.
func TestDiagnoseForgetsWhatIsOver(t *testing.T) {
	var isBack atomic.Bool
	mcp, page := site(sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)), statusOf(200, "<html>Welcome", "Content-Type", "text/html")
	web := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isBack.Load() {
			mcp.ServeHTTP(w, r)
			return
		}
		page.ServeHTTP(w, r)
	}))
	h := newHost(t, nil)
	_, err := h.Apply(hosttest.Watchdog(t), &config.Config{Servers: []*config.Server{remote(t, web.URL, "http")}})
	assert.OK(t, err)
	name := h.Servers()[0].Name
	diagnosed := func() *doctor.Diagnosis { return assert.Value(doctor.Diagnose(t.Context(), h, name))(t) }
	hosttest.Until(t, h, name, "failed", func(st host.Status) bool { return st.Err != nil })
	d := diagnosed()
	assert.Equal(t, d.Health.Action, "configure", "what helps against a web page")
	assert.Contains(t, d.Hints[0].Text, "A web page answers", "hint")
	isBack.Store(true)
	assert.OK(t, h.Restart(hosttest.Watchdog(t), name))
	d = diagnosed()
	assert.False(t, d.Health.LastError == "", "the last failure is told")
	assert.Lacks(t, fmt.Sprint(d.Hints), "A web page", "hints when all is well")
}

func TestDiagnoseOfASilentServer(t *testing.T) {
	h := open(t, write(t, "s", child(t, "s")), nil)
	pid := status(t, h, "s").State.PID
	ctx, cancel := context.WithCancel(watchdog(t))
	cancel()
	d := assert.Value(doctor.Diagnose(ctx, h, "s"))(t)
	assert.True(t, d.PingError != "" && d.PingSeconds == 0, "a ping without an answer")
	assert.Fails(t, d.Err)
	s := status(t, h, "s")
	assert.Equal(t, s.Stage, host.StageReady, "it was disturbed")
	assert.Equal(t, s.State.PID, pid, "it was disturbed")
}

// Nothing is started to tell how a server does.
func TestDiagnoseStartsNothing(t *testing.T) {
	path := write(t, "s", child(t, "s", `"lazy": true`))
	dir := t.TempDir()
	first := open(t, path, &host.Options{StateDir: dir})
	until(t, first, "s", "known", func(s host.Status) bool { return s.Tools == 1 })
	assert.OK(t, first.Close())
	h := open(t, path, &host.Options{StateDir: dir})
	d := assert.Value(doctor.Diagnose(watchdog(t), h, "s"))(t)
	assert.Equal(t, fmt.Sprint(d.PingSeconds, len(d.Tools), d.Health.PID == 0), "0 1 true", "ping, tools, no process")
	s := status(t, h, "s")
	assert.Equal(t, fmt.Sprint(s.Stage, s.State.Connections), "cached0", "it was started")
}
