package codemode_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

func TestMain(m *testing.M) {
	codemode.Child()
	goleak.VerifyTestMain(m)
}
