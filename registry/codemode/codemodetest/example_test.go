package codemodetest_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/codemode/codemodetest"
)

func ExampleTestEngine() {
	// In a test of your engine:
	_ = func(t *testing.T) {
		var engine codemode.Engine // yours
		codemodetest.TestEngine(t, engine)
	}
}
