package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestClientReportsFailure gives an order that cannot be followed, and one
// after it that can.
func TestClientReportsFailure(t *testing.T) {
	c, err := newClient(peerFloor, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := strings.NewReader(`{"work":"nothing"}` + "\n" + `{"work":"stdio-small","slot":1}` + "\n")
	if err := c.obey(in, &out); err != nil {
		t.Error(err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	first, second, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(first, `"error":"there is no work \"nothing\""`) {
		t.Errorf("the first reply is %s", first)
	}
	if strings.Contains(second, "error") || !strings.Contains(second, `"calls":1,`) {
		t.Errorf("the second reply is %s", second)
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
