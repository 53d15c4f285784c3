// Tests of call.go, pending.go and protocol.go: calls, their limits of time, and their progress.

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
		plain := strings.NewReplacer(`\u003c`, "<", `\u0026`, "&", `\u003e`, ">")
		assert.Equal(t, plain.Replace(string(res.StructuredContent.(json.RawMessage))), value, "structured content")
		params := server.Received("tools/call")[0].Params
		assert.Equal(t, [...]any{memberOf(t, params, "arguments"), memberOf(t, params, "name")}, [...]any{value, `"x \"y\""`})
	})
}

func TestCallToolMeta(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("")}), nil)
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Meta: mcp.Meta{
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
		wantOutcome(t, assert.Err(c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Meta: mcp.Meta{"own": func() {}}})), mcp.NotSent)
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
	size := int64(7)
	want := []mcp.Content{
		&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}}, Meta: mcp.Meta{"m": json.Number("2")}},
		&mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"},
		&mcp.AudioContent{Data: []byte{}, MIMEType: "audio/wav"},
		&mcp.ResourceLink{URI: "u", Name: "n", Title: "t", Description: "d", MIMEType: "m", Size: &size, Icons: []sdk.Icon{{Source: "https://a.example/i"}}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", MIMEType: "m", Text: "x", Meta: mcp.Meta{"m": json.Number("3")}}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Blob: []byte{1, 2}}},
		&mcp.TextContent{Text: `{"type":"hologram","depth":3}`},
	}
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Result(raw)})
		res := mustCall(t, newClient(t, p.to(server), nil), "x")
		assert.Equal(t, [...]any{res.IsError, len(res.Content), res.Meta["m"]}, [...]any{true, len(want), json.Number("1")})
		for i := range want {
			wantDeep(t, res.Content[i], want[i], "block %d", i)
		}
	})
}

func TestCallToolEmptyResult(t *testing.T) {
	for _, raw := range []string{`{}`, `{"content":null,"structuredContent":null,"isError":null}`, `{"resultType":"complete"}`, `{"_meta":7}`} {
		res := mustCall(t, newClient(t, legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)}), nil), "x")
		assert.Equal(t, [...]any{res.Content == nil, len(res.Content), res.StructuredContent == nil, res.IsError}, [...]any{false, 0, true, false})
	}
}

func TestCallToolInvalidResult(t *testing.T) {
	for raw, path := range map[string]string{
		`7`: "result", `null`: "result", `{"content":7}`: "content", `{"isError":"yes"}`: "isError",
		`{"resultType":"tasks"}`: "resultType", `{"resultType":7}`: "resultType",
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
	for _, raw := range []string{``, `{"content":[}`, `{"a":1,"a":2}`, `{} {}`} {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)})
		wantInvalid(t, assert.Err(call(t, newClient(t, server, nil), "x")), "", "result", "%q", raw)
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
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withReady(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for c.Context().Err() == nil {
				pause(time.Second)
				c.Progress(1)
			}
		}}), &mcp.ClientOptions{IdleTimeout: 2 * time.Second, CallTimeout: time.Minute})
		for _, test := range []struct {
			opts *mcp.RequestOptions
			want mcp.TimeoutError
		}{
			{nil, mcp.TimeoutError{Limit: "total", After: time.Minute}},
			{&mcp.RequestOptions{CallTimeout: 30 * time.Second}, mcp.TimeoutError{Limit: "total", After: 30 * time.Second}},
			{&mcp.RequestOptions{IdleTimeout: 900 * time.Millisecond}, mcp.TimeoutError{Limit: "idle", After: 900 * time.Millisecond}},
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
}

// Progress gives a call more time, but only so much.
func TestIdleAfterProgress(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		c := newReady(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			pause(time.Second)
			c.Progress(1)
			mcptest.Hang(c)
		}})), &mcp.ClientOptions{IdleTimeout: 2 * time.Second})
		start := time.Now()
		_, err := call(t, c, "x")
		assert.Equal(t, [...]any{assert.As[*mcp.TimeoutError](t, err).Limit, time.Since(start)}, [...]any{"idle", 3 * time.Second})
	})
}

func TestMaxInFlight(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Hang}),
			&mcp.ClientOptions{IdleTimeout: time.Minute, Limits: mcp.Limits{MaxInFlight: 2}})
		for range 5 {
			go func() { _, _ = call(t, c, "x") }()
		}
		synctest.Wait()
		wantCount(t, server, "tools/call", 2)
		wantOutcome(t, assert.Err(c.CallTool(within(t, time.Second), "x", nil, nil)), mcp.NotSent)
		wantCount(t, server, "tools/call", 2)
		pass(time.Minute - time.Second)
		wantCount(t, server, "tools/call", 4)
		_ = c.Close()
	})
}

// All progress arrives in order and before the call returns.
func TestProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		var got, want []float64
		for i := range 100 {
			want = append(want, float64(i))
		}
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for _, n := range want {
				c.Progress(n)
			}
			c.Notify("notifications/progress", `{"progressToken":"of nobody","progress":7}`)
			c.Notify("notifications/progress", `[]`)
			c.Result(`{}`)
		}})), nil)
		assert.Value(c.CallTool(t.Context(), "x", nil, progressInto(&got)))(t)
		assert.List(t, got, want)
	})
}

// Of two calls at one time each gets its own.
func TestProgressOfEach(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		var meet, calls sync.WaitGroup
		meet.Add(2)
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			meet.Done()
			meet.Wait()
			c.Progress(map[string]float64{`"one"`: 1, `"two"`: 2}[memberOf(t, c.Params, "name")])
			c.Result(`{}`)
		}})), nil)
		for want, tool := range map[float64]string{1: "one", 2: "two"} {
			calls.Go(func() {
				var got []float64
				assert.Is(t, assert.Err(c.CallTool(t.Context(), tool, nil, progressInto(&got))), nil, "%s", tool)
				assert.List(t, got, []float64{want}, "%s", tool)
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
			pause(time.Minute)
			c.Result(`{}`)
		}}), nil)
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{
			IdleTimeout: time.Second,
			Progress:    func(*mcp.ProgressParams) { pause(2 * time.Minute) },
		})
		assert.OK(t, err)
	})
}

// A callback that panics does so in its caller, and leaves the client sound.
func TestProgressPanics(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": mcptest.Sequence(func(c *mcptest.Call) { c.Progress(1); c.Result(`{}`) }, text("next")),
		})), &mcp.ClientOptions{Limits: mcp.Limits{MaxInFlight: 1}})
		func() {
			defer func() { assert.Equal(t, recover(), "oops") }()
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Progress: func(*mcp.ProgressParams) { panic("oops") }})
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
	var told []float64
	assert.Value(newClient(t, server, nil).CallTool(t.Context(), "x", nil, progressInto(&told)))(t)
	assert.List(t, told, []float64{1})

	// The handler of a bare client returns after the call.
	returned := make(chan struct{})
	s := bare(t, server, &sdk.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { <-returned },
	})
	params := &sdk.CallToolParams{Name: "x"}
	params.SetProgressToken("x")
	_, err := s.CallTool(within(t, patience), params)
	close(returned)
	if err != nil {
		mended(t, "internal/inflight/table.go")
	}
}
