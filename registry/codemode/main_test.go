package codemode_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

func TestMain(m *testing.M) {
	codemode.Child()
	if os.Getenv(doomedHost) != "" {
		runDoomed()
		return
	}
	goleak.VerifyTestMain(m)
}
