// Tests of tool.go: servers that are broken are tried.

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
	plain := filepath.Join(t.TempDir(), "plain")
	assert.OK(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	shell := func(script string) map[string]any {
		return map[string]any{"command": "/bin/sh", "argsJson": number([]string{"-c", script}), "connectTimeoutSeconds": 120}
	}
	remote := func(url string) map[string]any {
		return map[string]any{"transport": "streamable_http", "url": url, "connectTimeoutSeconds": 120}
	}
	for _, c := range []struct {
		what  string
		entry map[string]any
		hint  doctor.HintCode
		stage doctor.TestStage // the last one that it reached
	}{
		{"no such command", map[string]any{"command": "mcpbelt-no-such-command"}, doctor.HintCommandNotFound, ""},
		{"no program", map[string]any{"command": plain}, doctor.HintCommandNotExecutable, "resolved"},
		{"no such folder", map[string]any{"command": "/bin/sh", "cwd": plain + "none"}, doctor.HintCommandNotFound, "resolved"},
		{"ends at once", shell("echo it broke >&2; exit 3"), doctor.HintExited, "spawned"},
		{"says other things", shell("echo hello; read request; exit 3"), doctor.HintStdoutNoise, "spawned"},
		{"variable not set", map[string]any{"command": "/bin/sh", "envJson": `{"A":"${MCPBELT_NO_SUCH_VARIABLE}"}`}, doctor.HintUnsetVariable, ""},
		{"nothing listens", remote(deadport.URL(t) + "/mcp"), doctor.HintConnectionRefused, "resolved"},
		{"wrong path", remote(answers(404, "text/plain", "no")), doctor.HintWrongPath, "connected"},
		{"a web page", remote(answers(200, "text/html", "<html>hi</html>")), doctor.HintWebPage, "connected"},
		{"no right", remote(answers(403, "text/plain", "no")), doctor.HintForbidden, "connected"},
		{"it fails", remote(answers(500, "text/plain", "no")), doctor.HintServerError, "connected"},
	} {
		c.entry["name"] = "new"
		var result struct {
			Success bool
			Message string
			Report  struct {
				Reached doctor.TestStage
				Hints   []doctor.Hint
			}
		}
		assert.OK(t, json.Unmarshal([]byte(s.do("owner", "POST", "/api/v1/test", number(c.entry), nil).body), &result), "%s", c.what)
		assert.Equal(t, result.Success || result.Message == "", false, "%s: a success, or no message", c.what)
		assert.Equal(t, result.Report.Reached, c.stage, "%s: reached", c.what)
		assert.Equal(t, slices.ContainsFunc(result.Report.Hints, func(h doctor.Hint) bool { return h.Code == c.hint }), true, "%s: %s", c.what, c.hint)
	}
	assert.Contains(t, s.do("viewer", "GET", servers, "", nil).body, `"data":[]`, "servers")
}
