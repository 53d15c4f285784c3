package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(serve); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
			http.DefaultClient.CloseIdleConnections()
			end(code)
		}))
	}
}

// serve serves the modes that only these tests have.
func serve(mode string) bool {
	if path, ok := strings.CutPrefix(mode, "journal:"); ok {
		serveJournal(path)
		return true
	}
	path, ok := strings.CutPrefix(mode, "wire:")
	if ok {
		serveWire(path)
	}
	return ok
}
