//go:build integration && unix

package adminpage

import (
	"context"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

func TestMain(m *testing.M) {
	end := hosttest.Begin(func(mode string) bool {
		if mode != "files" {
			return false
		}
		if err := filesServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return true
	})
	if end == nil {
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(end))
}
