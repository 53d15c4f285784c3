package host_test

import (
	"errors"
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
)

// newUnappliedHost opens a host whose only server, "s", was to be replaced by what does not
// connect: the pipes is down for connections that are made from then on.
func newUnappliedHost(t *testing.T, pipes *failingServers, kept *hosttest.Statuses) *manage.Manager {
	t.Helper()
	opts := &manage.Options{Host: *patient(pipes.options()), Statuses: kept}
	m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(&config.Server{Name: "s", Command: "x"}), opts))(t)
	pipes.down.Store(true)
	report := assert.Value(m.Update(t.Context(), "s", patch(t, `{"args": ["2"], "env": {"KEY": "`+hosttest.Secret+`"}}`)))(t)
	assert.Is(t, report.Failed["s"], errOutOfOrder, "report")
	return m
}

// What runs is not what is configured: everybody who looks is told so.
func TestFailedReplacementIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := hosttest.NewStatuses(nil)
		began := time.Now()
		m := newUnappliedHost(t, &failingServers{}, kept)
		defer func() { _ = m.Close() }()
		h := m.Host()
		hosttest.Sleep(500 * time.Millisecond)
		s := status(t, h, "s")
		assert.Equal(t, s.Stage, host.StageReady, "stage")
		assert.OK(t, s.Err, "stage")
		u := s.Unapplied
		if u == nil {
			t.Fatal("got no Unapplied, want the changed entry")
		}
		assert.Is(t, u.Err, errOutOfOrder, "error")
		assert.Equal(t, u.Failures, 1, "failures")
		assert.True(t, u.RetryAt.After(began), "a later retry")
		health := assert.Value(doctor.HealthOf(h, "s"))(t)
		assert.Equal(t, health.Level, doctor.LevelDegraded, "health")
		assert.Equal(t, health.Action, "wait", "health")
		assert.Contains(t, health.Error, errOutOfOrder.Error(), "health")
		got := kept.At("s")
		assert.Equal(t, got.Status, record.StatusConnected, "kept status")
		assert.Contains(t, got.Error, errOutOfOrder.Error(), "kept status")
		d := assert.Value(doctor.Diagnose(t.Context(), h, "s"))(t)
		assert.Is(t, d.Err, errOutOfOrder, "diagnosis")
		assert.Contains(t, d.Doing, "it runs as it was before", "diagnosis")
	})
}

// The changed entry is tried again by itself, with growing waits.
func TestFailedReplacementIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &failingServers{}
		m := newUnappliedHost(t, pipes, hosttest.NewStatuses(nil))
		defer func() { _ = m.Close() }()
		h := m.Host()
		hosttest.Sleep(10 * time.Minute)
		u := status(t, h, "s").Unapplied
		if u == nil {
			t.Fatal("got no Unapplied while it fails, want one")
		}
		assert.True(t, 5 <= u.Failures && u.Failures <= 60, "a few attempts in ten minutes: %d", u.Failures)
		pipes.down.Store(false)
		hosttest.Sleep(3 * time.Minute)
		s := status(t, h, "s")
		assert.True(t, s.Unapplied == nil, "stage")
		assert.Equal(t, s.Stage, host.StageReady, "stage")
		assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "2", "answer")
	})
}

// A change that a later one overtakes has not failed; the same change again, as of a file that is watched, waits for
// the first.
func TestOvertakenChangeHasNotFailed(t *testing.T) {
	for later, minutes := range map[string]int{"2": 2, "3": 3} { // until the server is as it is to be
		synctest.Test(t, func(t *testing.T) {
			pipes := &failingServers{}
			h := newHost(t, patient(pipes.options()), parseEntries(t, "s", `{"command": "x"}`))
			pipes.slow.Store(true)
			apply := func(arg string) <-chan error {
				return background(func() error {
					return assert.Err(h.Apply(t.Context(), parseEntries(t, "s", `{"command": "x", "args": ["`+arg+`"]}`)))
				})
			}
			began := time.Now()
			first := apply("2")
			hosttest.Sleep(time.Minute)
			second := apply(later)
			for range minutes - 1 {
				assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "", "args %s: answer meanwhile", later)
				assert.True(t, status(t, h, "s").Unapplied == nil, "args %s: nothing is said to have failed", later)
				hosttest.Sleep(time.Minute)
			}
			assert.OK(t, <-first)
			assert.OK(t, <-second)
			assert.Equal(t, time.Since(began).Round(time.Minute), time.Duration(minutes)*time.Minute, "args %s: virtual time until it runs", later)
			assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), later, "answer")
		})
	}
}

// Whatever starts the server anew takes what is configured, and what takes the change
// back ends it.
func TestStartAnewTakesTheConfiguredEntry(t *testing.T) {
	for _, c := range []struct {
		name, args string
		do         func(*testing.T, *manage.Manager) error
	}{
		{"Restart", "2", func(t *testing.T, m *manage.Manager) error { return m.Host().Restart(t.Context(), "s") }},
		{"Refresh", "2", func(t *testing.T, m *manage.Manager) error { return m.Host().Refresh(t.Context()) }},
		{"Disable and Enable", "2", func(t *testing.T, m *manage.Manager) error {
			return errors.Join(m.Host().Disable(t.Context(), "s"), m.Host().Enable(t.Context(), "s"))
		}},
		{"the same again", "2", func(t *testing.T, m *manage.Manager) error {
			return assert.Err(m.Update(t.Context(), "s", patch(t, `{}`)))
		}},
		{"the former entry", "", func(t *testing.T, m *manage.Manager) error {
			return assert.Err(m.Update(t.Context(), "s", patch(t, `{"args": null, "env": null}`)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes := &failingServers{}
				m := newUnappliedHost(t, pipes, hosttest.NewStatuses(nil))
				defer func() { _ = m.Close() }()
				h := m.Host()
				if c.name == "Restart" || c.name == "Refresh" {
					assert.Is(t, c.do(t, m), errOutOfOrder, "while it fails")
					assert.Equal(t, status(t, h, "s").Stage, host.StageReady, "while it fails: got the stage")
				}
				pipes.down.Store(false)
				assert.OK(t, c.do(t, m))
				s := status(t, h, "s")
				assert.True(t, s.Unapplied == nil, "stage")
				assert.Equal(t, s.Stage, host.StageReady, "stage")
				assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), c.args, "answer")
			})
		})
	}
}

// Hints are about the program that could not be started, and not about the one that runs.
func TestHintsJudgeTheEntryThatFailed(t *testing.T) {
	t.Parallel()
	h := open(t, write(t, "s", child(t, "good")), &host.Options{StateDir: host.NoState})
	c := load(t, "s", `{"command": "/no/such/folder/program-anywhere"}`)
	for _, changed := range []bool{true, false} {
		if changed {
			assert.Value(h.Apply(watchdog(t), c))(t)
		} else if _, err := h.Apply(watchdog(t), load(t, "s", child(t, "good"))); err != nil {
			t.Fatal(err)
		}
		d := assert.Value(doctor.Diagnose(watchdog(t), h, "s"))(t)
		for _, hint := range d.Hints {
			assert.False(t, hint.Code == "bad_interpreter", "changed")
		}
		if changed && d.Health.Action != "configure" {
			t.Errorf("got the action %s, want %s", d.Health.Action, "configure")
		}
	}
}
