package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// A server that is broken is tried before it is added: the answer says how far it came, what is wrong
// and what cures it, and nothing is kept.
func TestBrokenServersAreStaged(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the servers are scripts of a shell")
	}
	m := assert.Value(manage.OpenStore(hosttest.Watchdog(t), record.NewMemoryStore(), &manage.Options{Host: host.Options{StateDir: host.NoState}}))(t)
	t.Cleanup(func() {
		assert.Equal(t, m.Close(), nil, "Close of the manager")
	})
	s := (&site{t: t}).serve(m, &admin.Options{})
	answers := func(status int, kind, body string) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(web.Close)
		return web.URL + "/mcp"
	}
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	assert.OK(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	shell := func(script string) map[string]any {
		args, _ := json.Marshal([]string{"-c", script})
		return map[string]any{"command": "/bin/sh", "argsJson": string(args), "connectTimeoutSeconds": 1}
	}
	remote := func(url string) map[string]any {
		return map[string]any{"transport": "streamable_http", "url": url, "connectTimeoutSeconds": 5}
	}
	for _, c := range []struct {
		what  string
		entry map[string]any
		hint  doctor.HintCode
		stage doctor.TestStage // the last one that it reached
	}{
		{"no such command", map[string]any{"command": "mcpbelt-no-such-command"}, doctor.HintCommandNotFound, ""},
		{"no program", map[string]any{"command": plain}, doctor.HintCommandNotExecutable, "resolved"},
		{"no such folder", map[string]any{"command": "/bin/sh", "cwd": filepath.Join(dir, "none")}, doctor.HintCommandNotFound, "resolved"},
		{"ends at once", shell("echo it broke >&2; exit 3"), doctor.HintExited, "spawned"},
		{"says other things", shell("echo hello; exec sleep 60"), doctor.HintStdoutNoise, "spawned"},
		{"says nothing", shell("exec sleep 60"), doctor.HintTimeout, "spawned"},
		{"variable not set", map[string]any{"command": "/bin/sh", "envJson": `{"A":"${MCPBELT_NO_SUCH_VARIABLE}"}`}, doctor.HintUnsetVariable, ""},
		{"nothing listens", remote(deadport.URL(t) + "/mcp"), doctor.HintConnectionRefused, "resolved"},
		{"wrong path", remote(answers(404, "text/plain", "no")), doctor.HintWrongPath, "connected"},
		{"a web page", remote(answers(200, "text/html", "<html>hi</html>")), doctor.HintWebPage, "connected"},
		{"no right", remote(answers(403, "text/plain", "no")), doctor.HintForbidden, "connected"},
		{"it fails", remote(answers(500, "text/plain", "no")), doctor.HintServerError, "connected"},
	} {
		c.entry["name"] = "new"
		body := assert.Value(json.Marshal(c.entry))(t)
		got := s.do("owner", "POST", "/api/v1/test", string(body), nil)
		var result struct {
			Success bool
			Message string
			Report  struct {
				Reached doctor.TestStage
				Hints   []doctor.Hint
			}
		}
		if err := json.Unmarshal([]byte(got.body), &result); err != nil || got.status != http.StatusOK {
			t.Errorf("%s: got %d %s, want a result", c.what, got.status, got.body)
			continue
		}
		if result.Success || result.Message == "" {
			t.Errorf("%s: got %s, want a failure and its message", c.what, got.body)
		}
		assert.Equal(t, result.Report.Reached, c.stage, "%s: got that it reached", c.what)
		if !slices.ContainsFunc(result.Report.Hints, func(h doctor.Hint) bool { return h.Code == c.hint }) {
			t.Errorf("%s: got the hints %v, want %s", c.what, result.Report.Hints, c.hint)
		}
	}
	assert.Contains(t, s.do("viewer", "GET", servers, "", nil).body, `"data":[]`, "servers")
}
