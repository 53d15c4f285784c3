package host_test

import (
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

const serverMode = hosttest.ServerMode

var (
	call        = hosttest.Call
	child       = hosttest.Child
	fakes       = hosttest.Fakes
	inProcess   = hosttest.InProcess
	kill        = hosttest.Kill
	names       = hosttest.Names
	newServer   = hosttest.NewServer
	open        = hosttest.Open
	patch       = hosttest.Patch
	patient     = hosttest.Patient
	sameSchemas = hosttest.Schemas
	status      = hosttest.Status
	until       = hosttest.Until
	wantStage   = hosttest.WantStage
	watchdog    = hosttest.Watchdog
	write       = hosttest.Write
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(serve); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(end))
	}
}

// serve serves the modes that only these tests have.
func serve(mode string) bool {
	switch mode {
	case "silent":
		// Never answers, and takes no notice of the end of its input.
		_, _ = os.Stdin.Read(make([]byte, 1))
		select {}
	case "hold":
		// The same, with a connection that tells who listens that the process lives.
		if _, err := net.Dial("tcp", os.Args[1]); err != nil {
			panic(err)
		}
		select {}
	}
	return false
}
