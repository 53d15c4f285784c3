// Tests of supervise.go and request.go: everything at once.

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// TestStress uses a client in every way at once while its server dies again and
// again. Whatever an error says about a call must be true of the server.
func TestStress(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		var ran sync.Map // name of a call to *atomic.Int32, how often it ran
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(toolPages),
			"tools/call": func(c *mcptest.Call) {
				var params struct{ Arguments struct{ ID string } }
				assert.Is(t, json.Unmarshal(c.Params, &params), nil)
				n, _ := ran.LoadOrStore(params.Arguments.ID, &atomic.Int32{})
				n.(*atomic.Int32).Add(1)
				switch rand.N(30) {
				case 0:
					c.Disconnect()
				case 1:
					c.Notify("notifications/tools/list_changed", "")
				case 2:
					c.Progress(1)
				case 3:
					pause(rand.N(time.Second))
				case 4:
					return
				}
				c.Result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, params.Arguments.ID))
			},
		})
		c := mcp.NewClient("scripted", p.to(server), &mcp.ClientOptions{IdleTimeout: 2 * time.Second, Limits: mcp.Limits{MaxInFlight: 8}})
		watching, stop := context.WithCancel(t.Context())
		var users sync.WaitGroup
		for range 2 {
			go func() {
				for range c.Watch(watching) {
				}
			}()
		}
		for user := range assert.Cases(6, 16) {
			users.Go(func() {
				for i := range assert.Cases(15, 30) {
					ctx := within(t, rand.N(10*time.Second))
					switch rand.N(20) {
					case 0:
						_, _ = c.Tools(ctx)
					case 1:
						_ = c.Ping(ctx)
					case 2:
						_ = c.Reconnect(ctx)
					default:
						stressCall(ctx, t, c, &ran, fmt.Sprintf("%d-%d", user, i))
					}
				}
			})
		}
		users.Go(func() {
			for range 20 {
				pause(rand.N(5 * time.Second))
				server.Disconnect()
			}
		})
		users.Wait()
		assert.OK(t, c.Shutdown(t.Context()))
		stop()
		synctest.Wait()
	})
}

func stressCall(ctx context.Context, t *testing.T, c *mcp.Client, ran *sync.Map, id string) {
	res, err := c.CallTool(ctx, "plain", json.RawMessage(fmt.Sprintf(`{"ID":%q}`, id)), nil)
	times := int32(0)
	if n, ok := ran.Load(id); ok {
		times = n.(*atomic.Int32).Load()
	}
	switch {
	case err == nil && (times != 1 || textOf(t, res) != id):
		t.Errorf("call %s ran %d times and returned %v", id, times, res.Content)
	case mcp.SafeToRetry(err) && times != 0:
		t.Errorf("call %s ran %d times and returned %v", id, times, err)
	case times > 1:
		t.Errorf("call %s ran %d times", id, times)
	}
}

// TestCloseRaces closes clients at any moment.
func TestCloseRaces(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Result(toolPages), "tools/call": text("done"),
		})
		for range assert.Cases(10, 50) {
			c := mcp.NewClient("scripted", p.to(server), nil)
			var users sync.WaitGroup
			users.Go(func() { _ = c.Ready(t.Context()) })
			users.Go(func() { _, _ = c.CallTool(t.Context(), "x", nil, nil) })
			users.Go(func() { _, _ = c.Tools(t.Context()) })
			users.Go(func() { _ = c.Reconnect(t.Context()) })
			users.Go(func() {
				for range c.Watch(t.Context()) {
				}
			})
			users.Go(server.Disconnect)
			users.Go(func() { _ = c.Close() })
			users.Go(func() { _ = c.Shutdown(t.Context()) })
			users.Wait()
			wantClosed(t, c)
		}
	})
}
