// Tests of registry.go and snapshot.go: tools that are listed and called.

package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

func TestAddIsAllOrNothing(t *testing.T) {
	r := newRegistry(t, native("b"), native("a"))
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
		assert.Equal(t, *assert.As[*registry.DuplicateError](t, err, "%s", what), test.want, "%s", what)
		assert.Equal(t, err.Error(), test.text, "%s", what)
	}
	assert.OK(t, r.Add(), "Add of nothing")
	assert.Equal(t, r.Snapshot(), before, "catalogue")
}

func TestSnapshot(t *testing.T) {
	r := registry.New(nil)
	empty := r.Snapshot()
	assert.Equal(t, empty.Version(), 1, "the version of a new registry")
	assert.Equal(t, len(empty.Tools()), 0, "the tools of a new registry")
	b := native("b")
	mustAdd(t, r, native("c"), b)
	mustAdd(t, r, native("a"))
	s := r.Snapshot()
	assert.List(t, listedNames(s), []string{"a", "b", "c"}, "tools")
	assert.Equal(t, s.Version(), 3, "version")
	got, ok := s.Lookup("b")
	assert.True(t, ok && got == registry.Tool(b), "b is there")
	got, ok = s.Lookup("x")
	assert.True(t, got == nil && !ok, "x is not there")
	assert.Equal(t, len(empty.Tools()), 0, "an older snapshot changed")
	mustAdd(t, r, native("d"))
	assert.Equal(t, append(r.Snapshot().Tools(), native("x"))[4].Definition().Name, "x", "the tool of an append")
	assert.Equal(t, append(r.Snapshot().Tools(), native("y"))[4].Definition().Name, "y", "the tool of an append")

	r.Remove("a", "unknown", "a")
	assert.List(t, listedNames(r.Snapshot()), []string{"b", "c", "d"}, "after Remove")
	assert.Equal(t, r.Snapshot().Version(), 5, "after Remove: version")
	r.Remove("unknown")
	r.Remove()
	assert.Equal(t, r.Snapshot().Version(), 5, "removing nothing published a version")
}

func TestCall(t *testing.T) {
	var got string
	tool := makeFunc(t, func(_ context.Context, in map[string]any) (string, error) { return "ran", nil })
	r := newRegistry(t, spying(tool, &got), &plainTool{def: native("broken").def})

	for args, want := range map[string]string{"": "{}", " null ": "{}", ` {"a":1}`: ` {"a":1}`} {
		assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "tool", json.RawMessage(args)))(t)), "ran")
		assert.Equal(t, got, want, "%q at the tool", args)
	}
	got = "not run"
	for _, args := range []string{"1", "[]", "{", `{"a":}`, `{}{}`, "nil", "\xff"} {
		assert.Equal(t, assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), "tool", json.RawMessage(args)))).Tool, "tool", "%q", args)
		assert.Equal(t, got, "not run", "%q at the tool", args)
	}
	assert.Equal(t, assert.As[*registry.ResultError](t, assert.Err(r.Call(t.Context(), "broken", nil))).Tool, "broken", "a tool without a result")
	wantError[*registry.UnknownToolError](t, assert.Err(r.Call(t.Context(), "toll", nil)))
}

// A snapshot shows a server's tools before a Replace or after it, never a
// mixture, and versions only grow.
func TestConcurrency(t *testing.T) {
	generations := assert.Cases(30, 100)
	r := newRegistry(t, native("a"))
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
				assert.Between(t, s.Version(), version+1, math.MaxInt, "a version that is watched")
				version = s.Version()
			}
		})
		readers.Go(func() {
			var version uint64
			for ctx.Err() == nil {
				s := r.Snapshot()
				assert.Between(t, s.Version(), version, math.MaxInt, "version")
				version = s.Version()
				seen := map[string]bool{} // generations
				for _, tool := range s.Tools() {
					d := tool.Definition()
					found, _ := s.Lookup(d.Name)
					assert.Equal(t, found, tool, "%s", d.Name)
					if d.Origin.Server == "s" {
						seen[d.Description] = true
					}
				}
				assert.Equal(t, len(seen), 1, "generations in one snapshot")
				assert.Equal(t, assert.Err(r.Call(ctx, "s__t3", nil)), nil, "Call")
				_, _ = r.Call(ctx, "nothing", nil)
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
			r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
				return next(ctx, call)
			}))
		}
	})
	writers.Wait()
	cancel()
	readers.Wait()
	// Generation 0 was listed already, so replacing it with itself is no change.
	assert.Equal(t, r.Snapshot().Version(), uint64(1+1+1+(generations-1)+2*generations), "version")
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

// The zero Registry, and none, say how one is made: by an error where there is one,
// else by a panic.
func TestZeroRegistry(t *testing.T) {
	const want = "registry: there is no Registry, or it is the zero one: make it with New"
	var r registry.Registry
	ctx := t.Context()
	for name, err := range map[string]error{
		"Add": r.Add(nil), "AddHidden": r.AddHidden(nil), "Deny": r.Deny(ctx, "x", ""),
		"Call": assert.Err(r.Call(ctx, "x", nil)), "Approve": assert.Err(r.Approve(ctx, "x", nil)), "Await": assert.Err(r.Await(ctx, "x")),
		"Replace": assert.Err(r.Replace(registry.Server{Name: "s"}, nil)), "Preview": assert.Err(r.Preview(registry.Server{Name: "s"}, nil)),
		"Find": assert.Err(r.Find(ctx, "x")), "Call of nil": assert.Err((*registry.Registry)(nil).Call(ctx, "x", nil)),
	} {
		assert.Equal(t, fmt.Sprint(err), want, "%s", name)
	}
	assert.Equal(t, mcp.OutcomeOf(assert.Err(r.Call(ctx, "x", nil))), mcp.NotSent, "Call: the outcome")
	for name, call := range map[string]func(){
		"Use":             func() { r.Use() },
		"Remove":          func() { r.Remove("x") },
		"Snapshot":        func() { r.Snapshot() },
		"Callable":        func() { r.Callable(ctx) },
		"Resolve":         func() { r.Resolve("x") },
		"Approvals":       func() { r.Approvals(ctx) },
		"EndConversation": func() { r.EndConversation(ctx) },
		"RevokeGrants":    func() { r.RevokeGrants(ctx) },
		"Watch":           func() { r.Watch(ctx)(func(*registry.Snapshot) bool { return false }) },
		"WatchApprovals":  func() { r.WatchApprovals(ctx)(func([]*registry.ApprovalRequest) bool { return false }) },
	} {
		assert.Equal(t, panicOf(call), want, "%s", name)
	}
}

// No ledger, as of a registry without one, and the zero one remember nothing.
func TestNoLedger(t *testing.T) {
	for name, l := range map[string]*ledger.Ledger{"nil": registry.New(nil).Ledger(), "zero": {}} {
		assert.Equal(t, len(l.Pending()), 0, "%s, changes that wait", name)
		assert.Equal(t, len(l.Entries("s")), 0, "%s, entries", name)
		assert.Equal(t, len(registry.Verify(l, registry.Server{Name: "s"}, nil)), 0, "%s, differences", name)
		for what, err := range map[string]error{
			"Accept": l.Accept(t.Context(), "me", ledger.Change{Server: "s"}),
			"Reject": l.Reject(t.Context(), "me", ledger.Change{Server: "s"}),
			"Forget": l.Forget(t.Context(), "s"),
		} {
			assert.Contains(t, fmt.Sprint(err), "ledger: there is none", "%s: %s", name, what)
		}
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, accepted := newLedgerRegistry()
		ctx, cancel := context.WithCancel(t.Context())
		var seen []uint64
		var last *registry.Snapshot
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for s := range r.Watch(ctx) {
				seen = append(seen, s.Version())
				last = s
			}
		})
		step := func(want ...uint64) {
			t.Helper()
			synctest.Wait()
			assert.List(t, seen, want, "seen")
		}
		step(1)
		mustReplace(t, r, "s", serverTool("s", "a", ""))
		step(1, 2)
		mustReplace(t, r, "s", serverTool("s", "a", "")) // no change: nobody is woken
		step(1, 2)
		mustReplace(t, registry.New(&registry.Options{Ledger: accepted}), "files", serverTool("files", "list", ""))
		step(1, 2) // what a ledger learns of servers that are not here wakes no one
		mustReplace(t, r, "s", serverTool("s", "a", "new"))
		step(1, 2, 3)
		r.Remove("s__a")
		step(1, 2, 3, 4)
		assert.Equal(t, last, r.Snapshot(), "the last snapshot seen")
		cancel()
		watcher.Wait()
		mustAdd(t, r, native("b"))
		step(1, 2, 3, 4)
	})
}

func TestWatchCoalesces(t *testing.T) {
	r := registry.New(nil)
	var seen []uint64
	for s := range r.Watch(t.Context()) {
		seen = append(seen, s.Version())
		if s.Version() == 1 { // a slow consumer
			for _, name := range []string{"a", "b", "c"} {
				mustAdd(t, r, native(name))
			}
		}
		if s.Version() == 4 {
			break
		}
	}
	assert.List(t, seen, []uint64{1, 4}, "seen")
}

func TestWatchAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := registry.New(nil)
	changes := r.Watch(ctx)
	for range changes {
		mustAdd(t, r, native("a")) // a change and the end at once: the end wins
		cancel()
	}
	for range changes {
		t.Error("a snapshot after the end of the context")
	}
}

// Each definition of a snapshot has a cell of its own, in whatever order they come, and no
// other definition has one.
func TestSnapshotMemory(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "files", serverTool("files", "read", ""), serverTool("files", "stat", ""), serverTool("files", "write", ""))
	s := r.Snapshot()
	memory := s.Memory()
	for _, i := range []int{2, 0, 1, 2, 1, 1} {
		def := s.Tools()[i].Definition()
		cell, _ := memory(def)
		cell.Put("name", def.Name)
		copied := *def
		cell, _ = memory(&copied)
		assert.True(t, cell == nil, "%s: a copy has no cell", def.Name)
	}
	cell, _ := memory(nil)
	assert.False(t, cell != nil, "a cell for nil")
	again := s.Memory()
	for _, tool := range s.Tools() {
		def := tool.Definition()
		cell, _ := again(def)
		assert.Equal(t, cell.Get("name"), any(def.Name), "the cell")
	}
}
