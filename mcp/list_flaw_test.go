// Tests of list.go and decode_result.go: items that are left out of lists.

package mcp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// flaws are members of an item that spoil it, and why.
var flaws = []struct{ name, member, reason, token string }{
	{"deep", `"inputSchema":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200), "nested too deeply", "too_deep"},
	{"duplicate", `"name":"twice"`, "duplicate key", "duplicate_key"},
	{"nested duplicate", `"inputSchema":{"type":"object","type":"string"}`, "duplicate key", "duplicate_key"},
	{"wrong type", `"description":7`, "got a number, want a string", "invalid"},
}

// Nesting without end costs no memory for each level, and no other tool.
func TestBottomlessToolIsLeftOut(t *testing.T) {
	for _, depth := range []int{10_000, assert.Cases(20_000, 1_000_000)} {
		bottomless := `"inputSchema":` + strings.Repeat(`{"not":[`, depth/2) + strings.Repeat(`]}`, depth/2)
		s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){"tools/list": result(`{"tools":[` + flawed(bottomless) + `,` + item(1) + `]}`)})
		assert.Equal(t, len(assert.Value(newClient(t, &s.HTTP, nil).Tools(t.Context()))(t)), 1, "%d levels: tools", depth)
	}
}

// Whatever a string of an item holds, the item ends where it ends.
func TestItemWithBrokenStringIsLeftOut(t *testing.T) {
	for _, flaw := range []struct{ name, member, reason string }{
		{"a control character", "\"description\":\"a\tb\"", "control character in string"},
		{"a wrong escape", `"description":"C:\x"`, "unknown escape"},
		{"half an escape", `"title":"\u12"`, `malformed \u escape`},
	} {
		list := `{"tools":[` + item(1) + `,` + flawed(flaw.member) + `,` + item(2) + `],"resultType":"complete"}`
		for _, revision := range revisions() {
			for name, respond := range map[string]func(*webRequest){
				"JSON":   result(list),
				"stream": func(v *webRequest) { v.stream(`{"jsonrpc":"2.0","id":$ID,"result":` + list + `}`) },
			} {
				s := newWebServer(t, revision, map[string]func(*webRequest){"tools/list": respond})
				c := newClient(t, &s.HTTP, nil)
				assert.Equal(t, len(assert.Value(c.Tools(t.Context()))(t)), 2, "%s, %s, %s: tools", flaw.name, revision, name)
				wantProblem(t, c, mcp.ListProblem{Method: "tools/list", Path: "tools[1]", Name: "bad", Token: "invalid"}, flaw.reason)
			}
		}
	}
}

// flawed is an item that every list would accept without the member.
func flawed(member string) string {
	return `{"name":"bad","uri":"b:","uriTemplate":"b:",` + member + `}`
}

// An item that breaks the rules for JSON costs no other item of its list.
func TestFlawedItemIsLeftOut(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, l := range lists {
			for _, flaw := range flaws {
				var log bytes.Buffer
				server := featured(t, revision, mcptest.Script{l.method: mcptest.Result(
					`{"` + l.member + `":[` + item(1) + `,` + flawed(flaw.member) + `,` + item(2) + `],"resultType":"complete"}`)})
				c := newClient(t, p.to(server), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				assert.Equal(t, assert.Value(l.read(t.Context(), c))(t), 2, "%s with %s: items", l.method, flaw.name)
				assert.Contains(t, log.String(), l.member+"[1]", "%s with %s", l.method, flaw.name)
				assert.Contains(t, log.String(), flaw.reason, "%s with %s", l.method, flaw.name)
				wantProblem(t, c, mcp.ListProblem{Method: l.method, Path: l.member + "[1]", Name: "bad", Token: flaw.token}, flaw.reason)
			}
		}
	})
}

// What is optional does not cost the item.
func TestItemWithOptionalFlawIsListed(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, l := range lists {
			for _, member := range []string{
				//report: Schemas | modelcontextprotocol/inspector#1909, BaseIntelligence/bounty-challenge#12086 | a server writes the annotations of a resource or a template as an empty list, as PHP has empty objects, or its size as a text | the item is listed without that; a client that validates the whole list has none
				`"annotations":[]`, `"annotations":{"priority":"high"}`, `"size":"12"`, `"_meta":[]`, `"icons":[{"src":"https:"},{"src":7}]`, `"icons":{}`,
			} {
				list := `{"` + l.member + `":[` + strings.Replace(flawed(member), "bad", "good", 1) + `],"resultType":"complete"}`
				n := assert.Value(l.read(t.Context(), newClient(t, p.to(featured(t, revision, mcptest.Script{l.method: mcptest.Result(list)})), nil)))(t)
				assert.Equal(t, n, 1, "%s with %s: items", l.method, member)
			}
		}
	})
}

// wantProblem fails the test unless one item was left out of the client's lists, for a
// reason.
func wantProblem(t *testing.T, c *mcp.Client, want mcp.ListProblem, reason string) {
	t.Helper()
	problems := c.ListProblems()
	assert.Equal(t, len(problems), 1, "problems")
	got := problems[0]
	assert.Contains(t, got.Err.Error(), reason)
	got.Err = nil
	assert.Equal(t, got, want)
}

// Problems are those of the lists as last read, and no more than are of use.
func TestListProblems(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		bad := strings.TrimSuffix(strings.Repeat(`{"name":7},`, 70), ",")
		c := newClient(t, p.to(featured(t, revision, mcptest.Script{
			"resources/list": func(c *mcptest.Call) {
				switch {
				case cursorOf(c.Params) != "":
					c.Result(`{"resources":[` + bad + `],"resultType":"complete"}`)
				case c.Number == 1:
					c.Result(`{"resources":[` + bad + `],"nextCursor":"2","resultType":"complete"}`)
				default:
					c.Result(`{"resources":[` + item(1) + `],"resultType":"complete"}`)
				}
			},
			"prompts/list": mcptest.Result(`{"prompts":[{"name":"a","name":"\u001b[2J"}],"resultType":"complete"}`),
		})), nil)
		assert.Equal(t, len(c.ListProblems()), 0, "problems before any list was read")
		_, _ = collect(c.Prompts(t.Context()))
		_, _ = collect(c.Resources(t.Context()))
		assert.Equal(t, len(c.ListProblems()), 101, "problems")
		assert.Equal(t, c.ListProblems()[0].Method, "prompts/list", "a problem of first")
		_, _ = collect(c.Resources(t.Context()))
		assert.Equal(t, len(c.ListProblems()), 1, "problems")
	})
}

// A flaw outside of the items spoils the list.
func TestFlawedListIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		deep := strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)
		for _, l := range lists {
			for name, members := range map[string]string{
				"a list that comes twice": `"` + l.member + `":[` + item(1) + `],"` + l.member + `":[` + item(2) + `]`,
				"a deep member":           `"` + l.member + `":[` + item(1) + `],"x":{"y":` + deep + `}`,
			} {
				server := featured(t, revision, mcptest.Script{l.method: mcptest.Result(`{` + members + `}`)})
				assert.As[*mcp.ProtocolError](t, assert.Err(l.read(t.Context(), newClient(t, p.to(server), nil))), "%s with %s", l.method, name)
			}
		}
	})
}

// A character that cannot be read becomes U+FFFD, and costs neither an answer nor an item.
func TestBadCharacterCostsItself(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, c := range []struct{ sent, want string }{
			//report: Results | microsoft/playwright-mcp#1410, elizaOS/eliza#23686 | a server of JavaScript cuts a text in the middle of an emoji, and sends half a surrogate pair | the text is there with U+FFFD where it was cut
			{`cut \ud83d`, "cut \uFFFD"},
			{`\ude00 swapped \ud83d, whole \ud83d\ude00`, "\uFFFD swapped \uFFFD, whole \U0001F600"},
			{"Gr\xf6\xdfe", "Gr\uFFFDe"},
		} {
			client := newClient(t, p.to(featured(t, revision, mcptest.Script{
				"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"` + c.sent + `"}],"resultType":"complete"}`),
				"tools/list": mcptest.Result(`{"tools":[{"name":"a","description":"` + c.sent + `","inputSchema":{"type":"object"}},` + item(1) + `],"resultType":"complete"}`),
			})), nil)
			assert.Equal(t, textOf(t, mustCall(t, client, "a")), c.want, "%q", c.sent)
			tools := assert.Value(client.Tools(t.Context()))(t)
			assert.Equal(t, len(tools), 2, "%q: tools", c.sent)
			assert.Equal(t, tools[0].Description, c.want, "%q", c.sent)
			assert.List(t, client.ListProblems(), []mcp.ListProblem{}, "%q", c.sent)
		}
	})
}

// What is no list is not forgiven a flaw.
func TestFlawedResultIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		c := newClient(t, p.to(featured(t, revision, mcptest.Script{"tools/call": mcptest.Result(
			`{"content":[{"type":"text","text":"a","text":"b"}],"resultType":"complete"}`)})), nil)
		assert.As[*mcp.ProtocolError](t, assert.Err(c.CallTool(t.Context(), "t", nil, nil)))
	})
}

// A raw request gets no result that can be read in two ways.
func TestFlawedListIsNoRawResult(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[{"name":"a","name":"b"}]}`)})
		assert.As[*mcp.ProtocolError](t, assert.Err(newClient(t, p.to(server), nil).Request(t.Context(), "tools/list", nil, nil)))
	})
}
