package session_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(stormDir); dir != "" {
		runStormProcess(dir)
		return
	}
	// Parallel tests wait for a server, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
