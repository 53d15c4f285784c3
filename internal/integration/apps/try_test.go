// Tests of apps on the admin page, where tools are tried.

//go:build integration && unix

package apps

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/registry"
)

// The app of a tool that is tried is shown below the result, and calls back as the one who tries it; nobody else can use it.
func TestTriedTool(t *testing.T) {
	s := open(t, map[string]any{"cohort-heatmap": entry(t, "cohort-heatmap")}, nil)
	roles := map[string][]admin.Role{"grace": {admin.Operate, admin.StdioWrite}, "alan": {admin.Operate, admin.StdioWrite}, "bob": {admin.Operate}, "eve": {admin.View}}
	api := assert.Value(admin.Handler(manage.New(s.host, record.NewMemoryStore(), nil), &admin.Options{
		Apps: s.apps, Roles: func(c *access.Caller) []admin.Role { return roles[c.User] },
		Authenticate: func(r *http.Request) (*access.Caller, error) {
			name, err := access.BearerToken(r)
			return &access.Caller{User: name}, err
		},
	}))(t)
	shows := assert.Value(page.New(api))(t)
	shows.ShowApps(s.apps)
	web := httptest.NewServer(shows)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	tab := chromium.Start(t).Open(t, web.URL+shows.Link("grace"))
	assert.OK(t, tab.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 900, "height": 600, "deviceScaleFactor": 1, "mobile": false}, nil))
	tab.Await("nav")
	tab.Visit(web.URL + "/admin/tools/cohort-heatmap__get-cohort-data")
	tab.AwaitTrue("document.querySelector('.try button.primary')")
	assert.OK(t, tab.Eval("document.querySelector('.try button.primary').click()", nil))
	tab.AwaitTrue("document.querySelector('.note button.primary')")
	assert.OK(t, tab.Eval("document.querySelector('.note button.primary').click()", nil))
	tab.AwaitTrue("document.querySelector('iframe')")
	for _, do := range []string{choose("select", "revenue"), "0"} { // it calls the tool for itself, and again for what is chosen
		var waits []*registry.ApprovalRequest
		hosttest.Eventually(t, "a call of the app waits", func() bool { waits = s.host.Registry().Approvals(t.Context()); return len(waits) == 1 })
		assert.Equal(t, waits[0].Tool.Name+" of "+waits[0].User, "cohort-heatmap__get-cohort-data of grace")
		assert.Value(s.host.Registry().Approve(hosttest.Watchdog(t), waits[0].ID, nil))(t)
		s.inside(tab, "document.body.innerText.includes('M11')", do, nil)
	}
	if *update {
		tab.AwaitTrue("document.querySelector('iframe').offsetHeight === 600")
		assert.OK(t, tab.Eval("document.querySelector('[aria-label=App]').scrollIntoView()", nil))
		takePicture(t, tab, "try")
	}
	assert.OK(t, tab.Eval("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Close the app').click()", nil))
	tab.AwaitTrue("!document.querySelector('iframe')")

	var id string
	assert.OK(t, tab.Eval(`(async () => {
		window.post = (user, path, body) => fetch("/api/v1/tools/cohort-heatmap__get-cohort-data/" + path, {method: "POST", body, headers: {Authorization: "Bearer " + user, "Content-Type": "application/json"}});
		return JSON.parse((await (await post("alan", "try", "{}")).text()).split("event: end\ndata: ")[1]).app.id;
	})()`, &id))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get-cohort-data"}}`
	for _, c := range []struct {
		user, verb, body string
		want             int
	}{
		{"eve", "open", "{}", 403}, {"eve", "message", call, 403}, // who may look alone
		{"bob", "message", call, 403},   // its server is a process
		{"grace", "message", call, 404}, // it is alan's
		{"alan", "open", "{}", 200}, {"alan", "message", call, 200}, {"alan", "end", "{}", 200}, {"alan", "message", call, 404},
	} {
		var status int
		assert.OK(t, tab.Eval(fmt.Sprintf("post(%q, %q, %q).then((r) => r.status)", c.user, "apps/"+id+"/"+c.verb, c.body), &status))
		assert.Equal(t, status, c.want, "%s %s", c.user, c.verb)
	}
}
