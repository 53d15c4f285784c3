package doctor_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

const serverMode = hosttest.ServerMode

var (
	call       = hosttest.Call
	child      = hosttest.Child
	eventually = hosttest.Eventually
	inProcess  = hosttest.InProcess
	kill       = hosttest.Kill
	newServer  = hosttest.NewServer
	open       = hosttest.Open
	status     = hosttest.Status
	until      = hosttest.Until
	watchdog   = hosttest.Watchdog
	write      = hosttest.Write
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(serveProbed); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(end))
	}
}
