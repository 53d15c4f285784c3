package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func uris(resources []*mcp.Resource) string {
	var uris []string
	for _, r := range resources {
		uris = append(uris, r.URI)
	}
	return strings.Join(uris, " ")
}

// resourcePage is a result of resources/list; more are further members.
func resourcePage(more string, uris ...string) string {
	var list []string
	for _, uri := range uris {
		list = append(list, fmt.Sprintf(`{"uri":%q,"name":"n"}`, uri))
	}
	return fmt.Sprintf(`{"resources":[%s]%s}`, strings.Join(list, ","), more)
}

func TestResourcesPaged(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, featured(t, revision, mcptest.Script{"resources/list": mcptest.Sequence(
			mcptest.Result(resourcePage(`,"nextCursor":"é\u0000 2"`, "a:1", "a:2")), mcptest.Result(resourcePage("", "a:3")))}), nil)
		assert.Equal(t, uris(assert.Value(collect(c.Resources(t.Context())))(t)), "a:1 a:2 a:3")
		assert.Equal(t, cursorOf(server.Received("resources/list")[1].Params), `"é\u0000 2"`, "cursor")
	})
}

// Pages that nobody needs are not read.
func TestResourcesLazy(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{"resources/list": mcptest.Result(resourcePage(`,"nextCursor":"2"`, "a:1"))})
	for r, err := range newClient(t, server, nil).Resources(t.Context()) {
		assert.OK(t, err)
		assert.Equal(t, r.URI, "a:1", "URI")
		break
	}
	wantCount(t, server, "resources/list", 1)
}

func TestReadResource(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"resources/read": mcptest.Result(
			`{"contents":[{"uri":"a:1","mimeType":"text/plain","text":""},{"uri":"a:2","blob":"AAE="}],"_meta":{"k":1}}`)})
		res := assert.Value(newClient(t, p.to(server), nil).ReadResource(t.Context(), "a:\u2028\"1", nil))(t)
		wantLen(t, res.Contents, 2, "contents")
		assert.List(t, res.Contents[1].Blob, []byte{0, 1})
		assert.Equal(t, [...]any{res.Contents[0].MIMEType, res.Meta["k"]}, [...]any{"text/plain", json.Number("1")})
	})
}

func TestReadResourceNotFound(t *testing.T) {
	for _, test := range []struct {
		revision string
		code     int64
		missing  bool
	}{
		{mcp.Revision20251125, -32002, true},
		{mcp.Revision20260728, -32002, true},
		{mcp.Revision20260728, -32602, true},
		{mcp.Revision20251125, -32602, false},
		{mcp.Revision20260728, -32603, false},
	} {
		everyPlane(t, func(t *testing.T, p plane) {
			c := newClient(t, p.to(featured(t, test.revision, mcptest.Script{"resources/read": mcptest.Error(test.code, "gone")})), nil)
			_, err := c.ReadResource(t.Context(), "a:1", nil)
			refused := assert.As[*mcp.ServerError](t, err, "%s, code %d", test.revision, test.code)
			assert.Equal(t, [...]any{errors.Is(err, mcp.ErrResourceNotFound), refused.Err.Code},
				[...]any{test.missing, test.code}, "%s, code %d", test.revision, test.code)
			wantOutcome(t, err, mcp.Answered)
			wantPhase(t, c, mcp.Ready)
		})
	}
}

func TestResourceDecodedExactly(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{
		"resources/list": mcptest.Result(`{"resources":[{"uri":"a:1","URI":"x","name":"n","title":"T","description":"d","mimeType":"m",
			"size":9007199254740993,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-01T00:00:00Z"},"_meta":{"k":1},"new":{}},
			{"uri":"a:2","name":"n","size":1e3},{"uri":"a:3","name":"n","size":1.5},{"uri":"a:4","name":"n","size":"1"},{"uri":"a:5","name":"n","size":null}]}`),
		"resources/templates/list": mcptest.Result(`{"resourceTemplates":[{"uriTemplate":"a:{x}","URITEMPLATE":"y","name":"n","title":"T","description":"d","mimeType":"m",
			"annotations":{"audience":["user"]},"_meta":{"k":1}}]}`),
	})
	c := newClient(t, server, nil)
	resources := assert.Value(collect(c.Resources(t.Context())))(t)
	assert.Equal(t, uris(resources), "a:1 a:2 a:3 a:4 a:5")
	r := resources[0]
	assert.Equal(t, [...]any{r.Name, r.Title, r.Description, r.MIMEType, r.Size, resources[1].Size, r.Annotations.Priority, r.Annotations.LastModified, r.Meta["k"]},
		[...]any{"n", "T", "d", "m", int64(9007199254740993), int64(1000), 0.5, "2026-01-01T00:00:00Z", json.Number("1")})
	templates := assert.Value(collect(c.ResourceTemplates(t.Context())))(t)
	assert.Equal(t, len(templates), 1, "templates")
	u := templates[0]
	assert.Equal(t, [...]any{u.URITemplate, u.Name, u.Title, u.Description, u.MIMEType, u.Annotations == nil, u.Meta["k"]},
		[...]any{"a:{x}", "n", "T", "d", "m", false, json.Number("1")})
}

// refuses runs a request whose results are all wrong, in both revisions on both
// planes, and wants an error that says where, and a connection that lives on.
func refuses(t *testing.T, method string, ask func(*mcp.Client) error, bad map[string]string, good string) {
	t.Helper()
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for result, path := range bad {
			c := newClient(t, p.to(featured(t, revision, mcptest.Script{method: mcptest.Sequence(mcptest.Result(result), mcptest.Result(good))})), nil)
			err := ask(c)
			wantInvalid(t, err, method, path, "%s", result)
			wantOutcome(t, err, mcp.Answered)
			assert.OK(t, ask(c), "after %s", result)
			assert.Equal(t, c.State().Connections, 1, "after %s: connections", result)
		}
	})
}

func TestReadResourceRefused(t *testing.T) {
	refuses(t, "resources/read", func(c *mcp.Client) error { return assert.Err(c.ReadResource(t.Context(), "a:1", nil)) }, map[string]string{
		`[]`: "result", `7`: "result", `{}`: "contents", `{"contents":null}`: "contents", `{"contents":{}}`: "contents", `{"CONTENTS":[]}`: "contents",
		`{"contents":[7]}`:                                                          "contents[0]",
		`{"contents":[{"text":"x"}]}`:                                               "contents[0].uri",
		`{"contents":[{"uri":7,"text":"x"}]}`:                                       "contents[0].uri",
		`{"contents":[{"uri":"a","text":7}]}`:                                       "contents[0].text",
		`{"contents":[{"uri":"a","blob":"%"}]}`:                                     "contents[0].blob",
		`{"contents":[{"uri":"a","blob":{}}]}`:                                      "contents[0].blob",
		`{"contents":[{"uri":"a","text":"x"},{"uri":"a","text":"x","mimeType":1}]}`: "contents[1].mimeType",
		`{"contents":[],"resultType":"later"}`:                                      "resultType",
		`{"contents":[],"resultType":7}`:                                            "resultType",
	}, `{"contents":[],"resultType":"complete"}`)
}

func TestReadResourceProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"resources/read": func(c *mcptest.Call) {
			c.Progress(1)
			c.Result(`{"contents":[]}`)
		}})
		seen := 0
		assert.OK(t, assert.Err(newClient(t, p.to(server), nil).ReadResource(t.Context(), "a", &mcp.RequestOptions{
			Progress: func(*mcp.ProgressParams) { seen++ }, Meta: mcp.Meta{"k": "v"},
		})))
		assert.Equal(t, seen, 1, "seen")
		assert.Contains(t, string(server.Received("resources/read")[0].Params), `"k":"v"`, "params")
	})
}

// Many servers leave an empty text out.
func TestReadEmptyResource(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, contents := range []string{`{"uri":"a"}`, `{"uri":"a","text":null}`, `{"uri":"a","text":""}`} {
			server := featured(t, revision, mcptest.Script{"resources/read": mcptest.Result(`{"contents":[` + contents + `]}`)})
			res := assert.Value(newClient(t, p.to(server), nil).ReadResource(t.Context(), "a", nil))(t)
			wantLen(t, res.Contents, 1, "%s: contents", contents)
			assert.Equal(t, [...]any{res.Contents[0].URI, res.Contents[0].Text, res.Contents[0].Blob == nil}, [...]any{"a", "", true}, "%s", contents)
		}
	})
}

func TestPrompts(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"prompts/list": mcptest.Result(
			`{"prompts":[{"name":"a","title":"A","description":"d","arguments":[{"name":"x","required":true},{"name":"y","REQUIRED":true}]}]}`)})
		got := assert.Value(collect(newClient(t, p.to(server), nil).Prompts(t.Context())))(t)
		assert.Equal(t, len(got), 1)
		prompt := got[0]
		wantLen(t, prompt.Arguments, 2, "arguments")
		assert.Equal(t, [...]any{prompt.Name, prompt.Title, prompt.Arguments[0].Required, prompt.Arguments[1].Required},
			[...]any{"a", "A", true, false})
	})
}

func TestGetPrompt(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"prompts/get": mcptest.Result(
			`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","data":"AAE=","mimeType":"image/png"}}]}`)})
		res := assert.Value(newClient(t, p.to(server), nil).GetPrompt(t.Context(), "a", map[string]string{"x": "1\n"}, nil))(t)
		wantLen(t, res.Messages, 2, "messages")
		assert.Equal(t, [...]any{string(res.Messages[0].Role), res.Description}, [...]any{"user", "d"})
		assert.Equal(t, cast[*mcp.TextContent](t, res.Messages[0].Content).Text, "hi", "text")
		assert.Equal(t, len(cast[*mcp.ImageContent](t, res.Messages[1].Content).Data), 2, "data")
	})
}

func TestGetPromptArguments(t *testing.T) {
	server, c := withClient(t, featured(t, mcp.Revision20251125, mcptest.Script{"prompts/get": mcptest.Result(`{"messages":[]}`)}), nil)
	for i, test := range []struct {
		args map[string]string
		want string
	}{
		{nil, `"name":"a\"é"}`},
		{map[string]string{}, `"name":"a\"é"}`},
		{map[string]string{"y": "2", "x": "a\"\n"}, `"name":"a\"é","arguments":{"x":"a\"\n","y":"2"}}`},
	} {
		assert.Value(c.GetPrompt(t.Context(), "a\"é", test.args, nil))(t)
		params := string(server.Received("prompts/get")[i].Params)
		assert.True(t, strings.HasSuffix(params, test.want), "params %s end with %s", params, test.want)
	}
}

func TestGetPromptRefused(t *testing.T) {
	refuses(t, "prompts/get", func(c *mcp.Client) error { return assert.Err(c.GetPrompt(t.Context(), "a", nil, nil)) }, map[string]string{
		`7`: "result", `{}`: "messages", `{"messages":{}}`: "messages", `{"MESSAGES":[]}`: "messages", `{"messages":[],"description":7}`: "description",
		`{"messages":[7]}`:                                                                   "messages[0]",
		`{"messages":[{"role":"user"}]}`:                                                     "messages[0].content",
		`{"messages":[{"content":{"type":"text","text":"x"}}]}`:                              "messages[0].role",
		`{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`:              "messages[0].role",
		`{"messages":[{"role":7,"content":{"type":"text","text":"x"}}]}`:                     "messages[0].role",
		`{"messages":[{"role":"user","content":"x"}]}`:                                       "messages[0].content",
		`{"messages":[{"role":"user","content":[]}]}`:                                        "messages[0].content",
		`{"messages":[{"role":"user","content":{"text":"x"}}]}`:                              "messages[0].content.type",
		`{"messages":[{"role":"user","content":{"type":"text","text":7}}]}`:                  "messages[0].content.text",
		`{"messages":[{"role":"user","content":{"type":"resource","resource":{"text":7}}}]}`: "messages[0].content.resource.text",
		`{"messages":[],"resultType":"later"}`:                                               "resultType",
	}, `{"messages":[]}`)
}
