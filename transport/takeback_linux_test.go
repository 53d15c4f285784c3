package transport

import (
	"os"
	"testing"
)

// Taking back must not wait, although the child's handle is one that waits:
// the child may read the last bytes at the same moment.
func TestTakeBackDoesNotWait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	again := keepReadable(r)
	if again == nil {
		t.Fatal("no second handle")
	}
	defer func() { _ = again.Close() }()
	_ = r.Fd() // makes it wait, as os/exec does
	defer func() { _ = r.Close() }()
	if n := takeBack(again); n != 0 {
		t.Errorf("%d bytes in an empty pipe", n)
	}
	for _, size := range []int{1, 5000, 65536} {
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if n := takeBack(again); n != int64(size) {
			t.Errorf("took back %d of %d bytes", n, size)
		}
	}
	if n := takeBack(again); n != 0 {
		t.Errorf("%d bytes in an emptied pipe", n)
	}
}
