// Tests of trying a tool: what it answers, and calls that wait for approval.

//go:build integration && unix

package adminpage

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// aPixel is an image in GIF.
const aPixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// answering is a server whose tool answers with blocks of content, and a structured result.
func answering(name string, structured any, blocks ...sdk.Content) *sdk.Server {
	s := newServer("answers")
	s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: blocks, StructuredContent: structured}, nil
		})
	return s
}

// Images and sounds are shown, a list of objects is a table, and the call can be made in a terminal.
func TestAnswersAreShown(t *testing.T) {
	rows := []map[string]any{{"city": "Oslo", "degrees": 3}, {"city": "Rome", "degrees": 21}}
	text := string(assert.Value(json.Marshal(map[string]any{"rows": rows}))(t))
	_, p := openPage(t, remote("answers", serveHTTP(t, answering("all", map[string]any{"rows": rows},
		&sdk.TextContent{Text: text}, &sdk.TextContent{Text: "as a text"},
		&sdk.ImageContent{Data: []byte(aPixel), MIMEType: "image/gif"}, &sdk.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"},
		&sdk.ImageContent{Data: []byte("<svg onload='hurt=1'/>"), MIMEType: "image/svg+xml"},
		&sdk.ResourceLink{URI: "file:///a", Name: "a link"}))))
	p.open("/tools/answers__all")
	p.button(".card", "Try it", "Call")
	p.AwaitTrue("document.querySelector('main img')?.naturalWidth === 1")
	p.AwaitTrue("document.querySelector('main audio[controls]')")
	for _, text := range []string{"as a text", "which are not shown", "a link"} {
		p.awaitText(text)
	}
	var cells string
	assert.OK(t, p.Eval("[...document.querySelectorAll('[aria-label=\"Structured result\"] :is(th, td)')].map((el) => el.textContent).join(' ')", &cells))
	assert.Equal(t, cells, "city degrees Oslo 3 Rome 21", "the table")
	assert.True(t, p.has("document.querySelectorAll('main img').length === 1"), "an image that can do something is not shown")
	assert.True(t, p.has("document.body.textContent.includes('mcpbelt call answers all')"), "the same call for a terminal")
	p.accessible("what a tool answers")
}

// The answer of a call that waits reaches the one who tried it, decided where it was tried or elsewhere.
func TestTriedCallWaits(t *testing.T) {
	s, p := openPage(t, remote("mail", serveHTTP(t, answering("send", nil, &sdk.TextContent{Text: "the answer"}))))
	p.open("/tools/mail__send")
	p.button(".card", "Try it", "Call")
	p.awaitText("A person has to approve this call")
	assert.False(t, p.has("document.querySelector('main .bad')"), "a call that waits is no failure")
	p.accessible("a call that waits")
	p.button(".note", "A person has to approve", "Approve")
	p.awaitText("the answer")

	p.button(".card", "Try it", "Call")
	p.awaitText("A person has to approve this call")
	p.Click("nav a[href='/admin/servers']") // and comes back
	p.settled("/servers")
	waiting := s.host.Registry().Approvals(t.Context())
	assert.Equal(t, len(waiting), 1, "calls that wait")
	assert.Value(s.host.Registry().Approve(hosttest.Watchdog(t), waiting[0].ID, nil))(t)
	assert.OK(t, p.Eval("history.back()", nil))
	p.awaitText("the answer")

	p.button(".card", "Try it", "Call")
	p.button(".note", "A person has to approve", "Deny")
	p.awaitText("denied")
}
