//go:build integration && unix

package integration

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// noticeFeatures are what a server tells without being asked.
func noticeFeatures() []feature {
	return []feature{
		{name: "log messages", on: servers{
			"sdk": func(t *testing.T, p *peer) {
				p.tool(t, "test_tool_with_logging", `{}`, nil)
				eventually(t, "the messages", func() bool {
					return p.user.logged("execution started") && p.user.logged("execution completed")
				})
			},
			"npm": func(t *testing.T, p *peer) {
				p.tool(t, "toggle-simulated-logging", `{}`, nil) // one at once, of any level
				eventually(t, "a message", func() bool { return p.user.logged("-level message") || p.user.logged("level-message") })
				p.tool(t, "toggle-simulated-logging", `{}`, nil)
			},
			"own": func(t *testing.T, p *peer) {
				p.tool(t, "append", `{"text":"to be logged"}`, nil)
				eventually(t, "the message", func() bool { return p.user.logged("was written") })
			},
		}},
		{name: "log level", on: servers{
			"sdk": func(t *testing.T, p *peer) {
				quieter(t, p, func() string {
					p.tool(t, "test_tool_with_logging", `{}`, nil)
					return "execution"
				}, func() string {
					p.tool(t, "test_logging_tool", `{}`, nil)
					return "test_logging_tool executed"
				})
			},
			"own": func(t *testing.T, p *peer) {
				written := func() string {
					var entry struct{ Number int }
					raw, _ := p.tool(t, "append", `{"text":"to be logged"}`, nil).StructuredContent.(json.RawMessage)
					assert.OK(t, json.Unmarshal(raw, &entry))
					return fmt.Sprintf("entry %d was written", entry.Number)
				}
				quieter(t, p, written, written)
			},
		}},
		{name: "changed tools", on: servers{"sdk": changedTools}},
		{name: "changed tools, later", on: servers{"sdk": func(t *testing.T, p *peer) {
			updates("test://watched-resource", "", "")(t, p)
			changedTools(t, p)
		}}},
		{name: "changed prompts", on: servers{"sdk": func(t *testing.T, p *peer) {
			list(t, p.Prompts(ctxFor(t)), func(p *mcp.Prompt) string { return p.Name })
			p.tool(t, "test_trigger_prompt_change", `{}`, nil)
			eventually(t, "the new prompt", func() bool {
				return slices.Contains(list(t, p.Prompts(ctxFor(t)), func(p *mcp.Prompt) string { return p.Name }), "__transient_prompt_for_list_changed")
			})
		}}},
		{name: "changed resources", on: servers{"npm": func(t *testing.T, p *peer) {
			const uri = "demo://resource/session/hello.gz"
			uris := func() []string {
				return list(t, p.Resources(ctxFor(t)), func(r *mcp.Resource) string { return r.URI })
			}
			assert.False(t, slices.Contains(uris(), uri), "the resource is there already")
			p.tool(t, "gzip-file-as-resource", `{"name":"hello.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`, nil)
			eventually(t, "the new resource", func() bool { return slices.Contains(uris(), uri) })
			reads(uri, "\x1f\x8b")(t, p)
		}}},
		{name: "ping", on: servers{"sdk": func(t *testing.T, p *peer) {
			c := p.another(t, func(o *mcp.ClientOptions) { o.HealthInterval = 50 * time.Millisecond })
			assert.OK(t, c.Ready(ctxFor(t)))
			eventually(t, "a ping", func() bool { return p.user.heard("a ping came") })
			assert.Equal(t, c.State().Connections, 1, "connections")
		}}, not: reasons{
			modern:     "the revision has no pings",
			"sdk http": "nothing shows that one came",
		}},
	}
}

// quieter asks for severe messages only, and sees that the info messages of the
// first call do not come, but those of the second, when they are wanted again.
// Each call returns what its messages say.
func quieter(t *testing.T, p *peer, first, second func() string) {
	assert.OK(t, p.SetLogLevel(ctxFor(t), "error"))
	quiet := first()
	assert.OK(t, p.SetLogLevel(ctxFor(t), "debug"))
	loud := second()
	eventually(t, "the message", func() bool { return p.user.logged(loud) })
	assert.False(t, p.user.logged(quiet), "an info message came when only errors were asked for")
}

// changedTools has the server change its tools, and sees that a list which was
// read before is read again. The server makes the same change every time, so a
// list is told from the one before it by its version.
func changedTools(t *testing.T, p *peer) {
	p.listed(t, "test_simple_text")
	before := p.State().ToolsVersion
	p.tool(t, "test_trigger_tool_change", `{}`, nil)
	eventually(t, "the announcement", func() bool { return p.State().ToolsVersion > before })
	assert.True(t, p.listed(t, "__transient_tool_for_list_changed") != nil, "the new tool is listed")
}
