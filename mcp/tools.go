package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// maxListings is how often a list is read again because the server announced a
// change while it was being read.
const maxListings = 3

// Tools returns the server's tools, in its order. They are read once, all pages of
// them, and again after a notification of a change or on a new connection. A server of
// revision 2026-07-28 also says how long they are fresh; if it neither does that nor
// sends notifications they are read each time. It is a slice, and not an iterator as
// that of [Client.Resources], since calls need the whole list. Neither the tools nor
// what they point to may be changed.
//
// A tool that is no valid tool at all is left out, and so is one whose JSON has a key
// twice, bad UTF-8 or more than 128 levels; see [Client.ListProblems]. A list that ends
// beyond a limit of [ClientOptions], or goes round in circles, is an error.
func (c *Client) Tools(ctx context.Context) ([]*Tool, error) {
	if _, err := c.enterConnected(ctx, &request{method: protocol.ListTools}); err != nil {
		return nil, err
	}
	defer c.leave()
	came := c.tools.begun.Load()
	if tools := c.freshTools(came); tools != nil {
		return tools, nil
	}
	unlock, err := c.locks.Lock(ctx, "list")
	if err != nil {
		return nil, WithOutcome(fmt.Errorf("mcp: server %q: tools/list: %w", c.name, err), NotSent)
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		if tools := c.freshTools(came); tools != nil {
			return tools, nil
		}
		before := c.State()
		if before.Phase == Ready && before.Capabilities.Tools == nil {
			return []*Tool{}, nil // a server that has none need not know the request
		}
		conn, err := c.acquire(ctx, nil)
		if err != nil {
			return nil, err
		}
		version, announced, reading := before.ToolsVersion, conn.changes.Load(), c.tools.begun.Add(1)
		pages := c.toolPages()
		tools, err := pages.whole(ctx)
		// The version tells too late: notifications are passed on one by one. One page is of one time.
		changed := c.connection() != conn || (pages.pages != 1 || err != nil) && conn.changes.Load() != announced
		switch {
		case changed && attempt < maxListings && ctx.Err() == nil && OutcomeOf(err) == Answered:
			continue // or pages of two lists might be mixed
		case err != nil:
			return nil, err
		case changed && pages.pages > 1:
			return nil, pages.invalid("", errors.New("the list changes faster than its pages can be read"))
		}
		c.keepTools(conn, version, reading, tools, pages)
		conn.listed.Store(announced)
		return slices.Clip(tools), nil
	}
}

// freshTools returns the tools as last listed if they can be used, or nil. A caller that came when they
// had been listed so many times can use what was asked for since then in any case.
func (c *Client) freshTools(came uint64) (tools []*Tool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tools
	if c.state.Phase == Ready && (t.reading > came && t.source == c.current || t.version == c.state.ToolsVersion && t.good(c.current)) {
		tools = slices.Clip(t.tools)
	}
	return tools
}

func (c *Client) keepTools(conn *connection, version, reading uint64, tools []*Tool, pages *pager[Tool]) {
	byName := make(map[string]knownTool, len(tools))
	for _, t := range tools {
		headers, _ := paramheader.Find(t.InputSchema)
		byName[t.Name] = knownTool{t, headers, newOutputSchema(t)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tools
	t.source, t.version, t.reading, t.tools, t.byName = conn, version, reading, tools, byName
	t.stalest, t.unhinted = pages.stalest, pages.unhinted
}

// toolPages reads the list of tools.
func (c *Client) toolPages() *pager[Tool] {
	return &pager[Tool]{
		client: c,
		list: &list[Tool]{
			method:  protocol.ListTools,
			member:  "tools",
			noun:    "tool",
			offered: func(conn *connection) bool { return conn.info.capabilities.Tools != nil },
			decode: func(raw []byte, modern bool) (*Tool, bool, error) {
				t, err := decodeTool(raw, modern)
				return t, false, err
			},
			key: func(t *Tool) string { return t.Name },
			max: c.opts.MaxTools,
		},
		until: time.Now().Add(c.opts.CallTimeout),
	}
}

// knownTool returns the tool as last listed; its Tool is nil if there is none.
func (c *Client) knownTool(name string) knownTool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools.byName[name]
}

// forgetTools makes the next [Client.Tools] read the list again, from the server.
func (c *Client) forgetTools() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools.version = 0
}
