package manage_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

const managedSecret = hosttest.Secret

var (
	call      = hosttest.Call
	names     = hosttest.Names
	newServer = hosttest.NewServer
	patch     = hosttest.Patch
	status    = hosttest.Status
	watchdog  = hosttest.Watchdog
	write     = hosttest.Write
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(nil); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(end))
	}
}

// fakes returns options whose servers are in this process, see [hosttest.Fakes], and the
// opening of which waits for them.
func fakes() *manage.Options {
	return &manage.Options{Host: *hosttest.Patient(hosttest.Fakes(&host.Options{}))}
}

// withStatuses returns fakes whose statuses are kept.
func withStatuses(s record.StatusStore) *manage.Options {
	o := fakes()
	o.Statuses = s
	return o
}

// open manages the servers of a file until the end of the test.
func open(t *testing.T, path string, opts *manage.Options) *manage.Manager {
	t.Helper()
	m, err := manage.Open(watchdog(t), path, opts)
	return opened(t, m, err)
}

// openStore manages the servers of a store until the end of the test.
func openStore(t *testing.T, s record.Store, opts *manage.Options) *manage.Manager {
	t.Helper()
	m, err := manage.OpenStore(watchdog(t), s, opts)
	return opened(t, m, err)
}

func opened(t *testing.T, m *manage.Manager, err error) *manage.Manager {
	t.Helper()
	assert.OK(t, err)
	t.Cleanup(func() { assert.OK(t, m.Close(), "Close") })
	return m
}

// expectReport returns a function that compares a report, as text, and wants no error.
func expectReport(t *testing.T, what, want string) func(host.Report, error) {
	return func(got host.Report, err error) {
		t.Helper()
		assert.OK(t, err, "%s", what)
		assert.Equal(t, fmt.Sprintf("started %v stopped %v replaced %v kept %v failed %d", got.Started, got.Stopped, got.Replaced, got.Kept, len(got.Failed)), want, "%s", what)
	}
}

func isCode(err error, code record.Code) bool { return errors.Is(err, &record.Error{Code: code}) }
