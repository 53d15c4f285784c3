package mcp_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// All progress arrives in order and before the call returns.
func TestProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": func(c *mcptest.Call) {
				for i := range 100 {
					c.Progress(float64(i))
				}
				c.Notify("notifications/progress", `{"progressToken":"of nobody","progress":7}`)
				c.Notify("notifications/progress", `[]`)
				c.Result(`{}`)
			},
		})
		c := newClient(t, p.to(server), nil)
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
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": func(c *mcptest.Call) {
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
			},
		})
		c := newClient(t, p.to(server), nil)
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
		server := legacy(t, mcptest.Script{
			"tools/call": func(c *mcptest.Call) {
				c.Progress(1)
				time.Sleep(time.Minute)
				c.Result(`{}`)
			},
		})
		c := newClient(t, server, nil)
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
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": mcptest.Sequence(func(c *mcptest.Call) { c.Progress(1); c.Result(`{}`) }, text("next")),
		})
		c := newClient(t, p.to(server), &mcp.ClientOptions{MaxInFlight: 1})
		func() {
			defer func() {
				assert.Equal(t, recover(), "oops")
			}()
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { panic("oops") }})
			t.Errorf("returned %v", err)
		}()
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "next", "result")
		assert.OK(t, c.Shutdown(t.Context()))
	})
}
