package codemode_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/codemode/codemodetest"
)

func TestProcessEngine(t *testing.T) {
	e, err := codemode.NewProcessEngine()
	if err != nil {
		t.Fatal(err)
	}
	codemodetest.TestEngine(t, e)
}
