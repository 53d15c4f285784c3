package filewatch_test

import (
	"syscall"
	"testing"
)

// A pipe in the place of a file is not opened: that would wait for its writer.
func TestPipe(t *testing.T) {
	path := t.TempDir() + "/pipe"
	must(t, syscall.Mkfifo(path, 0o600))
	good := t.TempDir() + "/good"
	f := follow(t, soon, good, path)
	put(t, good, "one")
	f.tells(good)
}
