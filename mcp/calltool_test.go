package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What goes through must not change: not the size of a number, not the order of
// keys, not the way a string is written.
func TestCallToolByteForByte(t *testing.T) {
	const value = `{"z":9007199254740993,"a":[1.0,1e400,-0],"s":"é<&>"}`
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": mcptest.Result(`{"content":[],"structuredContent":` + value + `}`),
		})
		c := newClient(t, p.to(server), nil)
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
		if string(params.Arguments) != value || params.Name != `x "y"` {
			t.Errorf("arguments %s of %s", params.Arguments, params.Name)
		}
	})
}

func TestCallToolMeta(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("")})
		c := newClient(t, p.to(server), nil)
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Meta: mcp.Meta{
			"own": map[string]int{"a": 1}, "progressToken": "mine", "io.modelcontextprotocol/protocolVersion": "1",
		}})
		assert.OK(t, err)
		params := string(server.Received("tools/call")[0].Params)
		if !strings.Contains(params, `"own":{"a":1}`) || strings.Contains(params, "mine") || strings.Count(params, "progressToken") != 1 {
			t.Errorf("params %s", params)
		}
		version := fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q`, revision)
		if revision != mcp.Revision20260728 {
			version = `"io.modelcontextprotocol/protocolVersion":"1"` // nothing that this revision knows
		}
		if !strings.Contains(params, version) || strings.Count(params, "protocolVersion") != 1 {
			t.Errorf("params %s, want %s once", params, version)
		}
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
		if !res.IsError || len(res.Content) != 7 || res.Meta["m"] != json.Number("1") {
			t.Fatalf("result %+v", res)
		}
		if b := res.Content[0].(*mcp.TextContent); b.Text != "a" || b.Meta["m"] != json.Number("2") || len(b.Annotations.Audience) != 1 {
			t.Errorf("text %+v", b)
		}
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
		if b := res.Content[5].(*mcp.EmbeddedResource).Resource; string(b.Blob) != "\x01\x02" {
			t.Errorf("resource %+v", b)
		}
		if b := res.Content[6].(*mcp.TextContent); b.Text != `{"type":"hologram","depth":3}` {
			t.Errorf("unknown kind %q", b.Text)
		}
	})
}

func TestCallToolEmptyResult(t *testing.T) {
	for _, raw := range []string{`{}`, `{"content":null,"structuredContent":null,"isError":null}`, `{"resultType":"complete"}`, `{"CONTENT":7}`} {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)})
		res := mustCall(t, newClient(t, server, nil), "x")
		if res.Content == nil || len(res.Content) != 0 || res.StructuredContent != nil || res.IsError {
			t.Errorf("%s became %+v", raw, res)
		}
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
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Result(raw)})
			c := newClient(t, p.to(server), nil)
			_, err := call(t, c, "x")
			var invalid *mcp.ProtocolError
			if !errors.As(err, &invalid) || invalid.Path != path || invalid.Server != "scripted" || invalid.Method != "tools/call" {
				t.Errorf("%s: error %v, want one at %s", raw, err, path)
			}
			wantOutcome(t, err, mcp.Answered)
			if s := wantPhase(t, c, mcp.Ready); s.Connections != 1 {
				t.Errorf("%d connections", s.Connections)
			}
		})
	}
}

// Bytes that a connection without a data plane lets pass are looked at here.
func TestCallToolUncheckedResult(t *testing.T) {
	for _, raw := range []string{``, `{"content":[}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{} {}`} {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)})
		_, err := call(t, newClient(t, server, nil), "x")
		var invalid *mcp.ProtocolError
		if !errors.As(err, &invalid) || invalid.Path != "result" {
			t.Errorf("%q: error %v", raw, err)
		}
	}
}

func TestCallToolRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Error(-32602, "no such tool")})
		_, err := call(t, newClient(t, p.to(server), nil), "x")
		var refused *mcp.ServerError
		if !errors.As(err, &refused) || refused.Err.Code != -32602 || refused.Err.Message != "no such tool" || refused.Server != "scripted" {
			t.Errorf("error %v", err)
		}
		wantOutcome(t, err, mcp.Answered)
	})
}

func TestCallToolArguments(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": text("")})
	c := newClient(t, server, nil)
	for _, args := range []string{`7`, `[]`, `null`, `{`, `{"a":1,"a":1}`, `{}{}`, "{\"a\":\"\xff\"}"} {
		_, err := c.CallTool(t.Context(), "x", json.RawMessage(args), nil)
		wantOutcome(t, err, mcp.NotSent)
		if !strings.Contains(err.Error(), "arguments") || !strings.Contains(err.Error(), "scripted") {
			t.Errorf("%s: error %v", args, err)
		}
	}
	if server.Connections() != 0 {
		t.Error("it connected for nothing")
	}
	assert.Value(c.CallTool(t.Context(), "x", nil, nil))(t)
	assert.Contains(t, string(server.Received("tools/call")[0].Params), `"arguments":{}`, "params")
}

// A cancelled call returns at once, the server is told, and what it answers all
// the same disturbs nobody.
func TestCancellation(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			late := func(c *mcptest.Call) {
				<-c.Context().Done()
				c.Progress(1)
				c.Result(`{"content":[{"type":"text","text":"late"}]}`)
			}
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/call": mcptest.Sequence(late, text("next")),
			})
			c := newClient(t, p.to(server), nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				server.Await("tools/call", 1)
				cancel()
			}()
			start := time.Now()
			_, err := c.CallTool(ctx, "x", nil, nil)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			wantOutcome(t, err, mcp.Unknown)
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "next", "result")
			synctest.Wait()
			wantCount(t, server, "notifications/cancelled", 1)
			if s := c.State(); s.Connections != 1 || !time.Now().Equal(start) {
				t.Errorf("%d connections after %v", s.Connections, time.Since(start))
			}
		})
	})
}

func TestTimeouts(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/call": func(c *mcptest.Call) {
					for c.Context().Err() == nil {
						time.Sleep(time.Second)
						c.Progress(1)
					}
				},
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{IdleTimeout: 2 * time.Second, CallTimeout: time.Minute})
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
				var timeout *mcp.TimeoutError
				if !errors.As(err, &timeout) || *timeout != test.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want %v", err, &test.want)
				}
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
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/call": func(c *mcptest.Call) {
					time.Sleep(time.Second)
					c.Progress(1)
					mcptest.Hang(c)
				},
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{IdleTimeout: 2 * time.Second})
			ready(t, c)
			start := time.Now()
			_, err := call(t, c, "x")
			var timeout *mcp.TimeoutError
			if !errors.As(err, &timeout) || timeout.Limit != "idle" || time.Since(start) != 3*time.Second {
				t.Errorf("after %v: error %v", time.Since(start), err)
			}
		})
	})
}

func TestMaxInFlight(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Hang})
			c := newClient(t, p.to(server), &mcp.ClientOptions{MaxInFlight: 2})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 5 {
				go func() { _, _ = c.CallTool(ctx, "x", nil, &mcp.CallToolOptions{IdleTimeout: time.Minute}) }()
			}
			synctest.Wait()
			wantCount(t, server, "tools/call", 2)
			early, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err := c.CallTool(early, "x", nil, nil)
			wantOutcome(t, err, mcp.NotSent)
			wantCount(t, server, "tools/call", 2)
			time.Sleep(time.Minute - time.Second)
			synctest.Wait()
			wantCount(t, server, "tools/call", 4)
			cancel()
		})
	})
}
