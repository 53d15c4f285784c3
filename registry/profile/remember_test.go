// Tests of turn.go and shape.go: what was compiled for one turn is kept for the next.

package profile_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// serve makes n tools with one schema all the tools of a server.
func serve(tb testing.TB, r *registry.Registry, server string, n int, schema string) {
	tb.Helper()
	tools := make([]registry.Tool, n)
	for i := range tools {
		tools[i] = &described{def: registry.Definition{
			Origin: registry.Origin{Server: server, Tool: fmt.Sprintf("tool_%d", i)}, Description: "Makes an issue.",
			InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(`{"type":"object"}`),
		}}
	}
	assert.Equal(tb, fmt.Sprint(assert.Value(r.Replace(registry.Server{Name: server}, tools))(tb).Rejected), "[]")
}

// thousand returns a registry of 20 servers with 50 tools each.
func thousand(tb testing.TB) *registry.Registry {
	tb.Helper()
	r := registry.New(nil)
	for i := range 20 {
		serve(tb, r, fmt.Sprintf("server%d", i), 50, issueSchema)
	}
	return r
}

// toolsOf returns the tools of a turn with all tools of a registry.
func toolsOf(tb testing.TB, r *registry.Registry, p profile.Provider, opts profile.Options) []*profile.Tool {
	tb.Helper()
	turn := assert.Value(profile.NewTurn(tb.Context(), r, p, &profile.TurnOptions{Options: opts, Toolset: &toolset.SetOptions{MaxTokens: -1, MaxTools: -1}}))(tb)
	return turn.Set().Tools()
}

// TestTurnIsTheSameAgain compares turns of one registry, which remembers, with what is
// compiled without a memory.
func TestTurnIsTheSameAgain(t *testing.T) {
	r := registry.New(nil)
	serve(t, r, "server", 3, issueSchema)
	serve(t, r, "a server with a name", 1, `{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	assert.OK(t, r.Add(tool("native", `{"type":"object"}`), tool("unusable", `{"$ref":"#"}`)))
	programs := func(*registry.Definition) []string { return []string{"programmatic"} }
	later := func(d *registry.Definition) bool { return d.Origin.Server != "" }
	for _, p := range providers {
		for _, opts := range []profile.Options{{}, {AllowedCallers: programs}, {Deferred: later}, {}} {
			set := assert.Value(profile.Compile(p, r.Snapshot().Tools(), &opts))(t)
			for range 2 {
				if got, want := toolsOf(t, r, p, opts), set.Tools(); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %+v: got %d tools that differ from %d compiled ones, want the same", p, opts, len(got), len(want))
				}
			}
		}
	}
}

func TestTurnFollowsTheServer(t *testing.T) {
	r := registry.New(nil)
	for _, schema := range []string{`{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"b":{}}}`, `{"type":"object","properties":{"b":{}}}`} {
		serve(t, r, "server", 1, schema)
		for range 2 {
			got := toolsOf(t, r, profile.Anthropic, profile.Options{})[0]
			assert.Equal(t, string(got.Schema), schema)
			assert.Equal(t, got.Definition, r.Snapshot().Tools()[0].Definition(), "the definition")
		}
	}
}

func TestTurnsInParallel(t *testing.T) {
	r := registry.New(nil)
	serve(t, r, "server", 20, issueSchema)
	want := toolsOf(t, r, profile.OpenAIStrict, profile.Options{})
	r = registry.New(nil)
	serve(t, r, "server", 20, issueSchema)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i, got := range toolsOf(t, r, profile.OpenAIStrict, profile.Options{}) {
				assert.Equal(t, string(got.Schema), string(want[i].Schema))
			}
		})
	}
	all.Wait()
}

// A tool that was compiled before is not compiled again.
func TestKnownToolsAreKept(t *testing.T) {
	r := registry.New(nil)
	serve(t, r, "server", 3, issueSchema)
	for _, p := range providers {
		first := toolsOf(t, r, p, profile.Options{})
		for i, again := range toolsOf(t, r, p, profile.Options{}) {
			assert.Equal(t, &again.Schema[0], &first[i].Schema[0], "%s: the memory of the schema", p)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, p := range providers {
		b.Run(string(p)+"/first/1000", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				r := thousand(b)
				b.StartTimer()
				toolsOf(b, r, p, profile.Options{})
			}
		})
		b.Run(string(p)+"/again/1000", func(b *testing.B) {
			r := thousand(b)
			toolsOf(b, r, p, profile.Options{})
			b.ReportAllocs()
			for b.Loop() {
				toolsOf(b, r, p, profile.Options{})
			}
		})
	}
}
