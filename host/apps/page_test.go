package apps_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A page is shown with the headers that the specification makes of what its server declares, or is refused.
func TestPages(t *testing.T) {
	const kind, html = "text/html;profile=mcp-app", "<p>clock"
	const closed = "default-src 'none'; connect-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; " +
		"frame-src 'none'; object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors http://program.example"
	var contents *sdk.ResourceContents
	k := newKit(t, nil, func(o *apps.Options) { o.Permissions = []string{"microphone"} }, func() *sdk.ResourceContents { return contents })
	csp := func(csp string) string { return `{"csp":` + csp + `}` }
	for _, c := range []struct {
		kind, html, ui string
		want           string // a part of the headers, or of why it is refused
	}{
		{kind, html, ``, closed},
		{"text/html; profile=mcp-app", html, `{}`, closed},
		{kind, html, csp(`{}`), "connect-src 'self'; font-src 'self'; script-src 'self' 'unsafe-inline';"},
		{kind, html, csp(`{"connectDomains":["https://api.example","wss://*.b.example:8443/"]}`), "connect-src 'self' https://api.example wss://*.b.example:8443/;"},
		{kind, html, csp(`{"connectDomains":["https://api.example","wss://*.b.example:8443/"]}`), `(response-origin "https://api.example" "wss://*.b.example:8443");redirects=allow;webrtc=block`},
		{kind, html, csp(`{"resourceDomains":["https://cdn.example"]}`), "img-src 'self' data: https://cdn.example; media-src 'self' data: https://cdn.example; frame-src 'none';"},
		{kind, html, csp(`{"frameDomains":["https://v.example"],"baseUriDomains":["https://b.example"]}`), "frame-src https://v.example; object-src 'none'; base-uri https://b.example;"},
		{kind, html, `{"permissions":{"camera":{},"microphone":{},"usb":{}},"prefersBorder":true}`, `"allow":"microphone"`},
		{"text/html", html, ``, `its type is "text/html"`},
		{kind, "", ``, "it is empty"},
		{kind, "\xff", ``, "no UTF-8"},
		{kind, strings.Repeat("x", 8<<20+1), ``, "it has 8388609 bytes, at most 8388608 are shown"},
		{kind, html, csp(`"open"`), "cannot be read"},
		{kind, html, csp(`{"connectDomains":["*"]}`), `declares "*" in connectDomains`},
		{kind, html, csp(`{"connectDomains":["https:"]}`), `declares "https:"`},
		{kind, html, csp(`{"connectDomains":["https://*"]}`), `declares "https://*"`},
		{kind, html, csp(`{"resourceDomains":["https://*.example"]}`), `in resourceDomains`},
		{kind, html, csp(`{"resourceDomains":["data:"]}`), `declares "data:"`},
		{kind, html, csp(`{"resourceDomains":["'unsafe-eval'"]}`), `unsafe-eval`},
		{kind, html, csp(`{"frameDomains":["https://a.example; script-src *"]}`), `in frameDomains`},
		{kind, html, csp(`{"baseUriDomains":["https://a.example https://b.example"]}`), `in baseUriDomains`},
		{kind, html, csp(`{"connectDomains":["https://a.example\u000aX: 1"]}`), `in connectDomains`},
		{kind, html, csp(`{"connectDomains":[` + strings.Repeat(`"https://a.example",`, 64) + `"https://a.example"]}`), "declares 65 connectDomains"},
	} {
		contents = &sdk.ResourceContents{URI: "ui://clock", MIMEType: c.kind, Blob: []byte(c.html)}
		if c.ui != "" {
			assert.OK(t, json.Unmarshal([]byte(`{"ui":`+c.ui+`}`), &contents.Meta))
		}
		status, answer := k.post("/"+k.call(`{}`).ID+"/open", "{}")
		var opened struct{ Sandbox, HTML, Error string }
		assert.OK(t, json.Unmarshal([]byte(answer), &opened))
		if status != http.StatusOK {
			assert.Contains(t, opened.Error, c.want, "the page %.20s with %s", c.html, c.ui)
			assert.Contains(t, opened.Error, `the page "ui://clock" of tool "show" of server "clock" is not shown`)
			continue
		}
		w := httptest.NewRecorder()
		k.apps.Sandbox().ServeHTTP(w, httptest.NewRequest("GET", opened.Sandbox, nil))
		assert.Equal(t, opened.HTML, c.html, "the page")
		assert.Contains(t, w.Header().Get("Content-Security-Policy")+";\n"+w.Header().Get("Connection-Allowlist")+"\n"+answer, c.want, "the page with %s", c.ui)
		assert.Contains(t, w.Body.String(), `const host = "http://program.example"`, "the proxy")
	}
}

// A page that has changed is held back until it is accepted. What is listed of a resource counts where its content says nothing.
func TestChangedPage(t *testing.T) {
	html := "<p>clock"
	l := ledger.New(nil)
	k := newKit(t, &registry.Options{Ledger: l}, nil, func() *sdk.ResourceContents {
		return &sdk.ResourceContents{URI: "ui://clock", MIMEType: "text/html;profile=mcp-app", Text: html}
	})
	opened := func(want int, part string) {
		t.Helper()
		status, answer := k.post("/"+k.call(`{}`).ID+"/open", "{}")
		assert.Equal(t, status, want, "the status of %s", answer)
		assert.Contains(t, answer, part)
	}
	opened(http.StatusOK, "clock")
	html = "<script>"
	opened(http.StatusConflict, "/description: was")
	assert.OK(t, l.Accept(t.Context(), "ada", l.Pending()...))
	opened(http.StatusOK, "script")
}
