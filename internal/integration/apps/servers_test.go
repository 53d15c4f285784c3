// Tests with the servers of the MCP project.

//go:build integration && unix

package apps

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
)

var update = flag.Bool("update", false, "write the pictures of docs/images/apps")

// click returns an expression that clicks on a button with a text.
func click(text string) string {
	return "[...document.querySelectorAll('button')].find((b) => b.innerText.includes('" + text + "')).click()"
}

// choose returns an expression that chooses an option as a person does.
func choose(selector, value string) string {
	return "(() => { const e = document.querySelector('" + selector + "'); Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), 'value').set.call(e, '" + value + "'); e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})); })()"
}

// entry returns the entry of a server of the MCP project.
func entry(t *testing.T, name string) any {
	t.Helper()
	cache := assert.Value(filepath.Abs("../../../bin/integration"))(t)
	dir := assert.Value(npmdir.Install(t.Context(), "testdata/npm", cache))(t)
	return map[string]any{"command": "node", "args": []string{filepath.Join(dir, "node_modules/@modelcontextprotocol/server-"+name, "dist/index.js"), "--stdio"}}
}

// TestServers shows the app of each server, waits for what it makes of the result, does something in it, and waits for what comes
// of that: in the app, or at the program that it calls or talks to.
func TestServers(t *testing.T) {
	const shown, clock = "document.body.innerText", "/20\\d\\d-\\d\\d-\\d\\dT|\\d:\\d\\d/.test(document.body.innerText)"
	rows := []struct {
		server, tool string
		ready        string // an expression that is true when the app shows its result
		act          string // what a person does
		then         string // an expression that is true after that; empty: heard tells
		heard        string // a part of what the app has called or said
	}{
		{"debug", "debug-tool", shown + ".includes('ontoolresult')", "document.querySelector('#call-debug-refresh-btn').click()", "", "debug__debug-refresh as ada in chat"},
		{"debug", "debug-tool", shown + ".includes('ontoolresult')", "document.querySelector('#send-message-text-btn').click()", "", `{"role":"user","content":[{"type":"text"`},
		{"debug", "debug-tool", shown + ".includes('ontoolresult')", "document.querySelector('#update-context-structured-btn').click()", "", `{"structuredContent":{`},
		{"debug", "debug-tool", shown + ".includes('ontoolresult')", "document.querySelector('#display-fullscreen-btn').click()", "innerHeight > 900", ""},
		{"basic-vanillajs", "get-time", clock, click("Get Server Time"), "", "basic-vanillajs__get-time as ada in chat"},
		{"basic-react", "get-time", clock, click("Get Server Time"), "", "basic-react__get-time as ada in chat"},
		{"basic-svelte", "get-time", clock, click("Get Server Time"), "", "basic-svelte__get-time as ada in chat"},
		{"basic-solid", "get-time", clock, click("Get Server Time"), "", "basic-solid__get-time as ada in chat"},
		{"basic-preact", "get-time", clock, click("Get Server Time"), "", "basic-preact__get-time as ada in chat"},
		{"system-monitor", "get-system-info", shown + ".includes('Uptime')", "0", "", "system-monitor__poll-system-stats as ada in chat"},
		{"budget-allocator", "get-budget-data", shown + ".includes('$100,000 / $100,000')", choose("#budget-selector", "250000"), shown + ".includes('$250,000 / $250,000')", ""},
		{"cohort-heatmap", "get-cohort-data", shown + ".includes('M11')", choose("select", "revenue"), "", "cohort-heatmap__get-cohort-data as ada in chat"},
		{"customer-segmentation", "get-customer-data", "/Enterprise\\s*\\(\\d+/.test(" + shown + ")", choose("#x-axis", "nps"), "", "customer-segmentation__get-customer-data as ada in chat"},
		{"scenario-modeler", "get-scenario-data", shown + ".includes('$50K')", choose("input[type=range]", "90000"), shown + ".includes('$90K')", ""},
		{"sheet-music", "play-sheet-music", shown + ".includes('Twinkle')", "0", "document.querySelectorAll('svg path').length > 50", ""},
		{"shadertoy", "render-shadertoy", "document.querySelector('canvas')", "0", "document.querySelector('canvas').width > 300", ""},
		{"transcript", "transcribe", shown + ".includes('Start')", "0", "document.featurePolicy.allowsFeature('microphone') && !document.featurePolicy.allowsFeature('camera') && !document.featurePolicy.allowsFeature('clipboard-write')", ""},
	}
	servers := map[string]any{}
	for _, c := range rows {
		servers[c.server] = entry(t, c.server)
	}
	s := open(t, servers, func(o *apps.Options) { o.Permissions = []string{"microphone"} })
	names := hosttest.Names(s.host)
	for _, name := range []string{"debug-log", "debug-refresh", "poll-system-stats"} {
		assert.Lacks(t, names, name, "the tools of a model")
	}
	b := chromium.Start(t)
	for _, c := range rows {
		t.Run(c.server, func(t *testing.T) {
			s := &site{T: t, host: s.host, apps: s.apps, url: s.url, shown: s.shown, heard: s.heard}
			for len(s.heard) > 0 {
				<-s.heard
			}
			tab := s.show(b, s.call(c.server+"__"+c.tool, "{}"))
			assert.OK(t, tab.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 900, "height": 1000, "deviceScaleFactor": 1, "mobile": false}, nil))
			s.inside(tab, c.ready, "0", nil)
			s.inside(tab, c.ready, c.act, nil)
			if c.then != "" {
				s.inside(tab, c.then, "0", nil)
			} else {
				s.hears(c.heard)
			}
			if *update && !strings.Contains(t.Name(), "#") {
				s.inside(tab, "true", "new Promise((done) => setTimeout(done, 2000))", nil) // what moves has come to rest
				takePicture(t, tab, c.server)
			}
			assert.OK(t, tab.Eval("app.close()", nil))
			tab.AwaitTrue("!document.querySelector('iframe')")
		})
	}
}

// takePicture keeps a picture of a page in the documents.
func takePicture(t *testing.T, tab *chromium.Tab, name string) {
	t.Helper()
	const folder = "../../../docs/images/apps"
	assert.OK(t, os.MkdirAll(folder, 0o755))
	var y int // where it is scrolled to
	assert.OK(t, tab.Eval("Math.round(scrollY)", &y))
	var shot struct{ Data []byte }
	assert.OK(t, tab.Call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 80, "clip": map[string]any{"x": 0, "y": y, "width": 900, "height": 600, "scale": 0.6}}, &shot))
	assert.OK(t, os.WriteFile(filepath.Join(folder, name+".webp"), shot.Data, 0o644))
}
