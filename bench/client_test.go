package main

import "testing"

// A turn is what the work has cost in a process of its own, or why it could not be done.
func TestTurn(t *testing.T) {
	o := &options{slot: 1, procs: 1, servers: manyServers}
	for name, fine := range map[string]bool{"stdio-small": true, "nothing": false} {
		got, err := turn(t.Context(), peerFloor, work{name: name}, o)
		if (err == nil) != fine || fine && got.Calls != 1 {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
