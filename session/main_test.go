package session_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(stormDir); dir != "" {
		runStormProcess(dir)
		return
	}
	goleak.VerifyTestMain(m)
}
