package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server is told of what there is a handler for, and of nothing else.
func TestDeclaredCapabilities(t *testing.T) {
	sample := func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, mcp.ErrRejected }
	for _, test := range []struct {
		name           string
		opts           mcp.ClientOptions
		legacy, modern string
	}{
		{"nothing", mcp.ClientOptions{SampleTools: true}, `{}`, `{}`},
		{"forms", mcp.ClientOptions{Elicit: annAnswers}, `{"elicitation":{"form":{}}}`, `{"elicitation":{"form":{}}}`},
		{"pages", mcp.ClientOptions{ElicitURL: agrees}, `{"elicitation":{"url":{}}}`, `{"elicitation":{"url":{}}}`},
		{"both", mcp.ClientOptions{Elicit: annAnswers, ElicitURL: agrees},
			`{"elicitation":{"form":{},"url":{}}}`, `{"elicitation":{"form":{},"url":{}}}`},
		{"a model", mcp.ClientOptions{Sample: sample}, `{"sampling":{}}`, `{"sampling":{}}`},
		{"a model with tools", mcp.ClientOptions{Sample: sample, SampleTools: true}, `{"sampling":{"tools":{}}}`, `{"sampling":{"tools":{}}}`},
		{"roots", mcp.ClientOptions{ListRoots: rootsAt()}, `{"roots":{"listChanged":true}}`, `{"roots":{}}`},
		{"tasks", mcp.ClientOptions{Tasks: true}, `{}`, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`},
		{"an extension", mcp.ClientOptions{Extensions: map[string]map[string]any{"a.example/x": nil, "a.example/y": {"k": 1}}},
			`{"extensions":{"a.example/x":{},"a.example/y":{"k":1}}}`, `{"extensions":{"a.example/x":{},"a.example/y":{"k":1}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, revision string, p plane) {
				server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("fine")})
				mustCall(t, newClient(t, p.to(server), &test.opts), "x")
				if revision < mcp.Revision20260728 {
					assert.Equal(t, memberOf(t, server.Received("initialize")[0].Params, "capabilities"), test.legacy)
					return
				}
				meta := memberOf(t, server.Received("tools/call")[0].Params, "_meta")
				assert.Equal(t, memberOf(t, json.RawMessage(meta), "io.modelcontextprotocol/clientCapabilities"), test.modern)
			})
		})
	}
}

// A negative limit of time is none, for a client and for one call.
func TestNoTimeLimit(t *testing.T) {
	for name, test := range map[string]struct {
		client mcp.ClientOptions
		call   *mcp.RequestOptions
	}{
		"client": {client: mcp.ClientOptions{ConnectTimeout: -1, IdleTimeout: -1, CallTimeout: -1}},
		"call":   {call: &mcp.RequestOptions{IdleTimeout: -1, CallTimeout: -1}},
	} {
		runInBubble(t, name, func(t *testing.T) {
			test.client.HealthInterval = -1 // else it costs half a million pings
			c := newClient(t, modern(t, mcptest.Script{"tools/call": slowly(365*24*time.Hour, text("done"))}), &test.client)
			assert.Equal(t, assert.Value(c.CallTool(t.Context(), "slow", nil, test.call))(t).Text(), "done")
		})
	}
}

// Without a limit of the connection's time a server that does not answer discover is
// initialized all the same.
func TestProbeWithoutConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, legacy(t, mcptest.Script{"server/discover": mcptest.Hang}), &mcp.ClientOptions{ConnectTimeout: -1})
		begin := time.Now()
		ready(t, c)
		assert.Equal(t, time.Since(begin), 10*time.Second, "a probe of")
	})
}

// A negative number of requests is no limit.
func TestNoRequestLimit(t *testing.T) {
	for name, test := range map[string]struct {
		opts          mcp.ClientOptions
		calls, flying int
	}{
		"in flight": {mcp.ClientOptions{Limits: mcp.Limits{MaxInFlight: -1}}, 70, 70},                 // 64 by default
		"queued":    {mcp.ClientOptions{Limits: mcp.Limits{MaxInFlight: 1, MaxQueued: -1}}, 1_030, 1}, // 1,024 by default
	} {
		runInBubble(t, name, func(t *testing.T) {
			release := make(chan struct{})
			server, c := withReady(t, legacy(t, mcptest.Script{"tools/call": held(release, text("done"))}), &test.opts)
			var wg sync.WaitGroup
			for range test.calls {
				wg.Go(func() { mustCall(t, c, "slow") })
			}
			synctest.Wait()
			wantCount(t, server, "tools/call", test.flying)
			close(release)
			wg.Wait()
		})
	}
}

// A negative number of tools is no limit.
func TestNoToolLimit(t *testing.T) {
	const pages, each = 2, 2_600
	c := newClient(t, featured(t, mcp.Revision20251125, mcptest.Script{"tools/list": func(c *mcptest.Call) {
		var tools []string
		for i := range each {
			tools = append(tools, fmt.Sprintf("t%d_%d", c.Number, i))
		}
		next := ""
		if c.Number < pages {
			next = fmt.Sprintf(`"%d"`, c.Number)
		}
		c.Result(page(next, tools...))
	}}), &mcp.ClientOptions{Limits: mcp.Limits{MaxTools: -1}})
	assert.Equal(t, len(assert.Value(c.Tools(t.Context()))(t)), pages*each, "tools")
}
