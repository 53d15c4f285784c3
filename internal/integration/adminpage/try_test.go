// Tests of trying a tool: what it answers, and calls that wait for approval.

//go:build integration && unix

package adminpage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
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

// What a server asks in the course of a call is asked where it was tried, and how far the call has come is shown meanwhile.
func TestTriedCallAsks(t *testing.T) {
	server := newServer("trips")
	on := make(chan struct{})
	server.AddTool(&sdk.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 2, Total: 5, Message: "two of five hotels"})
		<-on
		res, elicitErr := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Where to " + markup, RequestedSchema: json.RawMessage(`{"type":"object","required":["place","class"],"properties":{
			"place":{"type":"string","minLength":3},"class":{"type":"string","oneOf":[{"const":"1","title":"First class"},{"const":"2","title":"Second class"}]}}}`)})
		if err := errors.Join(err, elicitErr); err != nil {
			return nil, err
		}
		page, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: "Pay for it", URL: "https://pay.example/trip", ElicitationID: "1"})
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("answered ", res.Action, res.Content, page.Action)}}}, nil
	})
	_, p := openPage(t, remote("trips", serveHTTP(t, server)))
	p.open("/tools/trips__book")
	p.button(".card", "Try it", "Call")
	p.awaitText("two of five hotels")
	p.AwaitTrue("document.querySelector('progress').value === 2 && document.querySelector('progress').max === 5")
	close(on)
	p.awaitText("The server trips asks")
	p.harmless("a question")
	p.accessible("a question")
	p.Fill("section.note textarea, section.note input", "Os")
	assert.OK(t, p.Eval("(() => { const s = document.querySelector('section.note select'); s.value = 1; return [...s.options].map((o) => o.text).join() })()", nil))
	p.button("section.note", "Where to", "Send")
	p.awaitText("is shorter than 3 characters") // it is refused, and waits on
	p.Fill("section.note textarea, section.note input", "lo")
	p.button("section.note", "Where to", "Send")
	p.awaitText("pay.example")
	assert.True(t, p.has("document.querySelector('section.note a').href === 'https://pay.example/trip' && document.querySelector('section.note a').rel.includes('noopener')"), "the page is a link, and nothing has opened it")
	p.button("section.note", "Pay for it", "Decline")
	p.awaitText("answered accept")
	assert.True(t, p.has("document.body.innerText.includes('place:Oslo') && document.body.innerText.includes('class:2') && document.body.innerText.includes('decline')"), "the answers that the server got")
}

// A question is for the one who has tried the tool: another operator cannot answer it, nor see that there is one.
func TestQuestionsOfOthers(t *testing.T) {
	server := newServer("ask")
	server.AddTool(&sdk.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.Action}}}, nil
	})
	s := open(t, remote("ask", serveHTTP(t, server)))
	hosttest.Until(t, s.host, "ask", "ready", func(st host.Status) bool { return st.Stage == host.StageReady })
	grace, _, err := s.keys.Create(t.Context(), access.KeyOptions{Label: "root", User: "grace", Grant: &access.Grant{Manage: true}})
	assert.OK(t, err)
	post := func(key, path, body string) *http.Response {
		t.Helper()
		r := assert.Value(http.NewRequestWithContext(hosttest.Watchdog(t), http.MethodPost, s.url+"/api/v1/tools/ask__ask/"+path, strings.NewReader(body)))(t)
		r.Header.Set("Authorization", "Bearer "+key)
		res := assert.Value(s.web.Client().Do(r))(t)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	lines := bufio.NewScanner(post(s.owner, "try", `{}`).Body)
	await := func(event string) (data string) {
		t.Helper()
		for lines.Scan() && lines.Text() != "event: "+event {
			continue
		}
		lines.Scan()
		return strings.TrimPrefix(lines.Text(), "data: ")
	}
	var asked struct{ ID string }
	assert.OK(t, json.Unmarshal([]byte(await("question")), &asked))
	for _, c := range []struct {
		key, body string
		status    int
	}{
		{grace, `{"action":"accept","content":{"n":1}}`, http.StatusNotFound},
		{s.owner, `{"action":"perhaps"}`, http.StatusBadRequest},
		{s.owner, `{"action":"accept","content":{"n":"x"}}`, http.StatusBadRequest},
		{s.owner, `{"action":"accept","content":{"n":12345678901234567890}}`, http.StatusOK},
		{s.owner, `{"action":"decline"}`, http.StatusNotFound},
	} {
		assert.Equal(t, post(c.key, "questions/"+asked.ID, c.body).StatusCode, c.status, "the answer %s", c.body)
	}
	assert.Contains(t, await("end"), `"text":"accept"`)
}
