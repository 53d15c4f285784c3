package main

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The program shows its three servers, lets a call wait, and ends with what it has started.
func TestAdmin(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted there")
	}
	program := filepath.Join(t.TempDir(), "admin")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0")
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	lines := bufio.NewReader(out)
	first := assert.Value(lines.ReadString('\n'))(t)
	base, token, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(first), "Open "), "/admin/#once=")
	if !ok || token == "" {
		t.Fatalf("got %q, want a link", first)
	}
	second := assert.Value(lines.ReadString('\n'))(t)
	key := second[strings.LastIndexByte(second, ' ')+1 : len(second)-1]
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(method, path, body string, into any) {
		t.Helper()
		req := assert.Value(http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body)))(t)
		req.Header.Set("Authorization", "Bearer "+key)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res := assert.Value(client.Do(req))(t)
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: got %d %s, %v, want 200", path, res.StatusCode, data, err)
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	ask("GET", "/admin/", "", nil)
	var servers []struct{ Name, Stage string }
	ask("GET", "/api/v1/servers", "", &servers)
	ready := map[string]bool{}
	for _, s := range servers {
		ready[s.Name] = s.Stage == "ready"
	}
	if want := map[string]bool{"notes": true, "clock": true, "broken": false}; !maps.Equal(ready, want) {
		t.Errorf("got the servers %v, want %v to be ready", ready, want)
	}
	var now struct{ Outcome string }
	ask("POST", "/api/v1/tools/notes__write/call", `{"arguments":{"text":"milk"}}`, &now)
	assert.Equal(t, now.Outcome, "asked", "call")
	assert.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // ends when all that hold it have ended
		t.Errorf("got %q, %v, want no more", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want a good end", err)
	}
}
