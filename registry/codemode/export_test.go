package codemode

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/child"
)

func init() { startTimeout = 10 * time.Minute } // for machines that are busy

// RunInProcess has f take the place of the child process.
func RunInProcess(o *Options, f func(ctx context.Context, b Bridge) error) *Options {
	o.execute = func(r *run) (*child.Result, error) { return &child.Result{}, f(r.ctx, Bridge{r}) }
	return o
}

// A Bridge is what a child process has of its parent.
type Bridge struct{ run *run }

func (b Bridge) Idle(requests int) { b.run.idles(requests) }

func (b Bridge) Log(text string) { b.run.logs(text) }

func (b Bridge) Request(ctx context.Context, method, params string) (json.RawMessage, error) {
	value, failed := b.run.request(ctx, method, json.RawMessage(params))
	if failed != nil {
		return nil, failed
	}
	return value, nil
}

// WithPass returns a context under which one call of a tool, without arguments, is allowed.
func WithPass(ctx context.Context, def *registry.Definition) context.Context {
	return (&plan{left: map[string]int{keyOf(def, nil): 1}}).pass(ctx, def, nil)
}

// LimitOf returns the name of the limit that a script has reached.
func LimitOf(e *LimitError) string { return e.limit }
