package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func names(tools []*mcp.Tool) string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func wantTools(t testing.TB, c *mcp.Client, want string) {
	t.Helper()
	assert.Equal(t, names(assert.Value(c.Tools(t.Context()))(t)), want, "tools")
}

// page is a result of tools/list; a next that is empty is left out.
func page(next string, tools ...string) string {
	var list []string
	for _, name := range tools {
		list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	if next != "" {
		next = `,"nextCursor":` + next
	}
	return fmt.Sprintf(`{"tools":[%s]%s}`, strings.Join(list, ","), next)
}

func cursorOf(params json.RawMessage) string {
	var p struct {
		Cursor json.RawMessage `json:"cursor"`
	}
	_ = json.Unmarshal(params, &p)
	return string(p.Cursor)
}

func TestToolsPaged(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": func(c *mcptest.Call) {
			switch cursor := cursorOf(c.Params); cursor {
			case "":
				c.Result(page(`"p 1"`, "b", "a"))
			case `"p 1"`:
				c.Result(page(`"é\u0000\""`, "d"))
			case `"é\u0000\""`:
				c.Result(page(`null`, "c"))
			default:
				c.Error(-32602, "cursor "+cursor)
			}
		}})
		wantTools(t, newClient(t, p.to(server), nil), "b a d c")
	})
}

// The empty cursor means the end to older revisions; to 2026-07-28 it is a
// cursor like others.
func TestToolsEmptyCursor(t *testing.T) {
	for revision, want := range map[string]string{mcp.Revision20251125: "a", mcp.Revision20260728: "a b"} {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Sequence(mcptest.Result(page(`""`, "a")), mcptest.Result(page("", "b"))),
		})
		wantTools(t, newClient(t, server, nil), want)
		if revision == mcp.Revision20260728 {
			assert.Equal(t, cursorOf(server.Received("tools/list")[1].Params), `""`, "cursor")
		}
	}
}

func TestToolsSchemasByteForByte(t *testing.T) {
	const in = `{ "type":"object", "x":9007199254740993,"properties":{"a":{"default":1.0}} }`
	const out = `{"$ref":"#","<":">"}`
	server := legacy(t, mcptest.Script{"tools/list": mcptest.Result(
		`{"tools":[{"name":"a","title":"A","description":"d","NAME":"x","inputSchema":` + in + `,"outputSchema":` + out +
			`,"annotations":{"readOnlyHint":true},"icons":[{"src":"https://a.example/i"}],"_meta":{"m":1}}]}`)})
	tools := assert.Value(newClient(t, server, nil).Tools(t.Context()))(t)
	assert.Equal(t, len(tools), 1, "tools")
	tool := tools[0]
	assert.Equal(t, string(tool.InputSchema), in, "the input schema")
	assert.Equal(t, string(tool.OutputSchema), out, "the output schema")
	assert.Equal(t, [...]any{tool.Name, tool.Title, tool.Description, tool.Annotations.ReadOnlyHint, len(tool.Icons), tool.Meta["m"] == nil},
		[...]any{"a", "A", "d", true, 1, false})
}

func TestToolsRefused(t *testing.T) {
	circles := func(c *mcptest.Call) { c.Result(page([]string{`"1"`, `"2"`, `"1"`}[c.Number-1])) }
	endless := func(c *mcptest.Call) { c.Result(page(fmt.Sprintf(`"%d"`, c.Number), fmt.Sprintf("t%d", c.Number))) }
	for name, test := range map[string]struct {
		list mcptest.Handler
		opts mcp.ClientOptions
	}{"circles": {circles, mcp.ClientOptions{}}, "tools": {endless, mcp.ClientOptions{Limits: mcp.Limits{MaxTools: 3}}}} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, legacy(t, mcptest.Script{"tools/list": test.list}), &test.opts)
			_, err := c.Tools(t.Context())
			if name == "circles" {
				wantInvalid(t, err, "tools/list", "nextCursor")
			} else {
				assert.Contains(t, assert.As[*mcp.LimitError](t, err).Limit, name)
			}
			wantOutcome(t, err, mcp.Answered)
			wantPhase(t, c, mcp.Ready)
		})
	}
}

func TestToolsWithinLimits(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/list": mcptest.Sequence(
		mcptest.Result(page(`"1"`, "a")), mcptest.Result(page(`"2"`, "b")), mcptest.Result(page("", "c")))})
	wantTools(t, newClient(t, server, &mcp.ClientOptions{Limits: mcp.Limits{MaxTools: 3}}), "a b c")
}

func TestInvalidToolIsLeftOut(t *testing.T) {
	var log bytes.Buffer
	server := legacy(t, mcptest.Script{"tools/list": mcptest.Result(
		`{"tools":[{"name":"a"},7,{"name":1},{"description":"x"},{"name":"b","inputSchema":[1]},{"name":"c","description":["x"]},{"name":"d","inputSchema":"x"},{"name":"z"}]}`)})
	wantTools(t, newClient(t, server, &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}), "a z")
	for i := 1; i < 7; i++ {
		assert.Contains(t, log.String(), fmt.Sprintf("tools[%d]", i))
	}
}

// What is optional and cannot be read is left out, and the tool is there; what its server wrote is
// not handed on.
func TestFlawedToolIsListed(t *testing.T) {
	for _, flaw := range []string{
		`"annotations":"x"`, `"annotations":[]`, `"annotations":{"readOnlyHint":"true"}`, `"icons":{}`, `"icons":[{"src":7}]`, `"_meta":[]`, `"title":7`, `"outputSchema":7`, `"outputSchema":[]`, `"inputSchema":[]`,
	} {
		c := newClient(t, legacy(t, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[{` + flaw + `,"name":"a","description":"d"}]}`)}), nil)
		tools := assert.Value(c.Tools(t.Context()))(t)
		wantLen(t, tools, 1, flaw)
		got := tools[0]
		assert.Equal(t, got.Name+" "+got.Description, "a d", "%s", flaw)
		assert.True(t, got.Annotations == nil && got.Icons == nil && got.Meta == nil && got.Title == "" && got.InputSchema == nil && got.OutputSchema == nil && got.Raw == nil, "%s is left out: %+v", flaw, got)
	}
	c := newClient(t, legacy(t, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[{"name":"f","annotations":{"read_only_hint":"true"}}]}`)}), nil)
	assert.True(t, assert.Value(c.Tools(t.Context()))(t)[0].Raw != nil, "an unknown hint is no flaw")
}

func TestToolsCached(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Sequence(mcptest.Result(page("", "a")), mcptest.Result(page("", "b")), mcptest.Result(page("", "c"))),
		}), nil)
		wantTools(t, c, "a")
		wantTools(t, c, "a")
		wantCount(t, server, "tools/list", 1)

		disconnect(server)
		wantTools(t, c, "b")

		// Announcements are passed on at once, but only one in 250 ms.
		start := c.State().ToolsVersion
		server.Notify("notifications/tools/list_changed", "")
		synctest.Wait()
		for range 10 {
			server.Notify("notifications/tools/list_changed", "")
		}
		synctest.Wait()
		assert.Equal(t, c.State().ToolsVersion-start, 1, "changes at once")
		pass(250*time.Millisecond - time.Nanosecond)
		assert.Equal(t, c.State().ToolsVersion-start, 1, "changes within the time")
		pass(time.Nanosecond)
		assert.Equal(t, c.State().ToolsVersion-start, 2, "changes after the time")
		pass(time.Hour)
		assert.Equal(t, c.State().ToolsVersion-start, 2, "changes in the end")
		wantTools(t, c, "c")
		wantCount(t, server, "tools/list", 3)
	})
}

// A change that is announced between two pages makes the client begin again.
func TestToolsChangeBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t, mcptest.Script{"tools/list": mcptest.Sequence(
			mcptest.Result(page(`"2"`, "old")),
			func(c *mcptest.Call) {
				c.Notify("notifications/tools/list_changed", "")
				synctest.Wait()
				c.Result(page("", "new"))
			},
			mcptest.Result(page(`"2"`, "new")),
			mcptest.Result(page("", "newer")),
		)}), nil)
		wantTools(t, c, "new newer")
		wantCount(t, server, "tools/list", 4)
		wantTools(t, c, "new newer")
		wantCount(t, server, "tools/list", 4)
	})
}

// A server that announces a change during every listing gets no endless ones, and nobody waits
// for more than one: a single page is of one time.
func TestToolsChangeWithoutEnd(t *testing.T) {
	//report: Transports | microsoft/aspire#14375 | a server announces other tools whenever its tools are listed | a list of one page is handed out as it is; the next reading is at least 250 ms after it, and only if a person asks
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t, mcptest.Script{"tools/list": slowly(time.Second, func(c *mcptest.Call) {
			c.Notify("notifications/tools/list_changed", "")
			synctest.Wait()
			c.Result(page("", "a"))
		})}), nil)
		wantTools(t, c, "a")
		wantCount(t, server, "tools/list", 1)
	})
}

// Pages of two lists are never mixed: an announcement counts as soon as what was
// sent after it is known, and a list that never holds still is an error.
func TestToolsPagesAreOfOneList(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		for _, changes := range []int{1, 2, 3} {
			var listings atomic.Int64
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": func(c *mcptest.Call) {
				n := listings.Add(1)
				list := (n + 1) / 2 // two pages each
				if n%2 == 1 {
					c.Result(page(`"2"`, fmt.Sprint("first of ", list)))
					return
				}
				if int(list) <= changes {
					c.Notify("notifications/tools/list_changed", "")
				}
				c.Result(page("", fmt.Sprint("second of ", list)))
			}})
			tools, err := newClient(t, p.to(server), nil).Tools(t.Context())
			if changes == 3 {
				assert.As[*mcp.ProtocolError](t, err, "a list that changes without end")
				assert.Equal(t, len(tools), 0, "a list that changes without end: tools")
				continue
			}
			assert.OK(t, err, "after %d changes", changes)
			wantLen(t, tools, 2, "after %d changes: tools", changes)
			assert.Equal(t, tools[0].Name[len("first of "):], tools[1].Name[len("second of "):], "after %d changes", changes)
		}
	})
}

// What is known of a tool stays its own when a later list has another one of its name.
func TestToolRawOfAnEarlierList(t *testing.T) {
	list := func(hint string) mcptest.Handler {
		return mcptest.Result(`{"tools":[{"name":"a","annotations":{"executionTimeHint":"` + hint + `"}}]}`)
	}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), mcptest.Script{"tools/list": mcptest.Sequence(list("fast"), list("medium"), list("slow"))})
	c := newClient(t, server, nil) // the list is read each time: nothing says how long it is good
	var tools []*mcp.Tool
	for range 3 {
		tools = append(tools, assert.Value(c.Tools(t.Context()))(t)[0])
	}
	for i, want := range []string{"fast", "medium", "slow"} {
		assert.Equal(t, memberOf(t, tools[i].Raw, "annotations"), `{"executionTimeHint":"`+want+`"}`, "list %d", i)
	}
}

// A tool has all that its server said, and can be read back from that.
func TestToolRaw(t *testing.T) {
	const (
		first = `{"inputSchema":{"x":1.0},"name":"a","execution":{"taskSupport":"optional"},"_meta":{"n":12345678901234567891,"e":1e400},` +
			`"x":[0.10],"annotations":{"side_effects_hint":false,"title":"T\u0065","y":1.00}}`
		second = `{"name":"b","icons":[{"src":"javascript:x"}],"annotations":null}`
	)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[` + first + `, ` + second + `]}`)}, refuseDiscover(revision))
		tools := assert.Value(newClient(t, p.to(server), nil).Tools(t.Context()))(t)
		for i, want := range []string{first, second} {
			assert.Equal(t, string(tools[i].Raw), want)
			var read mcp.Tool
			assert.OK(t, json.Unmarshal(tools[i].Raw, &read))
			wantDeep(t, &read, tools[i])
		}
		wantDeep(t, tools[0].Meta, mcp.Meta{"n": json.Number("12345678901234567891"), "e": json.Number("1e400")}, "meta")
	})
}

func TestToolUnmarshalRefuses(t *testing.T) {
	for _, data := range []string{`7`, `{}`, `{"name":"a","name":"b"}`, `{"name":"a","inputSchema":7}`} {
		assert.As[*mcp.ProtocolError](t, new(mcp.Tool).UnmarshalJSON([]byte(data)), "%s", data)
	}
	assert.Fails(t, new(mcp.Tool).UnmarshalJSON(nil), "got no error for no JSON, want one")
}

// A list whose pages lead back to the first one is not read for ever.
func TestPagesEnd(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/list": mcptest.Result(
		`{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"again"}`)})
	assert.As[*mcp.ProtocolError](t, assert.Err(newClient(t, server, nil).Tools(t.Context())))

	const plenty = 100
	tools := 0
	for _, err := range bare(t, server, nil).Tools(t.Context(), nil) {
		if err != nil {
			break
		}
		if tools++; tools == plenty {
			break
		}
	}
	if tools < plenty {
		mended(t, "mcp/tools.go")
	}
}
