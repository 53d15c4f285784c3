package host_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// unappliedHost opens a host whose only server, "s", was to be replaced by what does not
// connect: the town is down for connections that are made from then on.
func unappliedHost(t *testing.T, town *frailTown, kept *hosttest.Statuses) *manage.Manager {
	t.Helper()
	opts := &manage.Options{Host: *patient(town.options()), Statuses: kept}
	m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(&record.Record{Name: "s", Command: "x"}), opts))(t)
	town.down.Store(true)
	report := assert.Value(m.Update(t.Context(), "s", patch(t, `{"args": ["2"], "env": {"KEY": "`+hosttest.Secret+`"}}`)))(t)
	if !errors.Is(report.Failed["s"], errFrail) {
		t.Fatalf("got the report %+v, want that the replacement failed", report)
	}
	return m
}

// What runs is not what is configured: everybody who looks is told so.
func TestFailedReplacementIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := hosttest.NewStatuses(nil)
		began := time.Now()
		m := unappliedHost(t, &frailTown{}, kept)
		defer func() { _ = m.Close() }()
		h := m.Host()
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		s := status(t, h, "s")
		if s.Stage != host.StageReady || s.Err != nil {
			t.Errorf("got the stage %s and the error %v, want that the former server is ready", s.Stage, s.Err)
		}
		u := s.Unapplied
		if u == nil {
			t.Fatal("got no Unapplied, want the changed entry")
		}
		if !errors.Is(u.Err, errFrail) {
			t.Errorf("got the error %v, want %v", u.Err, errFrail)
		}
		if u.Source.File == "" {
			t.Error("got no source of the entry, want one")
		}
		if u.Since.Before(began) || u.Since.After(time.Now()) || u.Failures != 1 || !u.RetryAt.After(u.Since) {
			t.Errorf("got since %v, %d failures, retry at %v, want one failure since %v and a later retry", u.Since, u.Failures, u.RetryAt, began)
		}
		health := assert.Value(doctor.HealthOf(h, "s"))(t)
		if health.Level != doctor.LevelDegraded || health.Action != doctor.ActionWait || !strings.Contains(health.Error, errFrail.Error()) {
			t.Errorf("got the health %s, %s and the error %q, want degraded, wait and %v", health.Level, health.Action, health.Error, errFrail)
		}
		if got := kept.At("s"); got.Status != record.StatusConnected || !strings.Contains(got.Error, errFrail.Error()) {
			t.Errorf("got the kept status %+v, want connected with the error %v", got, errFrail)
		}
		d := assert.Value(doctor.Diagnose(t.Context(), h, "s"))(t)
		if !errors.Is(d.Err, errFrail) || !strings.Contains(d.Doing, "it runs as it was before") {
			t.Errorf("got the diagnosis %q with the error %v, want that it runs as it was before", d.Doing, d.Err)
		}
	})
}

// The changed entry is tried again by itself, with growing waits.
func TestFailedReplacementIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		town := &frailTown{}
		m := unappliedHost(t, town, hosttest.NewStatuses(nil))
		defer func() { _ = m.Close() }()
		h := m.Host()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		u := status(t, h, "s").Unapplied
		if u == nil {
			t.Fatal("got no Unapplied while it fails, want one")
		}
		if u.Failures < 5 || u.Failures > 60 {
			t.Errorf("got %d attempts in ten minutes, want a few", u.Failures)
		}
		town.down.Store(false)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if s := status(t, h, "s"); s.Unapplied != nil || s.Stage != host.StageReady {
			t.Errorf("got the stage %s and %+v, want that it runs as configured", s.Stage, s.Unapplied)
		}
		if got, err := call(t, h, "s__echo", "{}"); err != nil || got != "2" {
			t.Errorf("got the answer %q and the error %v, want that of the changed server", got, err)
		}
	})
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
			_, err := m.Update(t.Context(), "s", patch(t, `{}`))
			return err
		}},
		{"the former entry", "", func(t *testing.T, m *manage.Manager) error {
			_, err := m.Update(t.Context(), "s", patch(t, `{"args": null, "env": null}`))
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				town := &frailTown{}
				m := unappliedHost(t, town, hosttest.NewStatuses(nil))
				defer func() { _ = m.Close() }()
				h := m.Host()
				if c.name == "Restart" || c.name == "Refresh" {
					if err := c.do(t, m); !errors.Is(err, errFrail) {
						t.Errorf("while it fails: got %v, want %v", err, errFrail)
					}
					if got := status(t, h, "s"); got.Stage != host.StageReady {
						t.Errorf("while it fails: got the stage %s, want %s", got.Stage, host.StageReady)
					}
				}
				town.down.Store(false)
				assert.OK(t, c.do(t, m))
				if s := status(t, h, "s"); s.Unapplied != nil || s.Stage != host.StageReady {
					t.Errorf("got the stage %s and %+v, want that it runs as configured", s.Stage, s.Unapplied)
				}
				if got, err := call(t, h, "s__echo", "{}"); err != nil || got != c.args {
					t.Errorf("got the answer %q and the error %v, want %q", got, err, c.args)
				}
			})
		})
	}
}

// Hints are about the program that could not be started, and not about the one that runs.
func TestHintsJudgeTheEntryThatFailed(t *testing.T) {
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
			if hint.Code == "bad_interpreter" {
				t.Errorf("changed %v: got the hint %+v, want none about what runs", changed, hint)
			}
		}
		if changed && d.Health.Action != doctor.ActionConfigure {
			t.Errorf("got the action %s, want %s", d.Health.Action, doctor.ActionConfigure)
		}
	}
}
