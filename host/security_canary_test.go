//go:build unix

package host_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// canaryEntries name a program that leaves a trace, or a server that counts, wherever an
// entry can name one.
func canaryEntries(dir, url string) map[string]string {
	return map[string]string{
		"absolute":  fmt.Sprintf(`{"command":"%s/bin/notes"}`, dir),
		"relative":  `{"command":"./bin/notes","cwd":"."}`,
		"path":      `{"command":"notes"}`,
		"shell":     `{"command":"sh","args":["-c","./bin/notes"],"cwd":"."}`,
		"expanded":  `{"command":"${workspaceFolder}/bin/notes"}`,
		"preload":   `{"command":"bash","args":["-c",":"],"env":{"BASH_ENV":"bin/notes"},"cwd":"."}`,
		"file":      `{"command":"sh","args":["-c","${file:script}"],"cwd":"."}`,
		"envfile":   `{"command":"bash","args":["-c",":"],"envFile":"vars","cwd":"."}`,
		"docker":    `{"command":"x","isolation":{"kind":"docker","image":"a","args":["--privileged"]}}`,
		"lazy":      `{"command":"./bin/notes","cwd":".","lazy":true}`,
		"required":  `{"command":"./bin/notes","cwd":".","trust":true,"builtin":true}`,
		"user":      `{"command":"./bin/notes","cwd":".","identity":"user"}`,
		"http":      fmt.Sprintf(`{"url":"%s/mcp"}`, url),
		"sse":       fmt.Sprintf(`{"url":"%s/sse","type":"sse"}`, url),
		"header":    fmt.Sprintf(`{"url":"%s/mcp","identity":"header","userHeader":"X-User"}`, url),
		"login":     fmt.Sprintf(`{"url":"%[1]s/mcp","auth":{"issuer":"%[1]s"}}`, url),
		"userlogin": fmt.Sprintf(`{"url":"%[1]s/mcp","identity":"user","auth":{"issuer":"%[1]s"}}`, url),
		"keyring":   fmt.Sprintf(`{"url":"%s/mcp","headers":{"X":"${keyring:k}"}}`, url),
	}
}

// A canarySecrets counts who asks for secrets.
type canarySecrets struct{ asked atomic.Int64 }

func (c *canarySecrets) Secret(context.Context, string) (config.Secret, bool, error) {
	c.asked.Add(1)
	return "s3cret", true, nil
}

func (c *canarySecrets) SetSecret(context.Context, string, config.Secret) error { return nil }

// TestCanariesOfAProjectNeverRun: whatever a program does with a host, nothing that a
// project's file names is run, connected to, or given a secret before it was allowed.
func TestCanariesOfAProjectNeverRun(t *testing.T) {
	p := newProject(t)
	p.program("bin", "docker")
	t.Setenv("PATH", filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	entries, separator := "", ""
	for name, entry := range canaryEntries(p.dir, server.URL) {
		entries += separator + fmt.Sprintf("%q:%s", name, entry)
		separator = ","
	}
	p.write(filepath.Join(p.dir, "script"), "./bin/notes")
	p.write(filepath.Join(p.dir, "vars"), "BASH_ENV=./bin/notes")
	path := filepath.Join(p.dir, ".mcp.json")
	p.write(path, `{"mcpServers":{`+entries+`}}`)

	ctx, program, secrets := watchdog(t), &credulous{}, &canarySecrets{}
	opts := program.options(consent.New())
	opts.Config = &config.Options{Secrets: secrets}
	h, err := host.Open(ctx, path, opts)
	p.opened(h, err)
	c := assert.Value(config.Load(t.Context(), path, opts.Config))(t)
	for _, s := range h.Servers() {
		assert.Equal(t, s.Stage, host.StageNotAllowed, "%s: got stage", s.Name)
		key := session.Key{User: "ann", Server: s.Name}
		// All of these may fail, and are not to start anything.
		_, _ = h.Client(ctx, key)
		_ = h.Discover(ctx, key)
		_ = h.Enable(ctx, s.Name)
		_ = h.Restart(ctx, s.Name)
		_ = h.Refresh(ctx, s.Name)
		_, _ = h.Login(ctx, key)
		_, _ = doctor.Diagnose(ctx, h, s.Name)
		_, _ = h.Registry().Call(session.WithUser(ctx, "ann"), s.Name+"__echo", nil)
		_, _ = manage.New(h, edit.OpenFileStore(path, nil), &manage.Options{Host: host.Options{Config: opts.Config}}).Update(ctx, s.Name, &record.Patch{Description: record.Some("another")})
	}
	for _, e := range c.Servers {
		_, _ = doctor.Test(session.WithUser(ctx, "ann"), h, e, nil)
	}
	p.reported(h.Apply(ctx, c))
	assert.Equal(t, len(h.PendingLaunches()), len(c.Servers), "launches that wait")
	p.wantStarts()
	assert.Equal(t, hits.Load(), 0, "requests")
	assert.Equal(t, secrets.asked.Load(), 0, "questions for secrets")
	program.wantNotAsked(t)
}
