package mcp_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A negative limit of time is none, for a client and for one call.
func TestNoTimeLimit(t *testing.T) {
	for name, test := range map[string]struct {
		client mcp.ClientOptions
		call   *mcp.CallToolOptions
	}{
		"client": {client: mcp.ClientOptions{ConnectTimeout: -1, ProbeTimeout: -1, IdleTimeout: -1, CallTimeout: -1, CloseTimeout: -1}},
		"call":   {call: &mcp.CallToolOptions{IdleTimeout: -1, CallTimeout: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := modern(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
					time.Sleep(365 * 24 * time.Hour)
					text("done")(c)
				}})
				c := newClient(t, server, &test.client)
				res := assert.Value(c.CallTool(t.Context(), "slow", nil, test.call))(t)
				assert.Equal(t, textOf(t, res), "done")
			})
		})
	}
}

// Without a limit of the connection's time a server that does not answer discover is
// initialized all the same.
func TestProbeWithoutConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"server/discover": mcptest.Hang})
		c := newClient(t, server, &mcp.ClientOptions{ConnectTimeout: -1})
		begin := time.Now()
		ready(t, c)
		assert.Equal(t, time.Since(begin), 10*time.Second, "a probe of")
	})
}

// A negative number of requests is no limit.
func TestNoRequestLimit(t *testing.T) {
	for name, opts := range map[string]mcp.ClientOptions{
		"in flight": {MaxInFlight: -1},
		"queued":    {MaxInFlight: 1, MaxQueued: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const calls = 2_000
				release := make(chan struct{})
				server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
					<-release
					text("done")(c)
				}})
				c := newClient(t, server, &opts)
				ready(t, c)
				var wg sync.WaitGroup
				for range calls {
					wg.Go(func() {
						assert.Is(t, errOf(call(t, c, "slow")), nil)
					})
				}
				synctest.Wait()
				want := calls
				if opts.MaxInFlight == 1 {
					want = 1
				}
				wantCount(t, server, "tools/call", want)
				close(release)
				wg.Wait()
			})
		})
	}
}

// Negative numbers of tools, pages and bytes are no limits.
func TestNoListLimit(t *testing.T) {
	const pages, each = 1_100, 5
	page := 0
	server := featured(t, mcp.Revision20251125, mcptest.Script{"tools/list": func(c *mcptest.Call) {
		var tools []string
		for i := range each {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d_%d","inputSchema":{"type":"object"}}`, page, i))
		}
		next := ""
		if page++; page < pages {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, page)
		}
		mcptest.Result(`{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`)(c)
	}})
	c := newClient(t, server, &mcp.ClientOptions{MaxTools: -1, MaxPages: -1, MaxCatalog: -1})
	tools := assert.Value(c.Tools(t.Context()))(t)
	assert.Equal(t, len(tools), pages*each, "tools")
}
