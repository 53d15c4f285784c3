// Tests of call.go and tool.go: structured content and the schemas of tools for it.

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// withOutput is a result of tools/list with the tool "t" and its output schema.
func withOutput(schema string) string {
	return `{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + schema + `},{"name":"free","inputSchema":{}}]}`
}

// structured is a result of tools/call with structured content.
func structured(content string) string {
	return `{"content":[{"type":"text","text":"x"}],"structuredContent":` + content + `}`
}

func wantOutputError(t *testing.T, err error, path, words string) *mcp.OutputError {
	t.Helper()
	invalid := assert.As[*mcp.OutputError](t, err)
	assert.Contains(t, err.Error(), words)
	assert.Equal(t, [...]any{invalid.Server, invalid.Tool, invalid.Path}, [...]any{"scripted", "t", path})
	assert.Contains(t, err.Error(), `"scripted"`, "the error does not tell enough")
	assert.Contains(t, err.Error(), `"t"`, "the error does not tell enough")
	assert.Fails(t, invalid.Unwrap(), "the error does not tell enough")
	wantOutcome(t, err, mcp.Answered)
	assert.False(t, invalid.Result == nil, "no result")
	return invalid
}

func TestOutputChecked(t *testing.T) {
	const (
		count  = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
		notOne = "structuredContent is not an object"
		legacy = mcp.Revision20251125
		modern = mcp.Revision20260728
	)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, test := range []struct {
			only                 string // a revision; empty: both
			schema, result       string
			wantPath, wantsWords string
		}{
			{"", count, structured(`{"n":1}`), "", ""},
			{"", count, structured(`{"n":9223372036854775808}`), "", ""},
			{"", count, structured(`{"n":1e400}`), "", ""},
			{"", count, structured(`{"n":"secret"}`), "n", "n: want an integer, got a string"},
			{"", count, structured(`{}`), "n", `n: want`},
			{"", count, `{"content":[]}`, "", "structuredContent is missing"},
			{"", count, `{"content":[],"isError":true}`, "", ""},
			{"", count, `{"content":[],"isError":true,"structuredContent":{"n":"x"}}`, "", ""},
			{"", `{"type":"object"}`, structured(`{"any":[1]}`), "", ""},
			{"", `true`, structured(`{}`), "", ""},
			{legacy, `true`, structured(`[1]`), "", notOne},
			{modern, `true`, structured(`[1]`), "", ""},
			{modern, `{"items":{"type":"string"}}`, structured(`["a",1]`), "[1]", "want a string"},
			{legacy, `{"type":"null"}`, structured(`null`), "", "missing"},
			{modern, `{"type":"null"}`, structured(`null`), "", ""},
			{modern, `{"maximum":9223372036854775807}`, structured(`9223372036854775808`), "", "at most 9223372036854775807"},
			{"", `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, structured(`{"v":1,"next":{}}`), "next.v", "want any value, got nothing"},
			// An output schema that cannot be used checks nothing.
			{"", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, structured(`{}`), "", ""},
			{"", `{"$ref":"#"}`, structured(`{}`), "", ""},
			{"", `{"description":"` + strings.Repeat("x", 300<<10) + `"}`, `{"content":[]}`, "", ""},
			{"", `{"properties":{"n":{"type":"integer","minimum":null}},"required":["n"]}`, structured(`{"n":"x"}`), "n", "want an integer"},
		} {
			if test.only != "" && test.only != revision {
				continue
			}
			server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/list": mcptest.Result(withOutput(test.schema)),
				"tools/call": mcptest.Result(test.result),
			}), nil)
			assert.Value(c.Tools(t.Context()))(t)
			for range 2 { // the second after the schema was compiled
				res, err := call(t, c, "t")
				if test.wantsWords != "" {
					assert.True(t, res == nil, "a result beside the error")
					res = wantOutputError(t, err, test.wantPath, test.wantsWords).Result
					assert.Lacks(t, err.Error(), "secret")
					assert.True(t, len(err.Error()) <= 1000, "the error is short: %v", err)
				} else if err != nil {
					t.Fatalf("%s against %s: %v", test.result, test.schema, err)
				}
				wantContent(t, res, test.result)
			}
			if res := mustCall(t, c, "free"); !res.IsError {
				wantContent(t, res, test.result) // no schema, no check
			}
			wantPhase(t, c, mcp.Ready)
			assert.Equal(t, server.Connections(), 1, "connections")
			wantCount(t, server, "tools/list", 1)
			_ = c.Close()
		}
	})
}

// wantContent wants the structured content of a raw result, byte for byte.
func wantContent(t *testing.T, res *mcp.CallToolResult, raw string) {
	t.Helper()
	_, want, _ := strings.Cut(strings.TrimSuffix(raw, "}"), `"structuredContent":`)
	got, _ := res.StructuredContent.(json.RawMessage)
	assert.True(t, string(got) == want || want == "null" && got == nil, "the structured content %s is %s", got, want)
}

func TestOutputByRevision(t *testing.T) {
	for revision, checked := range map[string]bool{"2024-11-05": false, "2025-03-26": false, "2025-06-18": true} {
		c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(withOutput(`{"required":["n"]}`)),
			"tools/call": mcptest.Result(structured(`{}`)),
		}), nil)
		wantTools(t, c, "t free")
		assert.Equal(t, assert.Err(call(t, c, "t")) != nil, checked, "%s", revision)
	}
}

// What a schema refers to elsewhere is not asked for, neither by a client nor
// for its dialect.
func TestOutputSchemaFetchesNothing(t *testing.T) {
	var hits atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(canary.Close)
	var log bytes.Buffer
	for _, schema := range []string{`{"$ref":"%s/a"}`, `{"$schema":"%s/a"}`, `{"$id":"%s/a","$ref":"b#/c"}`, `{"$dynamicRef":"%s/a"}`, `{"properties":{"n":{"$ref":"%s#x"}}}`} {
		c := newClient(t, legacy(t, mcptest.Script{
			"tools/list": mcptest.Result(withOutput(fmt.Sprintf(schema, canary.URL))),
			"tools/call": mcptest.Result(structured(`{"n":1}`)),
		}), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		wantTools(t, c, "t free")
		mustCall(t, c, "t")
		assert.Contains(t, log.String(), "the output schema cannot be used")
	}
	assert.Equal(t, hits.Load(), 0, "requests")
}

// A server that does not list its tools is asked once per version of them, and
// its results pass.
func TestOutputWithoutList(t *testing.T) {
	for name, list := range map[string]mcptest.Handler{"refused": mcptest.Error(-32603, "no"), "invalid": mcptest.Result(`7`)} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			server := legacy(t, mcptest.Script{"tools/list": list, "tools/call": mcptest.Result(structured(`{}`))})
			c := newClient(t, server, &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				wantContent(t, mustCall(t, c, "t"), structured(`{}`))
			}
			wantCount(t, server, "tools/list", 1)
			assert.Contains(t, log.String(), "could not be listed to check a result")
		})
	}
	t.Run("no tools", func(t *testing.T) {
		server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{}`), mcptest.Script{"tools/call": mcptest.Result(structured(`{}`))})
		mustCall(t, newClient(t, server, nil), "t")
		wantCount(t, server, "tools/list", 0)
	})
}

// The list must come within the time of the call and the caller's context. The
// result is there already, so it passes.
func TestOutputListHangs(t *testing.T) {
	script := mcptest.Script{"tools/list": mcptest.Hang, "tools/call": mcptest.Result(structured(`{}`))}
	runInBubble(t, "total", func(t *testing.T) {
		slow := mcptest.Script{"tools/call": slowly(2*time.Second, script["tools/call"])}
		c := newReady(t, legacy(t, script, slow), &mcp.ClientOptions{CallTimeout: 5 * time.Second})
		start := time.Now()
		mustCall(t, c, "t")
		assert.Equal(t, time.Since(start), 5*time.Second, "took")
	})
	t.Run("context", func(t *testing.T) {
		server, c := withClient(t, legacy(t, script), nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { server.Await("tools/list", 1); cancel() }()
		assert.OK(t, assert.Err(c.CallTool(ctx, "t", nil, nil)))
	})
	t.Run("close", func(t *testing.T) {
		server, c := withClient(t, legacy(t, script), nil)
		go func() { server.Await("tools/list", 1); _ = c.Close() }()
		assert.OK(t, assert.Err(c.CallTool(t.Context(), "t", nil, nil)))
	})
}

// A result of a tool that changed after it was listed is checked against what it
// is now: the announcement stands before the result.
func TestOutputAfterChange(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		var list atomic.Value
		announced := func(content string) mcptest.Handler {
			return func(c *mcptest.Call) {
				c.Notify("notifications/tools/list_changed", "")
				c.Result(structured(content))
			}
		}
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": func(c *mcptest.Call) { list.Load().(mcptest.Handler)(c) },
			"tools/call": mcptest.Sequence(mcptest.Result(structured(`{"new":1}`)), announced(`{"new":1}`), announced(`{"old":1}`), announced(`{"old":1}`)),
		}), nil)
		list.Store(mcptest.Result(withOutput(`{"required":["old"]}`)))
		wantTools(t, c, "t free")
		_, err := call(t, c, "t")
		wantOutputError(t, err, "old", `old: want`)
		wantCount(t, server, "tools/list", 1) // nothing has changed

		list.Store(mcptest.Result(withOutput(`{"required":["new"]}`)))
		mustCall(t, c, "t")
		read := len(server.Received("tools/list"))
		_, err = call(t, c, "t") // fits neither
		wantOutputError(t, err, "new", `new: want`)
		wantOther(t, len(server.Received("tools/list")), read, "the list was not read again")
		list.Store(mcptest.Error(-32603, "no"))
		_, err = call(t, c, "t") // there is nothing newer than what is known
		wantOutputError(t, err, "new", `new: want`)
	})
}

// Once it has been taken account of, a change is no reason to read the list again.
func TestOutputAfterChangeIsSettled(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(withOutput(`{"required":["n"]}`)),
			"tools/call": mcptest.Result(structured(`{}`)),
		}), nil)
		wantTools(t, c, "t free")
		server.Notify("notifications/tools/list_changed", "")
		pass(time.Second)
		for range 3 {
			wantOutputError(t, assert.Err(call(t, c, "t")), "n", `n: want`)
			wantCount(t, server, "tools/list", 2)
		}
	})
}

// Many calls at one time share the compiled schema and the list.
func TestOutputConcurrent(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(withOutput(`{"required":["n"]}`)),
			"tools/call": func(c *mcptest.Call) { c.Result(structured(fmt.Sprintf(`{"%c":1}`, "mn"[c.Number%2]))) },
		}), nil)
		var unfit atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				var invalid *mcp.OutputError
				if err := assert.Err(c.CallTool(t.Context(), "t", nil, nil)); errors.As(err, &invalid) {
					unfit.Add(1)
				} else {
					assert.Is(t, err, nil)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, unfit.Load(), 10, "of 20 do not fit")
		wantCount(t, server, "tools/list", 1)
	})
}

// Large results are checked one after the other, and all of them.
func TestLargeOutput(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		rows := `{"n":[` + strings.Repeat(`{"id":1,"text":"`+strings.Repeat("x", 1<<10)+`"},`, 256) // more than 256 KiB
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(withOutput(`{"properties":{"n":{"items":{"properties":{"id":{"type":"integer"}}}}}}`)),
			"tools/call": func(c *mcptest.Call) {
				c.Result(structured(rows + `{"id":` + []string{"1", `"x"`}[c.Number%2] + `}]}`))
			},
		})), nil)
		var unfit atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := c.CallTool(t.Context(), "t", nil, nil); err != nil {
					unfit.Add(1)
					assert.Contains(t, err.Error(), "n[256].id: want an integer, got a string")
				}
			})
		}
		wg.Wait()
		assert.Equal(t, unfit.Load(), 2, "of 4 do not fit")
	})
}
