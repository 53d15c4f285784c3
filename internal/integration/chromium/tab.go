//go:build unix

package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A Tab shows one page after the other. Its methods fail the test if the page does not do what
// they wait for.
type Tab struct {
	*testing.T
	browser *Browser
	session string
	context string // its cookies
}

// Call calls a method of the DevTools protocol for the tab. The result may be nil.
func (p *Tab) Call(method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	return p.browser.call(p.T, p.session, method, params, result)
}

// Listen has the function called with each event of the tab, in their order. It must not call
// the tab. Events come of domains that were enabled.
func (p *Tab) Listen(to func(method string, params json.RawMessage)) {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	p.browser.events[p.session] = to
}

// Eval evaluates an expression in the page, waits if it is a promise, and decodes its value.
func (p *Tab) Eval(expression string, value any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return errors.New(r.ExceptionDetails.Text + " " + r.ExceptionDetails.Exception.Description)
	case value == nil || r.Result.Value == nil:
		return nil
	}
	return json.Unmarshal(r.Result.Value, value)
}

// AwaitTrue waits until an expression is true. A page that is just being left cannot answer.
func (p *Tab) AwaitTrue(expression string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var is bool
		if p.Eval("document.readyState != 'loading' && !!("+expression+")", &is) == nil && is {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.Fatalf("got no end of the wait, want %s; the page shows:\n%s", expression, p.Text())
		}
	}
}

// Await waits until the page has an element.
func (p *Tab) Await(selector string) {
	p.Helper()
	p.AwaitTrue("document.querySelector(" + strconv.Quote(selector) + ")")
}

// AwaitTitle waits for a page with a title.
func (p *Tab) AwaitTitle(title string) {
	p.Helper()
	p.AwaitTrue("document.readyState == 'complete' && document.title == " + strconv.Quote(title))
}

// Fill types a text into a field, as the keyboard does.
func (p *Tab) Fill(selector, text string) {
	p.Helper()
	p.Await(selector)
	assert.OK(p, p.Eval("document.querySelector("+strconv.Quote(selector)+").focus()", nil))
	p.Type(text)
}

// Type types a text where the focus is.
func (p *Tab) Type(text string) {
	p.Helper()
	assert.OK(p, p.Call("Input.insertText", map[string]any{"text": text}, nil))
}

// Press presses and releases a key, such as Tab or Enter.
func (p *Tab) Press(name string) {
	p.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13, "ArrowDown": 40, " ": 32}[name] // that Windows gives it
	if code == 0 {
		p.Fatalf("got the key %q, want one that is known", name)
	}
	params := map[string]any{"type": "keyDown", "key": name, "windowsVirtualKeyCode": code}
	if text := map[string]string{"Enter": "\r", " ": " "}[name]; text != "" {
		params["text"] = text
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		params["type"] = kind
		assert.OK(p, p.Call("Input.dispatchKeyEvent", params, nil))
		delete(params, "text")
	}
}

// Click clicks on an element.
func (p *Tab) Click(selector string) {
	p.Helper()
	p.Await(selector)
	assert.OK(p, p.Eval("document.querySelector("+strconv.Quote(selector)+").click()", nil))
}

// Visit goes to another page.
func (p *Tab) Visit(url string) {
	p.Helper()
	assert.OK(p, p.Call("Page.navigate", map[string]any{"url": url}, nil))
}

// Text returns what the page shows.
func (p *Tab) Text() string {
	p.Helper()
	var text string
	if err := p.Eval("document.body.innerText", &text); err != nil {
		p.Error(err)
	}
	return text
}

// Inside returns tabs for the frames that the page has now in processes of their own, as those without an origin are.
func (p *Tab) Inside() []*Tab {
	p.Helper()
	var all struct {
		TargetInfos []struct{ TargetID, BrowserContextID string }
	}
	assert.OK(p, p.browser.call(p.T, "", "Target.getTargets", map[string]any{"filter": []map[string]any{{"type": "iframe"}}}, &all))
	var frames []*Tab
	for _, target := range all.TargetInfos {
		var attached struct{ SessionID string }
		if target.BrowserContextID == p.context && p.browser.call(p.T, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached) == nil {
			frames = append(frames, &Tab{p.T, p.browser, attached.SessionID, p.context})
		}
	}
	return frames
}
