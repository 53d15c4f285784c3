package main

import (
	"context"
	"testing"
	"time"
)

// doTest does a work with a peer in this process.
func doTest(t *testing.T, peer, name string, slot time.Duration) cell {
	t.Helper()
	c, err := newClient(peer, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.do(order{Work: name, Slot: slot, Servers: 5})
	if err != nil {
		t.Errorf("%s: %v", peer, err)
	}
	if err := c.close(); err != nil {
		t.Errorf("%s: close: %v", peer, err)
	}
	return got
}

// TestAway sees that calls work again when the server has come back, and that there
// is no figure if the time ends before.
func TestAway(t *testing.T) {
	for _, peer := range []string{peerFloor, peerOurs} {
		for _, name := range []string{"http-away", "session-away"} {
			t.Run(name+"/"+peer, func(t *testing.T) {
				t.Parallel()
				if got := doTest(t, peer, name, time.Second); got.Calls != 1 {
					t.Errorf("got %d calls, want 1", got.Calls)
				}
			})
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got := cellOf(callUntilAnswered(ctx, nil, nil)); got.Calls != 0 {
		t.Errorf("no time: got %d calls, want 0", got.Calls)
	}
}

// TestLost sees that the end of a listening stream is seen by those that tell it, and
// that there is no figure for others.
func TestLost(t *testing.T) {
	for _, peer := range []string{peerFloor, peerOurs} {
		if got := doTest(t, peer, "listen-lost", 10*time.Second); got.Calls != 1 {
			t.Errorf("%s: got %d calls, want 1", peer, got.Calls)
		}
	}
	for _, peer := range []string{peerSDK, peerMark} {
		if got := doTest(t, peer, "listen-lost", 10*time.Millisecond); got.Calls != 0 {
			t.Errorf("%s: got %d calls, want 0", peer, got.Calls)
		}
	}
}
