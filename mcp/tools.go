package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxListings is how often a list is read again because the server announced a
// change while it was being read.
const maxListings = 3

// A toolCache holds the tools as last listed.
type toolCache struct {
	listing chan struct{} // holds a token while the list is being read

	// The following are guarded by the client's lock.
	version    uint64 // State.ToolsVersion they were read at; 0: never
	unreadable uint64 // State.ToolsVersion at which a result could not be checked for want of a list
	tools      []*Tool
	byName     map[string]knownTool
}

// A knownTool is a tool as last listed, what its calls repeat in headers, and
// what its results are checked against.
type knownTool struct {
	*Tool
	headers []paramHeader
	output  *outputSchema // nil if the tool has none
}

func newToolCache() toolCache { return toolCache{listing: make(chan struct{}, 1)} }

// Tools returns the server's tools, in its order. They are read once, all pages
// of them, and again after the server announced a change or the connection was
// renewed. Neither the tools nor what they point to may be changed.
//
// A tool that is no valid tool at all is left out and logged. A list that ends
// beyond a limit of [ClientOptions], or goes round in circles, is an error.
func (c *Client) Tools(ctx context.Context) ([]*Tool, error) {
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: methodListTools}, err)
	}
	defer c.leave()
	if _, err := c.acquire(ctx, nil); err != nil {
		return nil, err
	}
	if tools, ok := c.cachedTools(); ok {
		return tools, nil
	}
	select {
	case c.tools.listing <- struct{}{}:
		defer func() { <-c.tools.listing }()
	case <-ctx.Done():
		return nil, WithOutcome(fmt.Errorf("mcp: server %q: tools/list: %w", c.name, ctx.Err()), NotSent)
	}
	for attempt := 1; ; attempt++ {
		if tools, ok := c.cachedTools(); ok {
			return tools, nil
		}
		before := c.State()
		if before.Phase == Ready && (before.Capabilities == nil || before.Capabilities.Tools == nil) {
			return []*Tool{}, nil // a server that has none need not know the request
		}
		l, err := c.acquire(ctx, nil)
		if err != nil {
			return nil, err
		}
		version, announced := before.ToolsVersion, l.tap.announced()
		tools, pages, err := c.listTools(ctx)
		changed := c.State().ToolsVersion != version || l.tap.announced() != announced
		switch {
		case changed && attempt < maxListings && ctx.Err() == nil:
			continue // or pages of two lists might be mixed
		case err != nil:
			return nil, err
		case changed && pages > 1:
			return nil, c.invalidList("", errors.New("the list changes faster than its pages can be read"))
		}
		c.keepTools(version, tools)
		l.tap.listed.Store(announced)
		return slices.Clip(tools), nil
	}
}

func (c *Client) cachedTools() ([]*Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := c.state.Phase == Ready && c.tools.version == c.state.ToolsVersion
	return slices.Clip(c.tools.tools), ok
}

func (c *Client) keepTools(version uint64, tools []*Tool) {
	byName := make(map[string]knownTool, len(tools))
	for _, t := range tools {
		schema, _ := t.InputSchema.(json.RawMessage)
		headers, _ := paramHeaders(schema)
		byName[t.Name] = knownTool{t, headers, newOutputSchema(t)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools.version, c.tools.tools, c.tools.byName = version, tools, byName
}

// knownTool returns the tool as last listed; its Tool is nil if there is none.
func (c *Client) knownTool(name string) knownTool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools.byName[name]
}

// forgetTools makes the next [Client.Tools] read the list again.
func (c *Client) forgetTools() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools.version = 0
}

const methodListTools = "tools/list"

// listTools reads all pages, and returns how many they were.
func (c *Client) listTools(ctx context.Context) (tools []*Tool, pages int, err error) {
	tools = []*Tool{}
	seen := map[string]bool{}
	size := int64(0)
	cursor := json.RawMessage(nil)
	until := time.Now().Add(c.opts.CallTimeout)
	for pages = 1; ; pages++ {
		result, l, err := c.send(ctx, c.listRequest(cursor, until))
		if err != nil {
			return nil, pages, err
		}
		list, next, err := c.toolPage(result, l.modern())
		if err != nil {
			return nil, pages, err
		}
		tools = append(tools, list...)
		size += int64(len(result))
		switch {
		case len(tools) > c.opts.MaxTools:
			err = &LimitError{"tools of a server", int64(c.opts.MaxTools)}
		case size > c.opts.MaxCatalog:
			err = &LimitError{"bytes of tools/list", c.opts.MaxCatalog}
		case next == nil || !l.modern() && string(next) == `""`:
			// To older revisions an empty cursor is none; from 2026-07-28 on
			// it is one like all others.
			return tools, pages, nil
		case pages == c.opts.MaxPages:
			err = &LimitError{"pages of tools/list", int64(c.opts.MaxPages)}
		case seen[string(next)]:
			err = c.invalidList("nextCursor", errors.New("the server's pages go round in circles"))
		}
		if err != nil {
			return nil, pages, fmt.Errorf("mcp: server %q: %w", c.name, err)
		}
		seen[string(next)] = true
		cursor = next
	}
}

func (c *Client) listRequest(cursor json.RawMessage, until time.Time) *request {
	return &request{
		method: methodListTools,
		params: [numParams]member{{"cursor", cursor}},
		idle:   c.opts.IdleTimeout,
		total:  c.opts.CallTimeout,
		until:  until,
	}
}

func (c *Client) invalidList(path string, err error) error {
	return &ProtocolError{Server: c.name, Method: methodListTools, Path: path, Err: err}
}

// toolPage decodes one page; next is nil on the last.
func (c *Client) toolPage(result json.RawMessage, modern bool) (tools []*Tool, next json.RawMessage, err error) {
	found := false
	walk := jsonscan.Walk(result)
	for key := range walk.Members() {
		switch string(key) {
		case "tools":
			if walk.Kind() != '[' {
				return nil, nil, c.invalidList("tools", errors.New("not an array"))
			}
			found = true
			for i := range walk.Elements() {
				raw := walk.Value()
				t, err := decodeTool(raw, modern)
				if err != nil {
					c.opts.Logger.Warn("mcp: leaving out an invalid tool", "server", c.name, "tool", nameOf(raw),
						"error", at(fmt.Sprintf("tools[%d]", i), err))
				} else {
					tools = append(tools, t)
				}
			}
		case "resultType":
			if value := walk.Value(); string(value) != `"complete"` && string(value) != "null" {
				return nil, nil, c.invalidList("resultType", errNotComplete)
			}
		case "nextCursor":
			value := walk.Value()
			if value[0] == '"' {
				next = value
			} else if string(value) != "null" {
				return nil, nil, c.invalidList("nextCursor", errors.New("not a string"))
			}
		}
	}
	if !found {
		return nil, nil, c.invalidList("tools", errors.New("missing"))
	}
	return tools, next, nil
}

var errNotComplete = errors.New("a list is complete, and nothing else")

// nameOf returns the name of an invalid tool for the log, as far as it has one.
func nameOf(tool []byte) string {
	if tool[0] != '{' {
		return ""
	}
	name, _ := jsonscan.String(fieldOf(tool, "name"))
	return name
}
