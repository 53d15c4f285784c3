package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// loosely calls a tool whose server answers with raw.
func loosely(t *testing.T, raw string) *mcp.CallToolResult {
	t.Helper()
	return mustCall(t, newClient(t, legacy(t, mcptest.Script{"tools/call": mcptest.Result(raw)}), nil), "x")
}

// Some servers write what the protocol calls isError in snake case. A failure is
// a failure however it is written.
func TestCallToolSnakeError(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"content":[{"type":"text","text":"boom"}],"is_error":true}`: true, `{"is_error":true,"isError":false}`: true,
		`{"isError":true,"is_error":false}`: true, `{"content":[],"is_error":false}`: false,
		`{"content":[],"is_error":null}`: false, `{"content":[7,{"type":"image","data":"!"}],"isError":true}`: true,
	} {
		assert.Equal(t, loosely(t, raw).IsError, want, "%s: is error", raw)
	}
}

// Content is read in snake case, too, and with a resource that is not inside of a
// member of its own.
func TestCallToolSnakeContent(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"image","data":"AQI=","mime_type":"image/png"}`:                    `{"type":"image","mimeType":"image/png","data":"AQI="}`,
		`{"type":"image","data":"AQI=","mimeType":"a/b","mime_type":"c/d"}`:         `{"type":"image","mimeType":"a/b","data":"AQI="}`,
		`{"type":"image","data":"AQI=","mime_type":"c/d","mimeType":"a/b"}`:         `{"type":"image","mimeType":"a/b","data":"AQI="}`,
		`{"type":"resource_link","uri":"a:b","name":"n","mime_type":"x/y"}`:         `{"type":"resource_link","mimeType":"x/y","uri":"a:b","name":"n"}`,
		`{"type":"resource","uri":"a:b","mime_type":"text/plain","text":"x"}`:       `{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"x"}}`,
		`{"type":"resource","uri":"a:b","mime_type":null,"text":null}`:              `{"type":"resource","resource":{"uri":"a:b"}}`,
		`{"type":"resource","uri":"a:b","blob":"AQI="}`:                             `{"type":"resource","resource":{"uri":"a:b","blob":"AQI="}}`,
		`{"type":"resource","resource":{"uri":"a:b","mime_type":"x/y","text":"x"}}`: `{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","text":"x"}}`,
	} {
		res := loosely(t, `{"content":[`+raw+`]}`)
		got := assert.Value(json.Marshal(res.Content))(t)
		assert.True(t, sameJSON(t, string(got), "["+want+"]"), "%s: %s is one block %s", raw, got, want)
	}
}

// sameJSON reports whether got has all that want has.
func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	canonical := func(text string) string {
		var value any
		assert.OK(t, json.Unmarshal([]byte(text), &value), "%s", text)
		return string(assert.Value(json.Marshal(value))(t))
	}
	return canonical(got) == canonical(want)
}

// A block that cannot be read becomes a text of its own and spoils none of the
// others.
func TestCallToolUnreadableBlock(t *testing.T) {
	for _, raw := range []string{
		`{"type":"hologram","data":"no base64"}`, `{"type":"hologram","text":7,"uri":{},"resource":[]}`,
		`{"type":"audio","data":7}`, `{"type":"text","text":{"a":[1]}}`,
		`{"type":"resource"}`, `{"type":"resource","resource":7}`, `{"type":"resource","resource":{"uri":7},"uri":"a:b"}`,
		`{"type":7}`, `{}`, `7`, `"plain"`, `null`, `[{"type":"text"}]`,
		`{},7`, // stand together
	} {
		res := loosely(t, `{"content":[{"type":"text","text":"before"}, `+raw+` ,{"type":"text","text":"after"}]}`)
		var got []string
		for _, c := range res.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				got = append(got, text.Text)
			}
		}
		assert.Equal(t, strings.Join(got, "|"), "before|"+raw+"|after")
	}
}

// Data that has not the form of the protocol is decoded where it can be; what cannot be is one
// short line, and no flaw in what is optional costs a block.
func TestCallToolData(t *testing.T) {
	long := strings.Repeat("A", 5_000)
	for raw, want := range map[string]string{
		//report: Results | nota/gyazo-mcp-server#129 | a server puts a data URL where the protocol wants base64 | the image is decoded, and its type is that of the URL if the block names none
		`{"type":"image","data":"data:image/png;base64,+/8="}`:                 `{"type":"image","mimeType":"image/png","data":"+/8="}`,
		`{"type":"image","mimeType":"a/b","data":"data:image/png;base64,-_8"}`: `{"type":"image","mimeType":"a/b","data":"+/8="}`,
		//report: Results | modelcontextprotocol/python-sdk#342, modelcontextprotocol/inspector#435 | a server of Python encodes blobs in the alphabet for URLs | they are decoded
		`{"type":"audio","data":"-_8=","mimeType":"audio/wav"}`:     `{"type":"audio","mimeType":"audio/wav","data":"+/8="}`,
		`{"type":"resource","resource":{"uri":"a:b","blob":"-_8"}}`: `{"type":"resource","resource":{"uri":"a:b","blob":"+/8="}}`,
		`{"type":"image","data":" +/\n8= ","mimeType":"a/b"}`:       `{"type":"image","mimeType":"a/b","data":"+/8="}`,
		//report: Results | openclaw/openclaw#90743 | an image has the form of a model's API, with a "source" | it is an image all the same
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"+/8="}}`: `{"type":"image","mimeType":"image/png","data":"+/8="}`,
		//report: Results | agentscope-ai/agentscope-java#3052 | an image's data is the address of the image | it is a link
		`{"type":"image","data":"https://a.example/i.png","mimeType":"image/png"}`: `{"type":"resource_link","uri":"https://a.example/i.png","name":"image","mimeType":"image/png"}`,
		//report: Results | Epistates/MCPSafari#38 | what a screenshot brings is no base64 at all | one short line says so, and the other blocks are there
		`{"type":"image","data":"` + strings.Repeat("!", 5_000) + `"}`:                  `{"type":"text","text":"[A block of the type \"image\" cannot be shown: its data, 5002 bytes, cannot be read.]"}`,
		`{"type":"video","data":"` + long + `"}`:                                        `{"type":"text","text":"[A block of the type \"video\" cannot be shown: its data, 5002 bytes, cannot be read.]"}`,
		`{"type":"resource","uri":"a:b","blob":"!"}`:                                    `{"type":"text","text":"[A block of the type \"resource\" cannot be shown: its data, 3 bytes, cannot be read.]"}`,
		`{"type":"resource","resource":{"uri":"a:b","blob":"!"}}`:                       `{"type":"text","text":"[A block of the type \"resource\" cannot be shown: its data, 0 bytes, cannot be read.]"}`,
		`{"type":"text","text":"a","annotations":7,"_meta":[],"size":"big","icons":{}}`: `{"type":"text","text":"a"}`,
		`{"type":"text","text":"a","annotations":{"priority":"high"}}`:                  `{"type":"text","text":"a"}`,
		`{"type":"resource_link","uri":"a:b","name":"n","size":"big"}`:                  `{"type":"resource_link","uri":"a:b","name":"n"}`,
	} {
		res := loosely(t, `{"content":[`+raw+`]}`)
		wantLen(t, res.Content, 1, "%.200s", raw)
		got := assert.Value(json.Marshal(res.Content[0]))(t)
		assert.True(t, sameJSON(t, string(got), want), "%.200s: got %s, want %s", raw, got, want)
	}
}

// Text that belongs to a kind is read only where the kind has it.
func TestCallToolStrayMembers(t *testing.T) {
	res := loosely(t, `{"content":[{"type":"text","text":"a","data":"no base64","blob":7}]}`)
	assert.Equal(t, cast[*mcp.TextContent](t, res.Content[0]).Text, "a", "text")
}

// A block of content of an unknown kind does not cost the others.
func TestUnknownContentIsKept(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(
		`{"content":[{"type":"text","text":"known"},{"type":"hologram"}]}`)})
	res := mustCall(t, newClient(t, server, nil), "x")
	assert.Equal(t, len(res.Content), 2, "content")
	assert.Equal(t, cast[*mcp.TextContent](t, res.Content[0]).Text, "known", "text")

	if _, err := bare(t, server, nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "x"}); err == nil {
		mended(t, "mcp/decode.go")
	}
}

// A number in a structured result has the value that the server wrote.
func TestNumbersKeepTheirValue(t *testing.T) {
	//report: Results | StarRocks/mcp-server-starrocks#36, bytebase/dbhub#279, benborla/mcp-server-mysql#131 | a client rounds the 19 digits of an id in structured content | numbers keep their digits on the whole way
	const number = `9007199254740993` // 2^53 + 1
	server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(`{"content":[],"structuredContent":{"n":` + number + `}}`)})
	want := json.RawMessage(`{"n":` + number + `}`)
	got, ok := mustCall(t, newClient(t, server, nil), "x").StructuredContent.(json.RawMessage)
	assert.Equal(t, [...]any{ok, string(got)}, [...]any{true, string(want)})

	res := assert.Value(bare(t, server, nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "x"}))(t)
	if back, _ := json.Marshal(res.StructuredContent); string(back) == string(want) {
		mended(t, "mcp/decode.go")
	}
}

// Icons are handed on if they can be shown without danger, and never fetched.
func TestIcons(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		canary := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was fetched", r.URL) }))
		defer canary.Close()
		good := []string{canary.URL + "/icon.png", "data:image/png;base64,AAE=", "HTTPS" + strings.TrimPrefix(canary.URL, "https") + "/i"}
		bad := []string{"javascript:alert(1)", "JavaScript:alert(1)", "file:///etc/passwd", "ftp://a.example/i", "ws://a.example/i", "http://a.example/i",
			"//a.example/i", "i.png", "", ":", "https", " https://a.example/i", "java\nscript:x", "vbscript:x"}
		var icons []string
		for _, src := range append(bad, good...) {
			icons = append(icons, fmt.Sprintf(`{"src":%q,"mimeType":"image/png","sizes":["48x48"],"theme":"dark"}`, src))
		}
		member := `"icons":[` + strings.Join(icons, ",") + `]`
		server := featured(t, revision, mcptest.Script{
			"tools/list":               mcptest.Result(`{"tools":[{"name":"a",` + member + `}]}`),
			"resources/list":           mcptest.Result(`{"resources":[{"uri":"a:1","name":"a",` + member + `}]}`),
			"resources/templates/list": mcptest.Result(`{"resourceTemplates":[{"uriTemplate":"a:1","name":"a",` + member + `}]}`),
			"prompts/list":             mcptest.Result(`{"prompts":[{"name":"a",` + member + `}]}`),
			"tools/call":               mcptest.Result(`{"content":[{"type":"resource_link","uri":"a:1","name":"a",` + member + `}]}`),
			"initialize": mcptest.Result(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"s","version":"1",%s}}`,
				revision, allFeatures, member)),
			"server/discover": mcptest.Result(fmt.Sprintf(
				`{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1",%s}}}`,
				revision, allFeatures, member)),
		}, refuseDiscover(revision))
		c := newClient(t, p.to(server), nil)
		tools := assert.Value(c.Tools(t.Context()))(t)
		resources := assert.Value(collect(c.Resources(t.Context())))(t)
		templates := assert.Value(collect(c.ResourceTemplates(t.Context())))(t)
		prompts := assert.Value(collect(c.Prompts(t.Context())))(t)
		link, ok := mustCall(t, c, "a").Content[0].(*mcp.ResourceLink)
		assert.True(t, ok, "no link")
		for where, icons := range map[string][]sdk.Icon{
			"tool": tools[0].Icons, "resource": resources[0].Icons, "template": templates[0].Icons, "prompt": prompts[0].Icons,
			"link": link.Icons, "server": c.State().Server.Icons,
		} {
			var got []string
			for _, icon := range icons {
				got = append(got, icon.Source)
				assert.Equal(t, [...]any{icon.MIMEType, len(icon.Sizes), string(icon.Theme)}, [...]any{"image/png", 1, "dark"}, "%s", where)
			}
			assert.Equal(t, strings.Join(got, " "), strings.Join(good, " "), "icons of a %s: join", where)
		}
	})
}
