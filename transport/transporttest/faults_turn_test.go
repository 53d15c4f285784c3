//go:build unix

package transporttest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// turns are servers that become other ones.
func turns() []row {
	wires := wires(overStdio)
	return []row{
		{id: "32.1", name: "program comes back with an older revision", deed: "turn", wires: wires, revision: mcp.Revision20260728, heals: true, expect: inTime(exits(7))},
		{id: "32.2", name: "program comes back with a newer revision", deed: "turn", wires: wires, revision: mcp.Revision20251125, heals: true, expect: inTime(exits(7))},
		{id: "33", name: "announced and not readable", deed: "unreadable", hit: 1, wires: everyWire(), events: true, waits: true, unready: true, heals: true,
			begin: callsThroughHost},
	}
}

// callsThroughHost calls the tool through a host until its change is announced, and
// then until it is refused: the host cannot read what it has become.
func callsThroughHost(c *cell) {
	ctx, stop := context.WithTimeout(context.Background(), 2*healTime)
	defer stop()
	path := filepath.Join(c.dir, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"victim":{"command":"victim"}}}`), 0o600); err != nil {
		c.fail(unwell, "%v", err)
		return
	}
	h, err := host.Open(ctx, path, &host.Options{
		StateDir:  filepath.Join(c.dir, "state"),
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return c.world.transport, nil },
	})
	if err != nil {
		c.fail(unwell, "the host does not open: %v", err)
		return
	}
	defer func() { _ = h.Close() }()
	c.until("a tool whose change was announced and cannot be read is still called", func() error {
		_, err := h.Registry().Call(ctx, "victim__do", json.RawMessage(`{"nonce":"host"}`))
		var held *registry.QuarantinedError
		switch {
		case !errors.As(err, &held):
			return cmp.Or(err, errNotYet)
		case !c.hit():
			c.fail(wrong, "refused before the change: %v", err)
		}
		return nil
	})
}
