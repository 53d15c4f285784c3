package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

const (
	// revisionOfOutput is the first revision with structured content.
	revisionOfOutput = "2025-06-18"
	// largeOutput is the size from which results are checked one at a time: what
	// that takes for a moment can be many times as much.
	largeOutput = 256 << 10
)

// An OutputError reports a result of a tool that does not match the output
// schema of the tool. The tool has run, and the connection lives on.
type OutputError struct {
	Server string          // name of the server, as configured
	Tool   string          // name of the tool
	Path   string          // where in the structured content, such as items[3].name, cut off if it is long; empty for the whole
	Result *CallToolResult // what the server answered, complete and unchanged
	Err    error           // what is wrong there, or with the schema itself
}

func (e *OutputError) Error() string {
	return plain.Text(fmt.Sprintf("mcp: server %q: the result of tool %q does not match the tool's output schema: %v", e.Server, e.Tool, e.Err))
}

func (e *OutputError) Unwrap() error { return e.Err }

// Outcome returns [Answered].
func (e *OutputError) Outcome() Outcome { return Answered }

// An outputSchema is the output schema of a tool, compiled when a result first
// needs it.
type outputSchema struct {
	raw  json.RawMessage
	once sync.Once
	gate *schemagate.Schema
	err  error
}

// newOutputSchema returns nil for a tool that has none.
func newOutputSchema(t *Tool) *outputSchema {
	raw, ok := t.OutputSchema.(json.RawMessage)
	if !ok {
		return nil
	}
	return &outputSchema{raw: raw}
}

// check checks the structured content of a result. A nil schema allows all.
func (s *outputSchema) check(content json.RawMessage, modern bool) error {
	switch {
	case s == nil:
		return nil
	case content == nil:
		return errors.New("structuredContent is missing")
	case content[0] != '{' && !modern:
		return errors.New("structuredContent is not an object")
	}
	s.once.Do(func() { s.gate, s.err = schemagate.Compile(s.raw) })
	if s.err != nil {
		return fmt.Errorf("the schema cannot be used: %w", s.err)
	}
	return s.gate.Validate(content)
}

// checkOutput checks a complete result against the output schema of its tool, as
// last listed. A list is read, until the given time, if there is none yet, or
// if the result does not match and the server has announced another one.
func (c *Client) checkOutput(ctx context.Context, until time.Time, l *life, tool string, res *CallToolResult) error {
	if c.opts.SkipOutputCheck || res.IsError || l.info.revision < revisionOfOutput {
		return nil
	}
	content, _ := res.StructuredContent.(json.RawMessage)
	if content != nil && c.unlisted() && !c.listForOutput(ctx, until, tool) {
		return nil
	}
	schema, stale := c.knownOutput(l, tool)
	err := c.checkContent(ctx, schema, content, l.modern())
	if err != nil && stale {
		c.forgetTools()
		if c.listForOutput(ctx, until, tool) {
			schema, _ = c.knownOutput(l, tool)
			err = c.checkContent(ctx, schema, content, l.modern())
		}
	}
	if err == nil {
		return nil
	}
	own := *res // or the whole message would be kept
	own.Content = slices.Clone(res.Content)
	if content != nil {
		own.StructuredContent = json.RawMessage(bytes.Clone(content))
	}
	invalid := &OutputError{Server: c.name, Tool: tool, Result: &own, Err: err}
	var wrong *schemagate.Problem
	if errors.As(err, &wrong) {
		invalid.Path = wrong.Path
	}
	return invalid
}

func (c *Client) checkContent(ctx context.Context, schema *outputSchema, content json.RawMessage, modern bool) error {
	if schema != nil && len(content) >= largeOutput {
		select {
		case c.tools.checking <- struct{}{}:
			defer func() { <-c.tools.checking }()
		case <-ctx.Done():
			return fmt.Errorf("it was not checked: %w", ctx.Err())
		}
	}
	return schema.check(content, modern)
}

// unlisted reports whether no list of tools was read yet that could be.
func (c *Client) unlisted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools.byName == nil && c.tools.unreadable != c.state.ToolsVersion
}

// knownOutput returns the output schema of a tool as last listed, and whether
// the list is out of date: it is of another version, or the server has announced
// a change, on the connection l, that has not been passed on yet.
func (c *Client) knownOutput(l *life, tool string) (s *outputSchema, stale bool) {
	announced := l.tap.changes.Load() != l.tap.listed.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools.byName[tool].output, announced || c.tools.version != c.state.ToolsVersion
}

// listForOutput has the list of tools read, unless it is up to date, and reports
// whether there is one now. A failure is no news to the caller, who has a result.
func (c *Client) listForOutput(ctx context.Context, until time.Time, tool string) bool {
	ctx, stop := context.WithDeadline(ctx, until)
	defer stop()
	version := c.State().ToolsVersion
	_, err := c.Tools(ctx)
	if err == nil {
		return true
	}
	c.opts.Logger.Warn("mcp: the tools could not be listed to check a result", "server", c.name, "tool", tool, "error", err)
	if ctx.Err() == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tools.unreadable = version
	}
	return false
}
