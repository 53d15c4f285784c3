package skills_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/skilltest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open runs a host whose servers have skills, with the ledger in a file if there is one.
func open(t *testing.T, ledger string, servers map[string]*skilltest.Server) *host.Host {
	t.Helper()
	var entries []string
	for name := range servers {
		entries = append(entries, name, `{"command": "x"}`)
	}
	return hosttest.Open(t, hosttest.Write(t, entries...), options(hosttest.Pinned(t, ledger), servers))
}

// options have a ledger that trusts all tools if r is nil: skills are held back all the same.
func options(r *registry.Registry, servers map[string]*skilltest.Server) *host.Options {
	r = cmp.Or(r, registry.New(&registry.Options{Ledger: ledger.New(&ledger.Options{Mode: ledger.Trust})}))
	return &host.Options{StateDir: host.NoState, Registry: r, Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: servers[e.Name].Run}, nil
	}}
}

// inProcess runs a host with the server docs, without files.
func inProcess(ctx context.Context, docs *skilltest.Server) *host.Host {
	h := host.New(options(nil, map[string]*skilltest.Server{"docs": docs}))
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"docs": {"command": "x"}}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err != nil {
		panic(err)
	}
	return h
}

// refunds is a server with the skill refunds.
func refunds(more ...string) *skilltest.Server {
	s := skilltest.New(map[string]string{
		"skill://refunds/SKILL.md":      skilltest.File("refunds", "Pays back", "See forms/a.md."),
		"skill://refunds/forms/a.md":    "A form",
		"skill://refunds/in/a/SKILL.md": skilltest.File("a", "Nested", "Inner text"),
	})
	for i := 0; i+1 < len(more); i += 2 {
		s.Set(more[i], more[i+1])
	}
	return s
}

// folder returns a folder with files.
func folder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.OK(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
	return dir
}

// call calls a tool as a model does.
func call(ctx context.Context, r *registry.Registry, tool string, args ...string) string {
	in := map[string]string{"name": args[0]}
	if len(args) > 1 {
		in["path"] = args[1]
	}
	data, _ := json.Marshal(in)
	res, err := r.Call(ctx, tool, data)
	if err != nil {
		return err.Error()
	}
	return res.Text()
}
