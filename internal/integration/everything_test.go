//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// everyTransport runs test with an entry for the everything server over each
// transport.
func everyTransport(t *testing.T, test func(t *testing.T, e entry)) {
	t.Run("stdio", func(t *testing.T) { test(t, stdio(t, "everything", "stdio")) })
	t.Run("http", func(t *testing.T) {
		test(t, entry{Type: "http", URL: listen(t, "streamableHttp").url()})
	})
	t.Run("sse", func(t *testing.T) {
		test(t, entry{Type: "sse", URL: listen(t, "sse").url()})
	})
	// Without a type, streamable HTTP is tried first. One server speaks it,
	// the other only the older transport.
	t.Run("auto to http", func(t *testing.T) {
		test(t, entry{URL: listen(t, "streamableHttp").url()})
	})
	t.Run("auto to sse", func(t *testing.T) {
		test(t, entry{URL: listen(t, "sse").url()})
	})
}

func TestTools(t *testing.T) {
	want := []string{
		"echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference",
		"get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource",
		"simulate-research-query", "toggle-simulated-logging", "toggle-subscriber-updates",
		"trigger-long-running-operation",
	}
	everyTransport(t, func(t *testing.T, e entry) {
		h := open(t, map[string]entry{"every": e}, nil)

		var got []string
		for _, tool := range h.Registry().Snapshot().Tools() {
			d := tool.Definition()
			if d.Origin.Server != "every" || d.Name != "every__"+d.Origin.Tool {
				t.Errorf("tool %q comes from %+v", d.Name, d.Origin)
			}
			if !json.Valid(d.InputSchema) {
				t.Errorf("tool %q: input schema %q", d.Name, d.InputSchema)
			}
			got = append(got, d.Origin.Tool)
		}
		if !slices.Equal(got, want) {
			t.Errorf("tools %q, want %q", got, want)
		}

		assert.Equal(t, text(call(t, h, "every__echo", `{"message":"häl\u0000lo \ud83d\ude00"}`)), "Echo: häl\x00lo \U0001f600", "echo")
		assert.Contains(t, text(call(t, h, "every__get-sum", `{"a":2,"b":40}`)), "42", "get-sum")

		res := call(t, h, "every__get-structured-content", `{"location":"Chicago"}`)
		raw, ok := res.StructuredContent.(json.RawMessage)
		var weather struct {
			Temperature *float64
			Conditions  string
			Humidity    *float64
		}
		if err := json.Unmarshal(raw, &weather); !ok || err != nil || weather.Temperature == nil || weather.Humidity == nil || weather.Conditions == "" {
			t.Errorf("structured content: %T %s: %v", res.StructuredContent, raw, err)
		}

		images := 0
		for _, c := range call(t, h, "every__get-tiny-image", `{}`).Content {
			if img, ok := c.(*mcp.ImageContent); ok {
				images++
				if img.MIMEType != "image/png" || !strings.HasPrefix(string(img.Data), "\x89PNG") {
					t.Errorf("image of type %s begins with %q", img.MIMEType, img.Data[:min(8, len(img.Data))])
				}
			}
		}
		assert.Equal(t, images, 1, "images")

		// This server reports wrong arguments as the tool's own failure.
		res, err := client(t, h, "every").CallTool(ctxFor(t), "get-sum", json.RawMessage(`{"a":"x"}`), nil)
		if err != nil || !res.IsError {
			t.Errorf("get-sum with wrong arguments: %+v, %v", res, err)
		}
	})
}

func TestProgress(t *testing.T) {
	everyTransport(t, func(t *testing.T, e entry) {
		h := open(t, map[string]entry{"every": e}, nil)
		var seen []float64
		opts := &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) { seen = append(seen, p.Progress) }}
		res, err := client(t, h, "every").CallTool(ctxFor(t), "trigger-long-running-operation", json.RawMessage(`{"duration":0.2,"steps":4}`), opts)
		if err != nil || res.IsError {
			t.Fatalf("%+v, %v", res, err)
		}
		// All of them, in order, and before the call returned: seen is not
		// guarded, so the race detector objects to a late one.
		if !slices.Equal(seen, []float64{1, 2, 3, 4}) {
			t.Errorf("progress %v", seen)
		}
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	everyTransport(t, func(t *testing.T, e entry) {
		h := open(t, map[string]entry{"every": e}, nil)
		const n = 100
		errs := make(chan error, n)
		var right atomic.Int32
		for i := range n {
			go func() {
				msg := strings.Repeat("x", i)
				res, err := h.Registry().Call(ctxFor(t), "every__echo", json.RawMessage(`{"message":"`+msg+`"}`))
				if err == nil && text(res) == "Echo: "+msg {
					right.Add(1)
				}
				errs <- err
			}()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if right.Load() != n {
			t.Errorf("%d of %d callers got their own answer", right.Load(), n)
		}
	})
}

func TestElicitation(t *testing.T) {
	everyTransport(t, func(t *testing.T, e entry) {
		var asked atomic.Int32
		h := open(t, map[string]entry{"every": e}, &host.Options{Client: mcp.ClientOptions{
			Elicit: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked.Add(1)
				assert.Equal(t, req.Server, "every", "asked by")
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
			},
		}})
		// The server offers the tool only to clients that can be asked.
		eventually(t, "the tool to be listed", func() bool {
			_, ok := h.Registry().Snapshot().Lookup("every__trigger-elicitation-request")
			return ok
		})
		assert.Contains(t, text(call(t, h, "every__trigger-elicitation-request", `{}`)), "Ada", "answer")
		assert.Equal(t, asked.Load(), 1, "asked times")
	})
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("MCPBELT_TEST_TOKEN", "must-not-leave")
	e := stdio(t, "everything", "stdio")
	e.Env = map[string]string{"GIVEN": "yes"}
	h := open(t, map[string]entry{"every": e}, nil)
	s := text(call(t, h, "every__get-env", `{}`))
	if strings.Contains(s, "must-not-leave") || !strings.Contains(s, `"GIVEN": "yes"`) {
		t.Errorf("environment of the server: %s", s)
	}
}
