package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// object makes a request, which must succeed, and returns the object of its answer.
func (s *site) object(key, method, path, body string) map[string]any {
	s.t.Helper()
	a := s.do(key, method, path, body, nil)
	var o map[string]any
	assert.OK(s.t, json.Unmarshal([]byte(a.body), &o), "%s %s %s", method, path, body)
	assert.Equal(s.t, a.status, http.StatusOK, "%s %s %s", method, path, body)
	return o
}

// member returns a member of each object of a list.
func member(list []map[string]any, name string) []any {
	var all []any
	for _, one := range list {
		all = append(all, one[name])
	}
	return all
}

// All servers are shown in short, with what their tools cost and how their calls went.
func TestOverviews(t *testing.T) {
	s := openBusy(t)
	assert.Value(s.manager.Host().Registry().Call(t.Context(), "lazy__echo", json.RawMessage(`{"text":"go"}`)))(t)
	if _, err := s.manager.Host().Registry().Call(t.Context(), "lazy__echo", json.RawMessage(`{"text":5}`)); err == nil {
		t.Error("call with wrong arguments: got no error, want one") // which takes no time of the server
	}
	hosttest.Eventually(t, "the calls are told of", func() bool { return len(s.get("viewer", "/api/v1/activity?server=lazy&kind=call")) == 2 })
	all := map[string]map[string]any{}
	for _, one := range s.get("viewer", "/api/v1/servers") {
		all[one["name"].(string)] = one
	}
	lazy := all["lazy"]
	assert.Equal(t, len(lazy["latencyMs"].([]any)), 1, "latencies of lazy")
	delete(lazy, "latencyMs")
	delete(lazy, "stage") // it may rest again
	expectFields(t, "lazy", lazy, `{"name":"lazy","id":"*","builtin":false,"local":true,"state":"healthy","tools":1,"quarantined":0,"decisions":0,"tokens":`+number(lazy["tokens"])+`,
		"calls":{"ended":1,"failed":0,"inFlight":0}}`)
	n, _ := lazy["tokens"].(float64)
	assert.True(t, n >= 10 && n <= 200, "%v tokens are those of a small tool", n)
	expectFields(t, "held", all["held"], `{"name":"held","id":"*","builtin":false,"local":true,"stage":"quarantined","state":"unhealthy","tools":0,"quarantined":1,"decisions":1,"tokens":0,
		"calls":{"ended":0,"failed":0,"inFlight":0},"latencyMs":[],"action":"accept","cure":"*"}`)
	assert.True(t, all["proposed"]["error"] != nil, "an error of proposed")
	assert.Contains(t, fmt.Sprint(all["proposed"]["cure"]), "allow the launch", "the cure of proposed")
	assert.Equal[any](t, all["remote"]["local"], false, "remote: local")
}

// The latencies are those of the last calls of each server, in their order.
func TestLatencies(t *testing.T) {
	feed := admin.NewFeed(nil)
	s := open(t, &host.Options{}, &admin.Options{Feed: feed}, &config.Server{Name: "a", URL: "https://a.example/mcp"})
	var events []activity.Event
	for i := range 40 {
		events = append(events,
			activity.Event{Kind: "call", Server: "a", Duration: time.Duration(i) * time.Millisecond},
			activity.Event{Kind: "call", Server: "b", Duration: time.Hour},
			activity.Event{Kind: "state", Server: "a", Duration: time.Hour})
	}
	assert.OK(t, feed.Write(t.Context(), events))
	got := s.get("viewer", "/api/v1/servers")[0]["latencyMs"].([]any)
	assert.Equal(t, len(got), 30)
	assert.Equal[any](t, got[0], 10.0)
	assert.Equal[any](t, got[29], 39.0)
}

// Each tool is shown, also one that is held back or was not let in, and why.
func TestTools(t *testing.T) {
	s := openBusy(t)
	list := s.get("viewer", "/api/v1/tools")
	tools := map[any]map[string]any{}
	for _, one := range list {
		tools[one["name"]] = one
	}
	for name, state := range map[string]string{"lazy__echo": "listed", "held__echo": "quarantined"} {
		one := tools[name]
		assert.Equal[any](t, one["state"], state, "%s", name)
		assert.Equal(t, one["reason"] == nil, state == "listed", "%s", name)
	}
	got := s.object("viewer", "GET", "/api/v1/tools/lazy__echo", "")
	expectFields(t, "lazy__echo", got, `{"name":"lazy__echo","server":"lazy","tool":"echo","tokens":`+number(got["tokens"])+`,"state":"listed","hints":{},"inputSchema":"*"}`)
	assert.Equal[any](t, got["tokens"], tools["lazy__echo"]["tokens"], "tokens, alone and in the list")
	for path, status := range map[string]int{"held__echo": 200, "none": 404, url.PathEscape("../tools"): 404} {
		assert.Equal(t, s.do("viewer", "GET", "/api/v1/tools/"+path, "", nil).status, status, "%s", path)
	}
}

// A call goes the way of all calls: it is decided, recorded, and made for the caller's user.
func TestCallTool(t *testing.T) {
	s := openBusy(t)
	call := func(body string) map[string]any {
		return s.object("owner", "POST", "/api/v1/tools/lazy__echo/call", body)
	}
	got := call(`{"arguments":{"text":"go"}}`)
	assert.Equal[any](t, got["outcome"], "ok", "a call")
	assert.Contains(t, fmt.Sprint(got["result"]), "go", "a call")
	waits := call(`{"arguments":{"text":"stop"}}`)
	assert.Equal(t, fmt.Sprintf("%v %v", waits["outcome"], waits["result"]), "asked <nil>", "a call to approve")
	ids := member(s.get("viewer", "/api/v1/calls"), "id")
	assert.True(t, slices.Contains(ids, waits["waiting"]), "waiting calls: %v among them", waits["waiting"])
	for _, body := range []string{`{"arguments":{"text":5}}`, `{"arguments":[]}`} {
		got := call(body)
		assert.Equal(t, fmt.Sprintf("%v %v", got["outcome"], got["error"] != nil), "bad_arguments true", "%s", body)
	}
	for _, name := range []string{"none", "held__echo", "lazy_echo", "rests__echo"} {
		assert.Equal(t, s.do("owner", "POST", "/api/v1/tools/"+name+"/call", "{}", nil).status, http.StatusNotFound, "%s", name)
	}
	hosttest.Eventually(t, "the calls are recorded", func() bool {
		return len(s.get("viewer", "/api/v1/activity?tool=echo&outcome=ok")) == 1
	})
}

// An operator calls tools of remote servers. A tool of the program may call any other.
func TestOperatorsCallRemoteTools(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{Name: "remote", URL: "https://a.example/mcp"}, &config.Server{Name: "runs", Command: "x"})
	native := assert.Value(registry.Func("native", "Does it", func(context.Context, struct{}) (string, error) { return "done", nil }))(t)
	assert.OK(t, s.manager.Host().Registry().Add(native))
	for name, status := range map[string]int{"remote__echo": 200, "runs__echo": 403, "native": 403} {
		assert.Equal(t, s.do("operator", "POST", "/api/v1/tools/"+name+"/call", `{"arguments":{}}`, nil).status, status, "%s", name)
	}
	assert.Equal[any](t, s.object("owner", "POST", "/api/v1/tools/native/call", `{}`)["outcome"], "ok", "native as owner")
}

// What keeps a tool back is named, and nothing is started for that.
func TestWhy(t *testing.T) {
	s := openBusy(t)
	assert.Value(s.manager.Add(t.Context(), &config.Server{Name: "some", URL: "https://b.example/mcp", Tools: config.ToolFilter{Deny: []string{"echo"}}}))(t)
	s.settle()
	poll := registry.Remote("apps", &mcp.Tool{Name: "poll", Meta: mcp.Meta{"ui": map[string]any{"visibility": []any{"app"}}}}, new(mcp.Client).CallTool)
	assert.OK(t, assert.Err(s.manager.Host().Registry().Replace(registry.Server{Name: "apps"}, []registry.Tool{poll})))
	before := s.launches.Load()
	for name, want := range map[string]struct {
		where   string
		offered bool
	}{
		"lazy__echo": {"list", true}, "held__echo": {"ledger", false}, "rests__echo": {"enabled", false}, "proposed__x": {"launch", false},
		"lazy__none": {"list", false}, "some__echo": {"filter", false}, "some__other": {"list", false}, "nothing": {"name", false}, "apps__poll": {"list", false},
	} {
		got := s.object("viewer", "GET", "/api/v1/why?name="+name, "")
		var reasons []map[string]any
		assert.OK(t, json.Unmarshal([]byte(number(got["reasons"])), &reasons))
		assert.Equal(t, fmt.Sprint(got["offered"], member(reasons, "where")[:1]), fmt.Sprint(want.offered, []string{want.where}), "%s", name)
	}
	assert.Lacks(t, s.do("owner", "GET", "/api/v1/tools", "", nil).body, "apps__poll")
	assert.Equal[any](t, s.object("owner", "POST", "/api/v1/tools/apps__poll/call", "{}")["outcome"], "unknown_tool", "a call of what apps alone may call")
	assert.Equal(t, s.launches.Load(), before, "processes")
	for _, name := range []string{"", strings.Repeat("x", 1000)} {
		assert.Equal(t, s.do("viewer", "GET", "/api/v1/why?name="+name, "", nil).status, http.StatusBadRequest, "a name of %d bytes", len(name))
	}
}

// A tool that the policy denies to the caller is not offered to them, though it is listed.
func TestWhyOfDenied(t *testing.T) {
	deny := assert.Value(policy.New(approval.Deny))(t)
	s := open(t, &host.Options{Registry: registry.New(&registry.Options{Approver: deny})}, &admin.Options{}, &config.Server{Name: "a", URL: "https://a.example/mcp"})
	got := s.object("viewer", "GET", "/api/v1/why?name=a__echo", "")
	assert.Equal[any](t, got["offered"], false)
	assert.Contains(t, number(got["reasons"]), `"where":"policy"`)
	got = s.object("operator", "POST", "/api/v1/tools/a__echo/call", `{"arguments":{"text":"x"}}`)
	assert.Equal(t, fmt.Sprintf("%v %v", got["outcome"], got["result"]), "denied <nil>", "a call")
}

// BenchmarkListAllTools lists 10,000 tools, whose tokens are known already.
func BenchmarkListAllTools(b *testing.B) {
	h := newLarge(b, 10_000)
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/tools", nil))
		b.ReportMetric(float64(w.Body.Len())/10_000, "bytes/tool")
		assert.Equal(b, w.Code, http.StatusOK)
	}
}

// newLarge returns a handler with so many tools of 100 servers, for any caller.
func newLarge(b *testing.B, tools int) http.Handler {
	b.Helper()
	r := registry.New(nil)
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"` + strings.Repeat("The path of what is meant. ", 20) + `"},"depth":{"type":"integer"}},"required":["path"]}`)
	for server := range 100 {
		var list []registry.Tool
		for i := range tools / 100 {
			list = append(list, fakeTool{&registry.Definition{
				Description: strings.Repeat("It does one thing and does it well. ", 20), InputSchema: schema,
				Origin: registry.Origin{Server: fmt.Sprint("server", server), Tool: fmt.Sprint("tool", i)},
			}})
		}
		assert.Value(r.Replace(registry.Server{Name: fmt.Sprint("server", server)}, list))(b)
	}
	m := manage.New(host.New(&host.Options{Registry: r, StateDir: host.NoState}), record.NewMemoryStore(), nil)
	b.Cleanup(func() { _ = m.Close() })
	h := assert.Value(admin.Handler(m, &admin.Options{
		Authenticate: func(*http.Request) (*access.Caller, error) { return &access.Caller{}, nil },
		Roles:        func(*access.Caller) []admin.Role { return []admin.Role{admin.View} },
	}))(b)
	return h
}

type fakeTool struct{ def *registry.Definition }

func (t fakeTool) Definition() *registry.Definition { return t.def }

func (t fakeTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}
