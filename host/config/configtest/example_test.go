package configtest_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
)

func ExampleRun() {
	test := func(t *testing.T) { // TestStore
		configtest.Run(t, func(testing.TB) config.Store { return config.NewMemoryStore() }, nil)
	}
	_ = test
}
