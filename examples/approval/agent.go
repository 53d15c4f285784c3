package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A turn is what the model says: words, or a call. A model of flesh and blood
// would look at the results; this one has its script.
type turn struct {
	says string
	tool string
	args string
}

func script() []turn {
	return []turn{
		{says: "I look at what is there."},
		{tool: "files__list", args: `{}`},
		{says: "The temporary files can go, and the report is old."},
		{tool: "files__delete", args: `{"name":"<b>draft</b>.tmp"}`},
		{tool: "files__delete", args: `{"name":"report.pdf"}`},
		{tool: "files__delete", args: `{"name":"cache.tmp"}`},
		{tool: "files__delete", args: `{"name":"session.tmp"}`},
		{says: "That is all."},
	}
}

// An agent does what its model wants, as far as it may.
type agent struct {
	tools *registry.Registry
	log   *transcript
	model []turn
}

// work runs the agent's loop to its end.
func (a *agent) work(ctx context.Context) error {
	for _, t := range a.model {
		if t.tool == "" {
			a.log.add("model", t.says)
			continue
		}
		a.log.add("call", t.tool+" "+t.args)
		res, err := a.call(ctx, t.tool, json.RawMessage(t.args))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.log.add("result", answer(res, err))
	}
	return nil
}

// call makes a call. If the user has to be asked it waits for the answer: the page
// shows the call, and makes it.
func (a *agent) call(ctx context.Context, tool string, args json.RawMessage) (*mcp.CallToolResult, error) {
	res, err := a.tools.Call(ctx, tool, args)
	var required *registry.ApprovalRequiredError
	if errors.As(err, &required) {
		a.log.add("waiting", "The call waits for your approval.")
		return a.tools.Await(ctx, required.Request.ID)
	}
	return res, err
}

// answer is what the model is told about a call.
func answer(res *mcp.CallToolResult, err error) string {
	if err != nil {
		res = registry.ErrorResult(err)
	}
	return result.Text(res)
}

// A transcript is what happened, for a page that follows it.
type transcript struct {
	mu      sync.Mutex
	lines   []line
	changed chan struct{} // closed when there is a new line
}

type line struct{ Kind, Text string }

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (t *transcript) add(kind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{kind, text})
	close(t.changed)
	t.changed = make(chan struct{})
}

// read returns what happened so far, and a channel that is closed when there is
// more.
func (t *transcript) read() ([]line, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[:len(t.lines):len(t.lines)], t.changed
}
