package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestAddIsAllOrNothing(t *testing.T) {
	r := registry.New(nil)
	mustAdd(t, r, native("b"), native("a"))
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	before := r.Snapshot()

	for what, test := range map[string]struct {
		tools []registry.Tool
		want  registry.DuplicateError
		text  string
	}{
		"native": {[]registry.Tool{native("c"), native("a")}, registry.DuplicateError{Name: "a"},
			`registry: the name "a" for a native tool is taken by a native tool; rename one of them`},
		"server's": {[]registry.Tool{native("c"), native("notes__create")}, registry.DuplicateError{Name: "notes__create", Holder: registry.Origin{Server: "notes", Tool: "create"}},
			`registry: the name "notes__create" for a native tool is taken by tool "create" of server "notes"; rename one of them`},
		"twice": {[]registry.Tool{native("c"), native("c")}, registry.DuplicateError{Name: "c"},
			`registry: the name "c" for a native tool is taken by a native tool; rename one of them`},
	} {
		err := r.Add(test.tools...)
		var taken *registry.DuplicateError
		if !errors.As(err, &taken) || *taken != test.want || err.Error() != test.text {
			t.Errorf("%s: Add = %v, want %v", what, err, &test.want)
		}
	}
	if err := r.Add(); err != nil {
		t.Errorf("Add of nothing: %v", err)
	}
	if r.Snapshot() != before {
		t.Errorf("catalogue = %q after failed additions", listedNames(r.Snapshot()))
	}
}

func TestSnapshot(t *testing.T) {
	r := registry.New(nil)
	empty := r.Snapshot()
	if empty.Version() != 1 || len(empty.Tools()) != 0 {
		t.Errorf("a new registry has version %d and tools %v", empty.Version(), empty.Tools())
	}
	b := native("b")
	mustAdd(t, r, native("c"), b)
	mustAdd(t, r, native("a"))
	s := r.Snapshot()
	if got := listedNames(s); !slices.Equal(got, []string{"a", "b", "c"}) || s.Version() != 3 {
		t.Errorf("tools = %q, version = %d", got, s.Version())
	}
	if got, ok := s.Lookup("b"); got != b || !ok {
		t.Errorf("Lookup = %v, %v", got, ok)
	}
	if got, ok := s.Lookup("x"); got != nil || ok {
		t.Errorf("Lookup of an unknown name = %v, %v", got, ok)
	}
	if len(empty.Tools()) != 0 {
		t.Error("an older snapshot changed")
	}
	mustAdd(t, r, native("d"))
	grown := append(r.Snapshot().Tools(), native("x"))
	if again := append(r.Snapshot().Tools(), native("y")); grown[4].Definition().Name != "x" || again[4].Definition().Name != "y" {
		t.Error("two appends share memory")
	}

	r.Remove("a", "unknown", "a")
	if got := listedNames(r.Snapshot()); !slices.Equal(got, []string{"b", "c", "d"}) || r.Snapshot().Version() != 5 {
		t.Errorf("after Remove: %q, version %d", got, r.Snapshot().Version())
	}
	r.Remove("unknown")
	r.Remove()
	if r.Snapshot().Version() != 5 {
		t.Error("removing nothing published a version")
	}
}

func TestCall(t *testing.T) {
	var got string
	tool := makeFunc(t, func(_ context.Context, in map[string]any) (string, error) { return "ran", nil })
	spy := &spyTool{Tool: tool, seen: &got}
	r := registry.New(nil)
	mustAdd(t, r, spy, &plainTool{def: native("broken").def})

	for args, want := range map[string]string{"": "{}", " null ": "{}", ` {"a":1}`: ` {"a":1}`} {
		res, err := r.Call(t.Context(), "tool", json.RawMessage(args))
		if err != nil || textOf(t, res) != "ran" || got != want {
			t.Errorf("Call(%q) = %v, %v with arguments %q, want %q", args, res, err, got, want)
		}
	}
	got = "not run"
	for _, args := range []string{"1", "[]", "{", `{"a":}`, `{}{}`, "nil", "\xff"} {
		_, err := r.Call(t.Context(), "tool", json.RawMessage(args))
		var wrong *registry.ArgumentsError
		if !errors.As(err, &wrong) || wrong.Tool != "tool" || got != "not run" {
			t.Errorf("Call(%q) = %v (tool got %s), want an ArgumentsError", args, err, got)
		}
	}
	var none *registry.ResultError
	if res, err := r.Call(t.Context(), "broken", nil); res != nil || !errors.As(err, &none) || none.Tool != "broken" {
		t.Errorf("Call of a tool without a result = %v, %v; want a ResultError", res, err)
	}
	var unknown *registry.UnknownToolError
	if _, err := r.Call(t.Context(), "toll", nil); !errors.As(err, &unknown) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Errorf("Call of an unknown tool = %v, want an UnknownToolError", err)
	}
}

type spyTool struct {
	registry.Tool
	seen *string
}

func (t *spyTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	*t.seen = string(args)
	return t.Tool.Call(ctx, args)
}

// A snapshot shows a server's tools before a Replace or after it, never a
// mixture, and versions only grow.
func TestConcurrency(t *testing.T) {
	const generations = 100
	r := registry.New(nil)
	mustAdd(t, r, native("a"))
	tools := func(generation int) []registry.Tool {
		var tools []registry.Tool
		for i := range 5 {
			tools = append(tools, serverTool("s", fmt.Sprint("t", i), fmt.Sprint(generation)))
		}
		return tools
	}
	mustReplace(t, r, "s", tools(0)...)

	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var version uint64
			for s := range r.Watch(ctx) {
				if s.Version() <= version {
					t.Errorf("version %d after %d", s.Version(), version)
				}
				version = s.Version()
			}
		})
		readers.Go(func() {
			var version uint64
			for ctx.Err() == nil {
				s := r.Snapshot()
				if s.Version() < version {
					t.Errorf("version %d after %d", s.Version(), version)
				}
				version = s.Version()
				generation := ""
				for _, tool := range s.Tools() {
					d := tool.Definition()
					if found, ok := s.Lookup(d.Name); !ok || found != tool {
						t.Errorf("Lookup(%s) = %v, %v", d.Name, found, ok)
					}
					if d.Origin.Server != "s" {
						continue
					}
					if generation == "" {
						generation = d.Description
					} else if d.Description != generation {
						t.Errorf("generations %s and %s in one snapshot", generation, d.Description)
					}
				}
				if _, err := r.Call(ctx, "s__t3", nil); err != nil {
					t.Errorf("Call: %v", err)
				}
				_, _ = r.Call(ctx, "nobody", nil)
			}
		})
	}
	writers.Go(func() {
		for g := range generations {
			mustReplace(t, r, "s", tools(g)...)
		}
	})
	writers.Go(func() {
		for range generations {
			mustAdd(t, r, native("b"))
			r.Remove("b")
		}
	})
	writers.Go(func() {
		for range 20 {
			r.Use(func(next registry.Handler) registry.Handler {
				return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) { return next(ctx, call) }
			})
		}
	})
	writers.Wait()
	cancel()
	readers.Wait()
	// Generation 0 was listed already, so replacing it with itself is no change.
	assert.Equal(t, r.Snapshot().Version(), uint64(1+1+1+(generations-1)+2*generations), "version =")
}

func TestTrusted(t *testing.T) {
	r := registry.New(nil)
	assert.OK(t, r.Add(registry.MustFunc("native", "", func(context.Context, struct{}) (string, error) { return "", nil })))
	for server, trusted := range map[string]bool{"mine": true, "other": false} {
		assert.Value(r.Replace(registry.Server{Name: server, Trusted: trusted}, []registry.Tool{serverTool(server, "a", "")}))(t)
	}
	for name, want := range map[string]bool{"native": true, "mine__a": true, "other__a": false, "nothing": false} {
		assert.Equal(t, r.Snapshot().Trusted(name), want, "%s", name)
	}
}
