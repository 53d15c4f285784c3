package main

import "testing"

// doTest does a work with a peer in this process.
func doTest(t *testing.T, peer, name string) cell {
	t.Helper()
	c, err := newClient(peer, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.do(order{Work: name, Servers: 5})
	if err != nil {
		t.Errorf("%s: %v", peer, err)
	}
	if err := c.close(); err != nil {
		t.Errorf("%s: close: %v", peer, err)
	}
	return got
}

// TestHold sees what idle servers hold: the floor no goroutine over stdio, and some
// where a connection of net/http is kept.
func TestHold(t *testing.T) {
	for name, want := range map[string]float64{"stdio-50": 0, "http-50": 2, "listen-50": 4} {
		got := doTest(t, peerFloor, name)
		if got.More["goroutines"] != want {
			t.Errorf("%s: got %v goroutines, want %v", name, got.More["goroutines"], want)
		}
		for _, figure := range []string{"open", "close", "heap"} {
			if got.More[figure] <= 0 {
				t.Errorf("%s: %s: got %v, want more than 0", name, figure, got.More[figure])
			}
		}
	}
}

// TestOursHoldsGoroutines sees that what a client holds is counted.
func TestOursHoldsGoroutines(t *testing.T) {
	if got := doTest(t, peerOurs, "stdio-50").More["goroutines"]; got < 1 {
		t.Errorf("got %v goroutines for each server, want at least 1", got)
	}
}
