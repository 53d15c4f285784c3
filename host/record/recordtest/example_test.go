package recordtest_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/record/recordtest"
)

func ExampleRun() {
	test := func(t *testing.T) { // TestStore
		recordtest.Run(t, func(testing.TB) record.Store { return record.NewMemoryStore() }, nil)
	}
	_ = test
}
