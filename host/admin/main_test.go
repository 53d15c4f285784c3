package admin_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(nil); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
			http.DefaultClient.CloseIdleConnections()
			end(code)
		}))
	}
}
