package cassette_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func TestMain(m *testing.M) {
	transporttest.RunChild()
	// The DELETE that ends a session of the SDK's server is given up on a busy machine.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}
