package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A tool's name leaves the room that clients take, and leads to the tool; the gateway says of itself what the
// options say.
func TestNames(t *testing.T) {
	for prefix, most := range map[int]int{0: 53, 20: 44, -1: 64, 60: 24} {
		s := openSite(t, &gateway.Options{ClientPrefix: prefix, Implementation: &mcp.Implementation{Name: "me", Version: "7"}, Instructions: "Be kind."})
		long := strings.Repeat("a", 70)
		addTool(s.server.Server, long+"1", nil)
		addTool(s.server.Server, long+"2", nil)
		c := s.modern("a", "")
		m := s.do(t, query{user: "a", body: callOf(1, "initialize", `{}`)}).message(t)
		assert.Equal(t, m.at("serverInfo", "name")+m.at("serverInfo", "version")+m.at("instructions"), "me7Be kind.")
		var names []string
		hosttest.Eventually(t, "the long names are listed", func() bool {
			names = nil
			for name := range c.tools(t) {
				if strings.Contains(name, "aaa") {
					names = append(names, name)
				}
			}
			return len(names) == 2
		})
		for _, name := range names {
			assert.Equal(t, len(name), most, "prefix %d: bytes of the name", prefix)
			c.want(t, 0, "tools/call", toolParams(name, `{}`))
		}
	}
}

// page reads a page of the list of tools: their names, and the cursor of the next one.
func (c *client) page(t *testing.T, cursor string) (names []string, next string) {
	t.Helper()
	params := ""
	if cursor != "" {
		params = fmt.Sprintf(`"cursor":%q`, cursor)
	}
	m := c.want(t, 0, "tools/list", params)
	var tools []struct{ Name string }
	assert.OK(t, json.Unmarshal([]byte(m.at("tools")), &tools))
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names, m.at("nextCursor")
}

// A list above PageBytes comes in pages that have each tool once, and a cursor is good for its list alone.
func TestPageBytes(t *testing.T) {
	s := openSite(t, &gateway.Options{PageBytes: 300, Profiles: map[string]gateway.Profile{"echo": {Tools: []string{"*echo", "*big"}}}})
	c := s.connect(t, &client{})
	all, cursor := c.page(t, "")
	assert.Equal(t, len(all) < 5, true, "the first page is not all")
	for next := cursor; next != ""; {
		var names []string
		names, next = c.page(t, next)
		all = append(all, names...)
	}
	assert.Equal(t, strings.Join(all, " "), "one__ask one__big one__echo one__flood one__wait")
	params := fmt.Sprintf(`"cursor":%q`, cursor)
	s.connect(t, &client{path: "/p/echo/mcp"}).want(t, -32602, "tools/list", params, "of another view")
	addTool(s.server.Server, "later", nil)
	hosttest.Eventually(t, "the cursor is old", func() bool { return c.do(t, "tools/list", params).code() == -32602 })
}

// A client that reads one page of a list sees all of it, and names that every client can use.
func TestListIsOnePage(t *testing.T) {
	tools := assert.Cases(200, 2000)
	server := newSDKServer()
	for i := range tools {
		server.AddTool(&sdk.Tool{Name: fmt.Sprintf("tool_with_a_name_that_is_rather_long_for_its_number_%04d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
	}
	s := openServer(t, nil, server)
	for _, revision := range both {
		names, next := s.connect(t, &client{path: "/mcp/direct", revision: revision}).page(t, "")
		assert.Equal(t, fmt.Sprint(len(names), next), fmt.Sprint(tools, ""), "%s: the tools and the cursor", revision)
		different := map[string]bool{}
		for _, name := range names {
			different[name] = true
			assert.Equal(t, len("mcp__belt__"+name) <= 64, true, "%s: %s is short enough", revision, name)
		}
		assert.Equal(t, len(different), tools, "%s: names", revision)
	}
}
