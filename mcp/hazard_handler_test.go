package mcp_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// While the user thinks about an answer, the server is heard: it announces other
// tools and asks whether the client is there. (A server of revision 2026-07-28
// asks in its answer to the call, and waits for nothing.)
func TestServerIsHeardWhileTheUserThinks(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			asked, answer := make(chan struct{}), make(chan struct{})
			server := legacy(t, mcptest.Script{
				"tools/call": asking(question),
				"tools/list": func(c *mcptest.Call) {
					assert.Is(t, errOf(c.Ask("ping", `{}`)), nil, "ping")
					c.Result(`{"tools":[]}`)
				},
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{
				Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					close(asked)
					<-answer
					return accept(map[string]any{"name": "Ann"}), nil
				},
			})
			ready(t, c)
			called := inBackground(func() error { return errOf(call(t, c, "x")) })
			<-asked
			before := c.State().ToolsVersion
			server.Notify("notifications/tools/list_changed", `{}`)
			synctest.Wait()
			if c.State().ToolsVersion == before {
				t.Error("the change is not heard")
			}
			assert.OK(t, errOf(c.Tools(t.Context())))
			close(answer)
			assert.OK(t, <-called)
		})
	})
}

// A server that announces other tools without end costs no more than one change
// every quarter of a second, and the last announcement counts.
func TestAnnouncementsAreGathered(t *testing.T) {
	const every, storm = 250 * time.Millisecond, 2 * time.Second
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := legacy(t, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[]}`)})
			c := newClient(t, p.to(server), nil)
			ready(t, c)
			before := c.State().ToolsVersion
			for end := time.Now().Add(storm); time.Now().Before(end); time.Sleep(time.Millisecond) {
				server.Notify("notifications/tools/list_changed", `{}`)
			}
			synctest.Wait()
			if n := c.State().ToolsVersion - before; n < 2 || n > uint64(storm/every)+1 {
				t.Errorf("%d changes in %v", n, storm)
			}
			pass(every)
			assert.Value(c.Tools(t.Context()))(t)
			before = c.State().ToolsVersion
			server.Notify("notifications/tools/list_changed", `{}`)
			pass(every)
			if c.State().ToolsVersion == before {
				t.Error("the last announcement is lost")
			}
			assert.Value(c.Tools(t.Context()))(t)
			wantCount(t, server, "tools/list", 2)
		})
	})
}
