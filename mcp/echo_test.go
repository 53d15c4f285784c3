package mcp_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/transport"
)

// A program that writes what it reads is told to be no server.
func TestEchoIsNoServer(t *testing.T) {
	path, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	err = newClient(t, &transport.Command{Path: path}, nil).Ready(t.Context())
	if want := "it does not speak MCP: it sends back what it is sent"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q at its end", err, want)
	}
}
