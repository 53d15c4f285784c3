package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// With the flags of the program, which are those of no test, the test program is the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-addr" || os.Args[1] == "-notes") {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// The program shows its three servers, lets a call wait, and ends with what it has started.
func TestAdmin(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted there")
	}
	cmd := exec.CommandContext(t.Context(), assert.Value(os.Executable())(t), "-addr", "127.0.0.1:0")
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	lines := bufio.NewReader(out)
	first := assert.Value(lines.ReadString('\n'))(t)
	base, token, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(first), "Open "), "/admin/#once=")
	assert.Equal(t, [...]bool{ok, token != ""}, [...]bool{true, true}, "%q", first)
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
		assert.OK(t, err, "%s", path)
		assert.Equal(t, res.StatusCode, http.StatusOK, "%s", path)
		if into == nil {
			return
		}
		assert.OK(t, json.Unmarshal(data, into), "%s", path)
	}
	ask("GET", "/admin/", "", nil)
	var servers []struct{ Name, Stage string }
	ask("GET", "/api/v1/servers", "", &servers)
	ready := map[string]bool{}
	for _, s := range servers {
		ready[s.Name] = s.Stage == "ready"
	}
	assert.Equal(t, fmt.Sprint(ready), fmt.Sprint(map[string]bool{"notes": true, "clock": true, "broken": false}))
	var now struct{ Outcome string }
	ask("POST", "/api/v1/tools/notes__write/call", `{"arguments":{"text":"milk"}}`, &now)
	assert.Equal(t, now.Outcome, "asked", "call")
	assert.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // ends when all that hold it have ended
		t.Errorf("got %q, %v, want no more", rest, err)
	}
	assert.OK(t, cmd.Wait())
}
