// Tests of call.go and flight.go: calls, their limits of time, and their progress.

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What goes through must not change: not the size of a number, not the order of
// keys, not the way a string is written.
func TestCallToolByteForByte(t *testing.T) {
	const value = `{"z":9007199254740993,"a":[1.0,1e400,-0],"s":"é<&>"}`
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": mcptest.Result(`{"content":[],"structuredContent":` + value + `}`),
		}), nil)
		res := assert.Value(c.CallTool(t.Context(), "x \"y\"", json.RawMessage(value), nil))(t)
		// The server's end of a pipe writes such characters in another way.
		plain := strings.NewReplacer("<", `\u003c`, "&", `\u0026`, ">", `\u003e`)
		same := func(got json.RawMessage) bool {
			return string(got) == value || p.name == "own" && string(got) == plain.Replace(value)
		}
		if raw, ok := res.StructuredContent.(json.RawMessage); !ok || !same(raw) {
			t.Errorf("structured content %T %s", res.StructuredContent, raw)
		}
		var params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		assert.OK(t, json.Unmarshal(server.Received("tools/call")[0].Params, &params))
		assert.Equal(t, [...]any{string(params.Arguments), params.Name}, [...]any{value, `x "y"`})
	})
}

func TestCallToolMeta(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("")}), nil)
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Meta: mcp.Meta{
			"own": map[string]int{"a": 1}, "progressToken": "mine", "io.modelcontextprotocol/protocolVersion": "1",
		}})
		assert.OK(t, err)
		params := string(server.Received("tools/call")[0].Params)
		assert.Contains(t, params, `"own":{"a":1}`)
		assert.Lacks(t, params, "mine")
		assert.Equal(t, strings.Count(params, "progressToken"), 1, "progressToken")
		version := fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q`, revision)
		if revision != mcp.Revision20260728 {
			version = `"io.modelcontextprotocol/protocolVersion":"1"` // nothing that this revision knows
		}
		assert.Contains(t, params, version)
		assert.Equal(t, strings.Count(params, "protocolVersion"), 1, "protocolVersion")
		_, err = c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Meta: mcp.Meta{"own": func() {}}})
		wantOutcome(t, err, mcp.NotSent)
	})
}

func TestCallToolContent(t *testing.T) {
	const raw = `{"isError":true,"_meta":{"m":1},"content":[
		{"type":"text","text":"a","annotations":{"audience":["user"]},"_meta":{"m":2}},
		{"type":"image","data":"AQI=","mimeType":"image/png"},
		{"type":"audio","data":"","mimeType":"audio/wav"},
		{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":7,"icons":[{"src":"https://a.example/i"}]},
		{"type":"resource","resource":{"uri":"u","mimeType":"m","text":"x","_meta":{"m":3}}},
		{"type":"resource","resource":{"uri":"u","blob":"AQI="}},
		{"type":"hologram","depth":3}]}`
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Result(raw)})
		res := mustCall(t, newClient(t, p.to(server), nil), "x")
		assert.Equal(t, [...]any{res.IsError, len(res.Content), res.Meta["m"]}, [...]any{true, 7, json.Number("1")})
		b := res.Content[0].(*mcp.TextContent)
		assert.Equal(t, [...]any{b.Text, b.Meta["m"], len(b.Annotations.Audience)}, [...]any{"a", json.Number("2"), 1})
		if b := res.Content[1].(*mcp.ImageContent); string(b.Data) != "\x01\x02" || b.MIMEType != "image/png" {
			t.Errorf("image %+v", b)
		}
		if b := res.Content[2].(*mcp.AudioContent); len(b.Data) != 0 || b.MIMEType != "audio/wav" {
			t.Errorf("audio %+v", b)
		}
		if b := res.Content[3].(*mcp.ResourceLink); b.URI != "u" || b.Name != "n" || b.Title != "t" || b.Description != "d" ||
			b.MIMEType != "m" || *b.Size != 7 || len(b.Icons) != 1 {
			t.Errorf("link %+v", b)
		}
		if b := res.Content[4].(*mcp.EmbeddedResource).Resource; b.URI != "u" || b.MIMEType != "m" || b.Text != "x" || b.Meta["m"] != json.Number("3") {
			t.Errorf("resource %+v", b)
		}
		assert.Equal(t, string(res.Content[5].(*mcp.EmbeddedResource).Resource.Blob), "\x01\x02", "blob")
		assert.Equal(t, res.Content[6].(*mcp.TextContent).Text, `{"type":"hologram","depth":3}`, "text")
	})
}

func TestCallToolEmptyResult(t *testing.T) {
	for _, raw := range []string{`{}`, `{"content":null,"structuredContent":null,"isError":null}`, `{"resultType":"complete"}`, `{"CONTENT":7}`} {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)})
		res := mustCall(t, newClient(t, server, nil), "x")
		assert.Equal(t, [...]any{res.Content == nil, len(res.Content), res.StructuredContent == nil, res.IsError}, [...]any{false, 0, true, false})
	}
}

func TestCallToolInvalidResult(t *testing.T) {
	for raw, path := range map[string]string{
		`7`:                      "result",
		`null`:                   "result",
		`{"content":7}`:          "content",
		`{"isError":"yes"}`:      "isError",
		`{"_meta":7}`:            "_meta",
		`{"resultType":"tasks"}`: "resultType",
		`{"resultType":7}`:       "resultType",
		`{"resultType":"complete","inputRequests":7}`:         "inputRequests",
		`{"content":[{"type":"text","text":1}],"is_error":1}`: "is_error",
	} {
		everywhere(t, func(t *testing.T, revision string, p plane) {
			c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Result(raw)})), nil)
			_, err := call(t, c, "x")
			wantInvalid(t, err, "tools/call", path, "%s", raw)
			wantOutcome(t, err, mcp.Answered)
			assert.Equal(t, wantPhase(t, c, mcp.Ready).Connections, 1, "connections")
		})
	}
}

// Bytes that a connection without a data plane lets pass are looked at here.
func TestCallToolUncheckedResult(t *testing.T) {
	for _, raw := range []string{``, `{"content":[}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{} {}`} {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)})
		wantInvalid(t, errOf(call(t, newClient(t, server, nil), "x")), "", "result", "%q", raw)
	}
}

func TestCallToolRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Error(-32602, "no such tool")})
		_, err := call(t, newClient(t, p.to(server), nil), "x")
		refused := assert.As[*mcp.ServerError](t, err)
		assert.Equal(t, [...]any{refused.Err.Code, refused.Err.Message, refused.Server}, [...]any{int64(-32602), "no such tool", "scripted"})
		wantOutcome(t, err, mcp.Answered)
	})
}

func TestCallToolArguments(t *testing.T) {
	server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": text("")}), nil)
	for _, args := range []string{`7`, `[]`, `null`, `{`, `{"a":1,"a":1}`, `{}{}`, "{\"a\":\"\xff\"}"} {
		_, err := c.CallTool(t.Context(), "x", json.RawMessage(args), nil)
		wantOutcome(t, err, mcp.NotSent)
		assert.Contains(t, err.Error(), "arguments", "%s", args)
		assert.Contains(t, err.Error(), "scripted", "%s", args)
	}
	assert.Equal(t, server.Connections(), 0, "it connected for nothing")
	assert.Value(c.CallTool(t.Context(), "x", nil, nil))(t)
	assert.Contains(t, string(server.Received("tools/call")[0].Params), `"arguments":{}`, "params")
}

// A cancelled call returns at once, the server is told, and what it answers all
// the same disturbs nobody.
func TestCancellation(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		late := func(c *mcptest.Call) {
			<-c.Context().Done()
			c.Progress(1)
			c.Result(`{"content":[{"type":"text","text":"late"}]}`)
		}
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": mcptest.Sequence(late, text("next")),
		}), nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			server.Await("tools/call", 1)
			cancel()
		}()
		start := time.Now()
		_, err := c.CallTool(ctx, "x", nil, nil)
		assert.Is(t, err, context.Canceled)
		wantOutcome(t, err, mcp.Unknown)
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "next", "result")
		synctest.Wait()
		wantCount(t, server, "notifications/cancelled", 1)
		assert.Equal(t, [...]any{c.State().Connections, time.Since(start)}, [...]any{1, time.Duration(0)})
	})
}

func TestTimeouts(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/call": func(c *mcptest.Call) {
					for c.Context().Err() == nil {
						time.Sleep(time.Second)
						c.Progress(1)
					}
				},
			}), &mcp.ClientOptions{IdleTimeout: 2 * time.Second, CallTimeout: time.Minute})
			ready(t, c)
			for _, test := range []struct {
				opts *mcp.CallToolOptions
				want mcp.TimeoutError
			}{
				{nil, mcp.TimeoutError{Limit: "total", After: time.Minute}},
				{&mcp.CallToolOptions{CallTimeout: 30 * time.Second}, mcp.TimeoutError{Limit: "total", After: 30 * time.Second}},
				{&mcp.CallToolOptions{IdleTimeout: 900 * time.Millisecond}, mcp.TimeoutError{Limit: "idle", After: 900 * time.Millisecond}},
			} {
				start := time.Now()
				_, err := c.CallTool(t.Context(), "x", nil, test.opts)
				timeout := assert.As[*mcp.TimeoutError](t, err)
				assert.Is(t, err, context.DeadlineExceeded)
				assert.Equal(t, *timeout, test.want, "timeout")
				wantOutcome(t, err, mcp.Unknown)
				assert.Equal(t, time.Since(start), test.want.After, "it took")
				synctest.Wait()
			}
			wantCount(t, server, "notifications/cancelled", 3)
			wantPhase(t, c, mcp.Ready)
		})
	})
}

// Progress gives a call more time, but only so much.
func TestIdleAfterProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
				time.Sleep(time.Second)
				c.Progress(1)
				mcptest.Hang(c)
			}})), &mcp.ClientOptions{IdleTimeout: 2 * time.Second})
			ready(t, c)
			start := time.Now()
			_, err := call(t, c, "x")
			timeout := assert.As[*mcp.TimeoutError](t, err)
			assert.Equal(t, [...]any{timeout.Limit, time.Since(start)}, [...]any{"idle", 3 * time.Second})
		})
	})
}

func TestMaxInFlight(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Hang})
		c := newClient(t, p.to(server), &mcp.ClientOptions{MaxInFlight: 2})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 5 {
			go func() { _, _ = c.CallTool(ctx, "x", nil, &mcp.CallToolOptions{IdleTimeout: time.Minute}) }()
		}
		synctest.Wait()
		wantCount(t, server, "tools/call", 2)
		early := within(t, time.Second)
		wantOutcome(t, errOf(c.CallTool(early, "x", nil, nil)), mcp.NotSent)
		wantCount(t, server, "tools/call", 2)
		pass(time.Minute - time.Second)
		wantCount(t, server, "tools/call", 4)
		cancel()
	})
}

// All progress arrives in order and before the call returns.
func TestProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for i := range 100 {
				c.Progress(float64(i))
			}
			c.Notify("notifications/progress", `{"progressToken":"of nobody","progress":7}`)
			c.Notify("notifications/progress", `[]`)
			c.Result(`{}`)
		}})), nil)
		var got, want []float64
		for i := range 100 {
			want = append(want, float64(i))
		}
		assert.Value(c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{
			Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) },
		}))(t)
		wantList(t, got, want)
	})
}

// Of two calls at one time each gets its own.
func TestProgressOfEach(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		meet := make(chan struct{})
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			select {
			case meet <- struct{}{}:
			case <-meet:
			}
			if strings.Contains(string(c.Params), `"name":"one"`) {
				c.Progress(1)
			} else {
				c.Progress(2)
			}
			c.Result(`{}`)
		}})), nil)
		var calls sync.WaitGroup
		for want, tool := range map[float64]string{1: "one", 2: "two"} {
			calls.Go(func() {
				var got []float64
				_, err := c.CallTool(t.Context(), tool, nil, &mcp.CallToolOptions{
					Progress: func(p *mcp.ProgressParams) { got = append(got, p.Progress) },
				})
				assert.Is(t, err, nil, "%s", tool)
				wantList(t, got, []float64{want}, "%s", tool)
			})
		}
		calls.Wait()
	})
}

// The time that the caller spends on progress is not the server's.
func TestSlowProgressCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			c.Progress(1)
			time.Sleep(time.Minute)
			c.Result(`{}`)
		}}), nil)
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{
			IdleTimeout: time.Second,
			Progress:    func(*mcp.ProgressParams) { time.Sleep(2 * time.Minute) },
		})
		assert.OK(t, err)
	})
}

// A callback that panics does so in its caller, and leaves the client sound.
func TestProgressPanics(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": mcptest.Sequence(func(c *mcptest.Call) { c.Progress(1); c.Result(`{}`) }, text("next")),
		})), &mcp.ClientOptions{MaxInFlight: 1})
		func() {
			defer func() { assert.Equal(t, recover(), "oops") }()
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { panic("oops") }})
			t.Errorf("returned %v", err)
		}()
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "next", "result")
		assert.OK(t, c.Shutdown(t.Context()))
	})
}

// A call returns when its progress has been told, not before.
func TestProgressIsTold(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Progress(1)
		c.Result(`{"content":[]}`)
	}})
	told := false
	_, err := newClient(t, server, nil).CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { told = true }})
	assert.OK(t, err, "error %v, told", err)
	assert.Equal(t, told, true, "error %v, told: told", err)

	// The handler of a bare client returns after the call.
	ctx := within(t, patience)
	returned := make(chan struct{})
	s := bare(t, server, &sdk.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { <-returned },
	})
	params := &sdk.CallToolParams{Name: "x"}
	params.SetProgressToken("x")
	_, err = s.CallTool(ctx, params)
	close(returned)
	if err != nil {
		mended(t, "internal/inflight/table.go")
	}
}
