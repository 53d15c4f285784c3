package apps_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// An app is there for the page of its user, at one origin.
func TestBridgeRefuses(t *testing.T) {
	k := newKit(t, nil, nil, nil)
	s := k.call(`{}`)
	as := func(user string) func(*http.Request) {
		return func(r *http.Request) { *r = *r.WithContext(session.WithUser(context.Background(), user)) }
	}
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		path, body string
		edit       func(*http.Request)
		want       int
	}{
		{"/" + s.ID + "/message", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, as("ada"), 200},
		{"/" + s.ID + "/message", `{"jsonrpc":"2.0","method":"notifications/message"}`, as("ada"), 204},
		{"/" + s.ID + "/message", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, as("bob"), 404},
		{"/" + s.ID + "/open", `{}`, as(""), 404},
		{"/another/message", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, as("ada"), 404},
		{"/" + s.ID + "/open", `{}`, with("Origin", "https://evil.example"), 403},
		{"/" + s.ID + "/open", `{}`, with("Sec-Fetch-Site", "cross-site"), 403},
		{"/" + s.ID + "/open", `{}`, func(r *http.Request) { r.Header.Del("Origin") }, 403},
		{"/" + s.ID + "/open", `{}`, func(r *http.Request) { r.Host = "sandbox.example"; r.Header.Set("Origin", "https://sandbox.example") }, 403},
		{"/" + s.ID + "/open", `{}`, as("ada"), 502}, // there is no page
		{"/" + s.ID + "/message", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, as("ada"), 400},
		{"/" + s.ID + "/message", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 9<<20) + `"}`, as("ada"), 413},
		{"/poll", `[]`, as("ada"), 400},
		{"/" + s.ID + "/end", `{}`, as("bob"), 404},
		{"/" + s.ID + "/end", `{}`, as("ada"), 200},
		{"/" + s.ID + "/message", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, as("ada"), 404},
	} {
		status, answer := k.post(c.path, c.body, c.edit)
		assert.Equal(t, status, c.want, "%.90s to %s: %s", c.body, c.path, answer)
	}
}

// An app gets what it was called with and what came of that, whole though the model gets a part, and calls tools of its server, which
// a person may have to approve.
func TestBridge(t *testing.T) {
	ask := registry.ApproverFunc(func(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
		verdict := approval.Allow
		if r.Tool.Origin.Tool == "send" {
			verdict = approval.Ask
		}
		return approval.Decision{Verdict: verdict}, nil
	})
	var said []string
	k := newKit(t, &registry.Options{Approver: ask, Results: &result.Options{MaxBytes: 200}}, func(o *apps.Options) {
		o.Message = func(_ context.Context, _ *apps.Shown, params json.RawMessage) error {
			said = append(said, string(params))
			return nil
		}
	}, nil)
	long := strings.Repeat("long ", 1000)
	k.tool("send", long, sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}})
	hosttest.Eventually(t, "the tool is known", func() bool { _, ok := k.registry.Snapshot().Lookup("clock__send"); return ok })
	s := k.call(`{"a":"` + long + `"}`)
	_, news := k.post("/poll", `{"`+s.ID+`":0,"gone":7}`)
	for _, part := range []string{`"method":"ui/notifications/tool-input","params":{"arguments":{"a":"long `, `"method":"ui/notifications/tool-result"`, long, `"gone":{"last":0,"ended":"it has ended"}`} {
		assert.Contains(t, news, part, "what an app is told")
	}
	assert.Contains(t, k.send(s, "ui/initialize", `{}`), `"protocolVersion":"2026-01-26"`)
	assert.Contains(t, k.send(s, "ui/message", `{"role":"user","content":[]}`), `"result":{}`)
	assert.Equal(t, strings.Join(said, ""), `{"role":"user","content":[]}`, "what the app says")
	assert.Contains(t, k.send(s, "ui/update-model-context", `{}`), "does not take it")
	answer := make(chan string)
	go func() { answer <- k.send(s, "tools/call", `{"name":"send"}`) }()
	var waits []*registry.ApprovalRequest
	hosttest.Eventually(t, "the call waits", func() bool { waits = k.registry.Approvals(k.ctx); return len(waits) == 1 })
	assert.Value(k.registry.Approve(k.ctx, waits[0].ID, nil))(t)
	assert.Contains(t, <-answer, long, "the result of an approved call")
}

// Apps are bounded: what they send, how many a user has, and how long none of them is in a page.
func TestBounds(t *testing.T) {
	for calls, edit := range map[int]func(*apps.Options){32: nil, 1: func(o *apps.Options) { o.IdleTimeout = time.Nanosecond }} {
		k := newKit(t, nil, edit, nil)
		s := k.call(`{}`)
		answers := ""
		for range 1000 {
			answers += k.send(s, "ping", `{}`)
		}
		assert.Contains(t, answers, "too many messages", "the answers to a thousand messages")
		for range calls {
			k.call(`{}`)
		}
		assert.Contains(t, k.send(s, "ping", `{}`), "the app has ended", "after a call that ends the app")
	}
}
