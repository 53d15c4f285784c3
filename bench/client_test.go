package main

import (
	"os"
	"strings"
	"testing"
)

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

func TestWebServerEnds(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := startWebServer(program, serverSpec{procs: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("the server named the address %q", s.url)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if s.cmd.ProcessState == nil || !s.cmd.ProcessState.Success() {
		t.Errorf("the process ended as %v", s.cmd.ProcessState)
	}
}
