//go:build integration && unix

package adminpage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
)

// A tab is one of a browser that watches what the page does: it must ask no other origin for
// anything, break no rule of its policy, and fail nowhere.
type tab struct {
	*chromium.Tab
	site *site

	mu       sync.Mutex
	problems []string
	waiting  map[string]string // the addresses of requests without an answer, by ID; that for events has no end
}

// tab opens an empty tab. What the page does that it must not fails the test at its end.
func (s *site) tab(b *chromium.Browser) *tab {
	s.Helper()
	p := &tab{Tab: b.Open(s.T, ""), site: s, waiting: map[string]string{}}
	p.Listen(p.watch)
	for _, domain := range []string{"Page", "Runtime", "Log", "Network", "Audits"} {
		p.do(domain+".enable", nil)
	}
	p.size(1280, 800)
	s.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			p.Errorf("the page: got %s, want none of that", problem)
		}
	})
	return p
}

// do calls a method of the DevTools protocol.
func (p *tab) do(method string, params any) {
	p.Helper()
	assert.OK(p, p.Call(method, params, nil))
}

func (p *tab) watch(method string, params json.RawMessage) {
	var e struct {
		RequestID        string
		Request          struct{ URL string }
		Entry            struct{ Source, Level, Text, URL string }
		Type             string
		Args             []struct{ Value any }
		ExceptionDetails json.RawMessage
		Issue            struct {
			Code    string
			Details json.RawMessage
		}
	}
	if err := json.Unmarshal(params, &e); err != nil {
		return // it has another form, and is not of interest
	}
	problem := ""
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Network.loadingFinished", "Network.loadingFailed":
		delete(p.waiting, e.RequestID)
	case "Page.frameNavigated":
		clear(p.waiting)
	case "Network.requestWillBeSent":
		if !strings.Contains(e.Request.URL, "/api/v1/events") {
			p.waiting[e.RequestID] = e.Request.URL
		}
		if url := e.Request.URL; !strings.HasPrefix(url, p.site.url+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:"+p.site.url) && (p.site.as == nil || !strings.HasPrefix(url, p.site.as.Issuer)) {
			problem = "a request to " + url
		}
	case "Log.entryAdded":
		// Answers that are refusals are in the log, too: the page shows them.
		if e.Entry.Level == "error" && e.Entry.Source != "network" {
			problem = fmt.Sprintf("an entry of the log: %s: %s", e.Entry.Source, e.Entry.Text)
		}
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" {
			problem = fmt.Sprintf("a message in the console: %v", e.Args)
		}
	case "Runtime.exceptionThrown":
		problem = "an exception: " + string(e.ExceptionDetails)
	case "Audits.issueAdded":
		if slices.Contains([]string{"ContentSecurityPolicyIssue", "MixedContentIssue", "CookieIssue", "CorsIssue"}, e.Issue.Code) {
			problem = e.Issue.Code + ": " + string(e.Issue.Details)
		}
	}
	if problem != "" {
		p.problems = append(p.problems, problem)
	}
}

func (p *tab) size(width, height int) {
	p.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640})
}

// theme sets what the system prefers, light or dark, and that nothing is to move.
func (p *tab) theme(name string) {
	p.Helper()
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []any{
		map[string]string{"name": "prefers-color-scheme", "value": name}, map[string]string{"name": "prefers-reduced-motion", "value": "reduce"},
	}})
}

// signIn opens the page as the holder of a key.
func (p *tab) signIn(key string) {
	p.Helper()
	p.Visit(p.site.url + p.site.page.Link(key))
	p.Await("nav")
}

// open opens a view by its address, and waits until it shows what there is.
func (p *tab) open(path string) {
	p.Helper()
	p.Visit(p.site.url + "/admin" + path)
	p.settled(path)
}

// settled waits until the view of a path shows what there is.
func (p *tab) settled(path string) {
	p.Helper()
	want, _, _ := strings.Cut("/admin"+path, "?")
	p.AwaitTrue("location.pathname == " + strconv.Quote(want) + " && document.querySelector('main h1') && document.querySelector('main .view')?.childElementCount > 0")
	p.quiet()
}

// quiet waits until the page has got all that it has asked for, and has drawn it.
func (p *tab) quiet() {
	p.Helper()
	waiting := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting)
	}
	ctx := hosttest.Watchdog(p.T)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting() > 0 || p.Eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => 0)", nil) != nil || waiting() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.Fatalf("got requests without an answer: %v, want none", p.waiting)
		}
	}
}

// has reports whether an expression is true in the page.
func (p *tab) has(expression string) bool {
	p.Helper()
	var is bool
	assert.OK(p, p.Eval("!!("+expression+")", &is))
	return is
}

// awaitText waits until the page shows a text.
func (p *tab) awaitText(text string) {
	p.Helper()
	p.AwaitTrue("document.body.innerText.includes(" + strconv.Quote(text) + ")")
}

// button clicks the button with a text, in the element of a selector that has a text.
func (p *tab) button(in, has, text string) {
	p.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((el) => el.innerText.includes(%q)).flatMap((el) => [...el.querySelectorAll('button, a')]).find((b) => b.textContent.trim() === %q)`, in, has, text)
	p.AwaitTrue(find)
	assert.OK(p, p.Eval(find+".click()", nil))
}

var axe = sync.OnceValues(func() (string, error) {
	cache, err := filepath.Abs("../../../bin/integration")
	if err != nil {
		return "", err
	}
	dir, err := npmdir.Install(context.Background(), filepath.Join("testdata", "npm"), cache)
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(script), err
})

// accessible fails for what axe finds that is serious or critical.
func (p *tab) accessible(where string) {
	p.Helper()
	script, err := axe()
	assert.OK(p, err)
	assert.OK(p, p.Eval("window.axe ? 0 : (() => {"+script+";return 0})()", nil))
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML, FailureSummary string }
	}
	err = p.Eval(`axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => ({html: n.html, failureSummary: n.failureSummary}))})))`, &found)
	assert.OK(p, err)
	for _, v := range found {
		if v.Impact == "serious" || v.Impact == "critical" {
			p.Errorf("%s: got %s (%s): %s: %+v, want it accessible", where, v.ID, v.Impact, v.Help, v.Nodes)
		}
	}
}

// TestTabWatches has a page do what it must not, and its tab see that.
func TestTabWatches(t *testing.T) {
	_, p := openPage(t)
	for _, c := range []struct{ script, want string }{
		{"fetch('http://elsewhere.example/').catch(() => 0)", `"connect-src"`},
		{"document.head.append(Object.assign(document.createElement('style'), {textContent: 'b {}'}))", `"style-src-elem"`},
		{"try { document.createElement('p').innerHTML = '<b>x</b>' } catch {}", "require-trusted-types-for"},
		{"setTimeout(() => { throw new Error('x') })", "an exception"},
		{"console.error('x')", "a message in the console"},
		{"setTimeout(() => { location = 'http://elsewhere.example/' })", "a request to http://elsewhere.example/"},
	} {
		assert.OK(t, p.Eval("(() => {"+c.script+"; return 0})()", nil))
		hosttest.Eventually(t, c.want, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return strings.Contains(strings.Join(p.problems, "\n"), c.want)
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}
