//go:build unix

package host_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A server that waits for its launch to be allowed was not started.
func TestReportOfUnapprovedServers(t *testing.T) {
	for _, entry := range []string{`{"command": "./bin/notes"}`, `{"command": "./bin/notes", "lazy": true}`} {
		p := newProject(t)
		h := newApprovalHost(t, consent.New())
		report := assert.Value(h.Apply(watchdog(t), p.config(entry)))(t)
		if len(report.Started) > 0 {
			t.Errorf("got started %q, want none", report.Started)
		}
		if want := []string{"notes"}; !slices.Equal(report.NotAllowed, want) {
			t.Errorf("got unapproved %q, want %q", report.NotAllowed, want)
		}
		var unapproved *host.LaunchNotAllowedError
		if !errors.As(report.Failed["notes"], &unapproved) {
			t.Errorf("got failed %v, want a LaunchNotAllowedError", report.Failed)
		}
		p.wantStarts()
	}
}

// An error says once which server it is about.
func TestErrorsNameTheirServerOnce(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	report, err := h.Apply(watchdog(t), p.config(`{"command": "./bin/notes"}`))
	assert.OK(t, err)
	errs := map[string]error{"unapproved": report.Failed["notes"]}
	errs["refresh of an unapproved server"] = h.Refresh(watchdog(t), "notes")
	report = assert.Value(h.Apply(watchdog(t), &config.Config{Servers: []*config.Server{
		{Name: "boxed", Transport: config.TransportStdio, Command: "x", Enabled: true, Isolation: &config.Isolation{Kind: "no-such-kind"}},
		{Name: "dying", Transport: config.TransportStdio, Command: "false", Enabled: true},
	}}))(t)
	errs["isolated"], errs["dying"] = report.Failed["boxed"], report.Failed["dying"]
	for what, err := range errs {
		assert.Equal(t, strings.Count(fmt.Sprint(err), `server "`), 1, "%s: it names servers: %v", what, err)
	}
}
