package cassette_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func TestMain(m *testing.M) {
	transporttest.RunChild()
	goleak.VerifyTestMain(m)
}
