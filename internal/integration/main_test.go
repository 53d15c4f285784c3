//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(strip) != "":
		serveStripped()
		return
	case os.Getenv(front) != "":
		serveGateway()
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(programs.dir)
		os.Exit(code)
	}))
}

// nodeModules returns the node_modules that a lock file below testdata asks for: npm has the reference servers,
// and clients has clients. It installs them if need be.
func nodeModules(t *testing.T, name string) string {
	t.Helper()
	cache := assert.Value(filepath.Abs("../../bin/integration"))(t)
	return filepath.Join(assert.Value(npmdir.Install(t.Context(), filepath.Join("testdata", name), cache))(t), "node_modules")
}

// script returns the path of the program of a reference server, such as "everything".
func script(t *testing.T, server string) string {
	t.Helper()
	return filepath.Join(nodeModules(t, "npm"), "@modelcontextprotocol", "server-"+server, "dist/index.js")
}

// An entry is one server in a configuration file.
type entry struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
}

// stdio is an entry for a reference server that runs as our child.
func stdio(t *testing.T, server string, args ...string) entry {
	t.Helper()
	return entry{Command: "node", Args: append([]string{script(t, server)}, args...)}
}

// open writes a configuration file and opens a host with it. The host is
// closed at the end of the test.
func open(t *testing.T, servers map[string]entry, opts *host.Options) *host.Host {
	t.Helper()
	data := assert.Value(json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  "))(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, data, 0o600))
	o := host.Options{OpenWait: -1} // however slow the machine is
	if opts != nil {
		o = *opts
		o.OpenWait = -1
	}
	h := assert.Value(host.Open(ctxFor(t), path, &o))(t)
	t.Cleanup(func() { assert.Equal(t, h.Close(), nil, "Close") })
	for _, s := range h.Servers() {
		assert.OK(t, s.Err, "server %s", s.Name)
	}
	return h
}

// ctxFor bounds a step that may need a new connection. Nothing measures
// against it; it only turns a hang into a failure.
func ctxFor(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// call calls a tool through the registry, which must succeed.
func call(t *testing.T, h *host.Host, tool, args string) *mcp.CallToolResult {
	t.Helper()
	res := assert.Value(h.Registry().Call(ctxFor(t), tool, json.RawMessage(args)))(t)
	assert.False(t, res.IsError, "%s answered with an error: %s", tool, text(res))
	return res
}

// text returns the text blocks of an answer.
func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			b.WriteString(tc.Text)
		}
	}
	return b.String()
}

func client(t *testing.T, h *host.Host, server string) *mcp.Client {
	t.Helper()
	return assert.Value(h.Client(t.Context(), session.Key{Server: server}))(t)
}
