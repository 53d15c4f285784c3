package edit

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if play() {
		return
	}
	goleak.VerifyTestMain(m)
}
