package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

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
	defer func() {
		if t.Failed() {
			t.Logf("the last was\n%s", got)
		}
	}()
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
		if failed := s.Status.Stage == host.StageWaiting; failed && (s.LastError == "" || s.LastErrorAt.IsZero() || s.Failures == 0) {
			t.Errorf("%s: %+v", s.Status.Name, s)
		}
		assert.Equal(t, (s.Status.Stage == host.StageWaiting || s.Status.Stage == host.StageInvalid), (s.Error != ""), "wrong")
	}
}

// Health knows the calls, the processes and what went wrong before.
func TestHealthOverTime(t *testing.T) {
	t.Parallel()
	path := write(t, "family", child(t, "family"), "web", fmt.Sprintf(`{"url": %q}`, served(t, site(newServer("web"))).URL))
	h := open(t, path, nil)
	for range 3 {
		assert.Value(call(t, h, "family__echo", `{"text":"a"}`))(t)
	}
	s, err := doctor.HealthOf(h, "family")
	assert.OK(t, err)
	if s.Calls.Total.Done != 3 || s.Calls.Recent.Done != 3 || s.Calls.Latency == nil || s.Calls.Latency.Count != 3 ||
		s.Calls.ErrorRate == nil || *s.Calls.ErrorRate != 0 || s.Status.Tools != 1 || s.Restarts != 0 || s.LastError != "" || s.Since.IsZero() {
		t.Errorf("%+v", s)
	}
	p := s.Process
	if p == nil || p.PID != status(t, h, "family").State.PID {
		t.Fatalf("process %+v", p)
	}
	if runtime.GOOS == "linux" && p.Memory < 1<<20 {
		t.Errorf("got %d bytes of memory, want those of a program", p.Memory)
	}
	kill(t, p.PID)
	until(t, h, "family", "connected again", func(s host.Status) bool { return s.Stage == host.StageReady && s.State.Connections == 2 })
	if s, err = doctor.HealthOf(h, "family"); err != nil || s.Restarts != 1 || s.Process == nil || s.Process.PID == p.PID {
		t.Errorf("after the restart: %+v, %v", s, err)
	}
	assert.Equal(t, assert.Value(doctor.HealthOf(h, "web"))(t).Process == nil, true, "a remote server")

	_, err = doctor.HealthOf(h, "nobody")
	assert.As[*host.UnknownServerError](t, err, "an unknown server")
	assert.OK(t, h.Close())
	if list := doctor.HealthOfAll(h); len(list) > 2 {
		t.Errorf("after the end: %+v", list)
	}
}

// What is not known is absent, not zero.
func TestHealthAsJSON(t *testing.T) {
	h := open(t, write(t, "s", child(t, "s"), "off", `{"command": "x", "enabled": false}`), nil)
	text, err := json.Marshal(doctor.HealthOfAll(h))
	assert.OK(t, err)
	var list []map[string]any
	assert.OK(t, json.Unmarshal(text, &list))
	for _, key := range []string{"process", "since", "retryAt", "error", "lastErrorAt", "users"} {
		_, ok := list[1][key]
		assert.Equal(t, ok, false, "a server that is switched off has %q", key)
	}
	for _, key := range []string{"server", "stage", "level", "action", "calls", "tools", "restarts", "process", "since"} {
		_, ok := list[0][key]
		assert.Equal(t, ok, true, "no %q", key)
	}
	text, err = json.Marshal(doctor.Process{PID: 7})
	assert.OK(t, err, "a process of which nothing is known")
	assert.Equal(t, string(text), `{"pid":7}`, "a process of which nothing is known")
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
	s, err := doctor.HealthOf(h, "s")
	if err != nil || len(s.Users) != 2 || s.Users[0].User != "ann" || s.Users[1].User != "bob" || s.Users[0].Phase != "ready" || s.Level != doctor.LevelHealthy {
		t.Errorf("%+v, %v", s, err)
	}
	d, err := doctor.Diagnose(session.WithUser(watchdog(t), "bob"), h, "s")
	if err != nil || !d.Pinged || d.Ping <= 0 {
		t.Errorf("of bob: %+v, %v", d, err)
	}
	assert.Equal(t, assert.Value(doctor.Diagnose(session.WithUser(watchdog(t), "eve"), h, "s"))(t).Pinged, false, "of eve, who has none")
}

// TestDiagnoseFewUserClients: users that take each other's connections are a reason for
// calls to be slow, and no error.
func TestDiagnoseFewUserClients(t *testing.T) {
	opts := &host.Options{MaxUserClients: 2, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: newServer("s").Run}, nil
	}}
	h := open(t, write(t, "s", `{"command": "x", "identity": "user"}`), opts)
	hints := func() []doctor.Hint {
		t.Helper()
		d := assert.Value(doctor.Diagnose(watchdog(t), h, "s"))(t)
		return d.Hints
	}
	come := func(users ...string) {
		t.Helper()
		for _, user := range users {
			assert.OK(t, h.Discover(watchdog(t), session.Key{User: user, Server: "s"}))
		}
	}
	come("ann", "bob", "cid", "dan")
	assert.Equal(t, len(hints()), 0)
	come("ann", "bob", "cid", "dan")
	got := hints()
	if len(got) != 1 || got[0].Code != doctor.HintFewUserClients {
		t.Fatalf("got %v, want a hint %s", got, doctor.HintFewUserClients)
	}
	assert.Contains(t, got[0].Text, "to 4 or more")
}

// A diagnosis of what works, of what does not, and of what rests.
func TestDiagnose(t *testing.T) {
	h := open(t, write(t,
		"good", child(t, "good"),
		"exit", child(t, "exit"),
		"off", child(t, "off", `"enabled": false`),
		"broken", `{"comand": "x"}`,
	), nil)
	d, err := doctor.Diagnose(watchdog(t), h, "good")
	assert.OK(t, err)
	if !d.Pinged || d.Ping <= 0 || d.PingError != "" || d.Err != nil || len(d.Hints) > 0 || d.Program != "good" || d.Protocol == "" ||
		len(d.Tools) != 1 || d.Tools[0].RegisteredName != "good__echo" || d.Health.Level != doctor.LevelHealthy {
		t.Errorf("%+v", d)
	}
	d, err = doctor.Diagnose(watchdog(t), h, "exit")
	if err != nil || d.Pinged || len(d.Hints) != 2 || d.Hints[0].Code != doctor.HintExited || d.Hints[1].Code != doctor.HintUnsetVariable || !strings.Contains(d.Doing, "next attempt") && !strings.Contains(d.Doing, "started") {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = doctor.Diagnose(watchdog(t), h, "off"); err != nil || len(d.Hints) != 0 || d.Err != nil || d.Doing != "It is switched off." {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = doctor.Diagnose(watchdog(t), h, "broken"); err != nil || len(d.Hints) != 1 || d.Hints[0].Code != doctor.HintInvalidEntry {
		t.Errorf("%+v, %v", d, err)
	}
	assert.As[*host.UnknownServerError](t, hosttest.ErrorOf(doctor.Diagnose(watchdog(t), h, "nobody")), "an unknown server")
	text, err := json.Marshal(d)
	assert.OK(t, err)
	assert.Contains(t, string(text), `"health":{"server":"broken"`)
}

// A ping that is not answered is told, and changes nothing.
func TestDiagnoseOfASilentServer(t *testing.T) {
	h := open(t, write(t, "s", child(t, "s")), nil)
	pid := status(t, h, "s").State.PID
	ctx, cancel := context.WithCancel(watchdog(t))
	cancel()
	d, err := doctor.Diagnose(ctx, h, "s")
	if err != nil || !d.Pinged || d.PingError == "" || d.Ping != 0 || d.Err == nil {
		t.Errorf("%+v, %v", d, err)
	}
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
	d, err := doctor.Diagnose(watchdog(t), h, "s")
	if err != nil || d.Pinged || len(d.Tools) != 1 || d.Health.Process != nil || d.Health.Status.Stage != host.StageCached {
		t.Errorf("%+v, %v", d, err)
	}
	s := status(t, h, "s")
	assert.Equal(t, s.Stage, host.StageCached, "it was started")
	assert.Equal(t, s.State.Connections, 0, "it was started")
}
