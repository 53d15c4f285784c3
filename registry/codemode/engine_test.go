package codemode_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/codemode/codemodetest"
)

func TestProcessEngine(t *testing.T) {
	e := assert.Value(codemode.NewProcessEngine())(t)
	codemodetest.TestEngine(t, e)
}
