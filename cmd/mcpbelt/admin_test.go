//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// An asked is what a request got.
type asked struct {
	status int
	body   string
}

// ask makes a request with a key.
func ask(t *testing.T, key, method, url, body string) asked {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	data := assert.Value(io.ReadAll(res.Body))(t)
	return asked{res.StatusCode, string(data)}
}

// Serve has the page and its API on the same address, each with a key of its own.
func TestServeAdmin(t *testing.T) {
	for role, may := range map[string]struct{ add, start int }{"--admin": {200, 403}, "--admin=stdio:write": {200, 200}, "--admin=view": {403, 403}} {
		w := newWorld(t, labServer)
		s := w.start("serve", "--listen", "127.0.0.1:0", "--json", role)
		var shown struct{ URL, Key, Admin, AdminKey string }
		assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
		base := strings.TrimSuffix(shown.URL, "/mcp")
		page, secret, ok := strings.Cut(shown.Admin, "#once=")
		assert.Equal(t, ok, true, "the page %s", shown.Admin)
		assert.Equal(t, len(secret) >= 20, true, "the page %s: len(secret) >= 20", shown.Admin)
		assert.Equal(t, page, base+"/admin/", "the page %s", shown.Admin)
		for _, c := range []struct {
			key, method, path, body string
			status                  int
		}{
			{shown.Key, "GET", "/admin/servers/lab", "", 200},
			{shown.Key, "GET", "/api/v1/me", "", 401},
			{shown.AdminKey, "GET", "/api/v1/none", "", 404},
			{shown.AdminKey, "POST", "/mcp", "{}", 401},
			{shown.AdminKey, "GET", "/api/v1/keys", "", 200},
			{shown.AdminKey, "GET", "/api/v1/sessions", "", 200},
			{shown.AdminKey, "POST", "/api/v1/mcp/servers", `{"name":"far","transport":"streamable_http","url":"https://far.invalid/mcp","enabled":false}`, may.add},
			{shown.AdminKey, "POST", "/api/v1/mcp/servers", `{"name":"near","command":"near","enabled":false}`, may.start},
			{shown.AdminKey, "PUT", "/api/v1/mcp/servers/lab", `{"description":"as the page says"}`, may.start},
		} {
			assert.Equal(t, ask(t, c.key, c.method, base+c.path, c.body).status, c.status, "%s: %s %s", role, c.method, c.path)
		}
		file := assert.Value(os.ReadFile(filepath.Join(w.dir, "home", ".config", "mcpbelt", "mcp.json")))(t)
		for text, status := range map[string]int{"far.invalid": may.add, `"near"`: may.start, "as the page says": may.start} {
			assert.Equal(t, strings.Contains(string(file), text), (status == 200), "%s: got %s in the config file", role, text)
		}
		assert.Contains(t, ask(t, shown.AdminKey, "GET", base+"/api/v1/servers", "").body, `"name":"lab"`, "%s", role)
		req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/events", nil))(t)
		req.Header.Set("Authorization", "Bearer "+shown.AdminKey)
		events, err := http.DefaultClient.Do(req) // which does not keep it from ending
		assert.OK(t, err, "events")
		assert.Equal(t, events.StatusCode, http.StatusOK, "events")
		assert.Equal(t, s.end(syscall.SIGTERM), 0, "%s: the exit", role)
		_ = events.Body.Close()
	}
}
