package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMiddlewareOrder(t *testing.T) {
	var trace []string
	applied := 0
	named := func(name string) registry.Middleware {
		return func(next registry.Handler) registry.Handler {
			applied++
			return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
				trace = append(trace, name+" "+call.Tool.Name+" "+string(call.Args))
				defer func() { trace = append(trace, "after "+name) }()
				return next(ctx, call)
			}
		}
	}
	r := registry.New(nil)
	r.Use(named("1"))
	r.Use(named("2"), nil, named("3"))
	r.Use(func(registry.Handler) registry.Handler { return nil })
	a := native("a")
	mustAdd(t, r, a)
	for range 2 {
		trace = nil
		assert.Equal(t, assert.Value(r.Call(t.Context(), "a", nil))(t), a.answer)
		assert.List(t, trace, []string{"1 a {}", "2 a {}", "3 a {}", "after 3", "after 2", "after 1"}, "trace")
	}
	assert.Equal(t, applied, 3, "middleware was applied times")

	trace = nil
	_, _ = r.Call(t.Context(), "unknown", nil)
	_, _ = r.Call(t.Context(), "a", json.RawMessage("[]"))
	assert.False(t, trace != nil, "middleware ran for refused calls")
}

func TestMiddlewareMayChangeArguments(t *testing.T) {
	var got string
	r := newRegistry(t, spying(echo[map[string]int](t), &got))
	r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		other := *call
		other.Args = json.RawMessage(`{"a":2}`)
		if _, err := next(ctx, &other); err != nil {
			return nil, err
		}
		assert.Equal(t, got, `{"a":2}`, "the tool")
		return next(ctx, call) // again, as it was
	}))
	assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "tool", json.RawMessage(`{"a":1}`)))(t)), `{"a":1}`)
}

func TestMiddlewareMayAnswer(t *testing.T) {
	denied := errors.New("denied")
	for _, test := range []struct {
		res *mcp.CallToolResult
		err error
	}{{textResult("cached"), nil}, {nil, denied}} {
		r := newRegistry(t, native("a"))
		r.Use(around(func(context.Context, *registry.Call, registry.Handler) (*mcp.CallToolResult, error) {
			return test.res, test.err
		}))
		res, err := r.Call(t.Context(), "a", nil)
		assert.Equal(t, res, test.res)
		assert.Equal(t, err, test.err)
	}
}

func TestMiddlewareMustPassOnItsCall(t *testing.T) {
	for what, call := range map[string]*registry.Call{"nil": nil, "new": {Args: json.RawMessage("{}")}} {
		r := newRegistry(t, native("a"))
		r.Use(around(func(ctx context.Context, _ *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
			return next(ctx, call)
		}))
		assert.Fails(t, assert.Err(r.Call(t.Context(), "a", nil)), "%s", what)
	}
}

// A call keeps the middleware that it began with.
func TestUseDuringACall(t *testing.T) {
	r := newRegistry(t, native("a"))
	ran := false
	r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
			ran = true
			return next(ctx, call)
		}))
		return next(ctx, call)
	}))
	assert.Value(r.Call(t.Context(), "a", nil))(t)
	assert.False(t, ran, "later middleware ran for the first call")
	assert.Value(r.Call(t.Context(), "a", nil))(t)
	assert.True(t, ran, "later middleware ran for the second call")
}

// Middleware is foreign code, and may look at the registry when it is made.
func TestMiddlewareUsesTheRegistry(t *testing.T) {
	r := newRegistry(t, native("a"))
	var trace []string
	note := func(name string) registry.Middleware {
		return around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
			trace = append(trace, name)
			return next(ctx, call)
		})
	}
	r.Use(func(next registry.Handler) registry.Handler {
		r.Remove("none")
		r.Use(note("inner"))
		return note("outer")(next)
	}, note("last"))
	assert.Value(r.Call(t.Context(), "a", nil))(t)
	assert.List(t, trace, []string{"inner", "outer", "last"})
}
