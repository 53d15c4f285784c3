package seedrows

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	regnames "github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// The requests of the document, and its answers.
const (
	handsaiCreateIssue = `{"name": "github-create-issue", "arguments": {"owner": "facebook", "repo": "react", "title": "Bug in useEffect",
		"body": "Found an issue with..."}}`
	handsaiIssue     = `{"id": 42, "number": 1234, "state": "open"}`
	handsaiSendEmail = `{"name": "resend-send-email", "arguments": {"from": "Acme <[email protected]>", "to": "[email protected]", "subject": "Welcome to Acme",
		"html": "<h1>Welcome!</h1>"}}`
	handsaiEmail  = `{"id": "abc123", "from": "[email protected]", "to": ["[email protected]"], "created_at": "2024-01-15T10:00:00Z"}`
	handsaiSchema = `{"type": "object", "properties": {"owner": {"type": "string", "description": "Repository owner (user or organization)"},
		"repo": {"type": "string", "description": "Repository name"}, "title": {"type": "string", "description": "Issue title"},
		"body": {"type": "string", "description": "Issue description (supports Markdown)"}}, "required": ["owner", "repo", "title"]}`
)

// handsaiAPIs are the APIs behind the document's tools.
const handsaiAPIs = `{"apis": [
	{"name": "github", "baseUrl": "https://api.github.com", "endpoints": [
		{"name": "github-create-issue", "description": "Creates a new issue in a GitHub repository.", "method": "POST", "path": "/repos/{owner}/{repo}/issues", "params": [
			{"name": "owner", "in": "path", "description": "Repository owner (user or organization)"},
			{"name": "repo", "in": "path", "description": "Repository name"},
			{"name": "title", "in": "body", "required": true, "description": "Issue title"},
			{"name": "body", "in": "body", "description": "Issue description (supports Markdown)"}
		]}
	]},
	{"name": "resend", "baseUrl": "https://api.resend.com", "endpoints": [
		{"name": "resend-send-email", "method": "POST", "path": "/emails", "params": [
			{"name": "from", "in": "body"}, {"name": "to", "in": "body"}, {"name": "subject", "in": "body"}, {"name": "html", "in": "body"}
		]}
	]}
]}`

// handsaiWeb answers as the document's APIs do, and says what it was asked.
func handsaiWeb(t *testing.T, seen func(r *http.Request, body string)) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r, body(r))
		w.Header().Set("Content-Type", "application/json")
		text := handsaiIssue
		if r.URL.Path == "/emails" {
			text = handsaiEmail
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// handsaiLocal lets APIs be on this machine.
var handsaiLocal = rest.Network{AllowHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// handsaiService is the API of that index at another address.
func handsaiService(t *testing.T, index int, at string, edit func(*rest.API), opts *rest.Options) *rest.Service {
	t.Helper()
	api := assert.Value(rest.Parse([]byte(handsaiAPIs)))(t)[index]
	api.BaseURL = at
	if edit != nil {
		edit(api)
	}
	if opts == nil {
		opts = &rest.Options{Network: handsaiLocal}
	}
	s := assert.Value(rest.New(api, opts))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// handsaiCall makes the call of a request's params.
func handsaiCall(t *testing.T, r *registry.Registry, params string) (*mcp.CallToolResult, error) {
	t.Helper()
	p := decode[struct {
		Name      string
		Arguments json.RawMessage
	}](t, params)
	return r.Call(patience(t), p.Name, p.Arguments)
}

// handsaiRegistry lists the tools under their own names.
func handsaiRegistry(t *testing.T, opts *registry.Options, services ...*rest.Service) *registry.Registry {
	t.Helper()
	o := registry.Options{}
	if opts != nil {
		o = *opts
	}
	o.Names = regnames.BareTool
	r := registry.New(&o)
	for _, s := range services {
		assert.Value(s.Publish(r))(t)
	}
	return r
}

func TestHandsAI(t *testing.T) { t.Parallel(); run(t, handsai) }

var handsai = []row{
	{31, func(t *testing.T) {
		for _, at := range []string{"https://169.254.169.254", "https://10.0.0.1"} {
			apis := assert.Value(rest.Parse([]byte(strings.ReplaceAll(handsaiAPIs, "https://api.github.com", at))))(t)
			s, err := rest.New(apis[0], &rest.Options{Network: rest.Network{PublicOnly: true}})
			if err != nil {
				continue // refused at once
			}
			assert.Equal(t, mcp.OutcomeOf(assert.Err(handsaiCall(t, handsaiRegistry(t, nil, s), handsaiCreateIssue))), mcp.NotSent, "%s", at)
			_ = s.Close()
		}
		as := authtest.NewServer(t, nil)
		rs := as.NewMCP(&authtest.ResourceOptions{Metadata: func(d map[string]any) { d["authorization_servers"] = []string{"http://169.254.169.254"} }})
		logins, err := login.New(session.Memory(), &login.Options{
			Session:   session.Options{RedirectURL: "http://127.0.0.1:1/callback"},
			Configure: func(*config.Server, *auth.Config) error { return nil },
		})
		assert.OK(t, err)
		t.Cleanup(func() { _ = logins.Close() })
		h := open(t, "mcp.json", `{"mcpServers":{"s":{"url":"`+rs.URL+`"}}}`, &host.Options{Logins: logins})
		assert.True(t, assert.Err(h.Login(patience(t), session.Key{Server: "s"})) != nil, "a login at an address of this network is refused")
	}},
	{49, func(t *testing.T) {
		var path, sent string
		web := handsaiWeb(t, func(r *http.Request, body string) { path, sent = r.Method+" "+r.URL.Path, body })
		r := handsaiRegistry(t, nil, handsaiService(t, 0, web, nil, nil), handsaiService(t, 1, web, nil, nil))
		tool, _ := r.Snapshot().Lookup("github-create-issue")
		assert.Equal(t, tool.Definition().Description, "Creates a new issue in a GitHub repository.", "description")
		got, want := decode[map[string]any](t, string(tool.Definition().InputSchema)), decode[map[string]any](t, handsaiSchema)
		for key, value := range want {
			assert.Equal(t, encode(t, got[key]), encode(t, value), "schema: %s", key)
		}
		for params, want := range map[string][3]string{
			handsaiCreateIssue: {"POST /repos/facebook/react/issues", `{"title":"Bug in useEffect","body":"Found an issue with..."}`, handsaiIssue},
			handsaiSendEmail:   {"POST /emails", `{"from":"Acme <[email protected]>","to":"[email protected]","subject":"Welcome to Acme","html":"<h1>Welcome!</h1>"}`, handsaiEmail},
		} {
			res := assert.Value(handsaiCall(t, r, params))(t)
			assert.Equal(t, path, want[0], "request")
			assert.Equal(t, encode(t, decode[map[string]any](t, sent)), encode(t, decode[map[string]any](t, want[1])), "its body")
			assert.Equal(t, result.Text(res), want[2], "result")
		}
	}},
	{50, func(t *testing.T) {
		var fetched, called atomic.Int32
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.URL.Path == "/token":
				fmt.Fprintf(w, `{"data":{"access_token":"token-%d"}}`, fetched.Add(1))
			case r.Header.Get("Authorization") == "Bearer token-1":
				called.Add(1)
				fmt.Fprint(w, `{"error":"token_expired"}`) // with status 200
			default:
				called.Add(1)
				fmt.Fprint(w, handsaiIssue)
			}
		}))
		t.Cleanup(web.Close)
		s := handsaiService(t, 0, web.URL, func(a *rest.API) {
			a.Auth = rest.Auth{Type: rest.FetchToken, Token: &rest.TokenRequest{URL: web.URL + "/token", Extract: "data.access_token", Rejected: []string{"token_expired"}}}
		}, nil)
		assert.Equal(t, result.Text(assert.Value(handsaiCall(t, handsaiRegistry(t, nil, s), handsaiCreateIssue))(t)), handsaiIssue, "result")
		assert.Equal(t, fmt.Sprint(fetched.Load(), called.Load()), "2 2", "tokens fetched and calls made")

		var header string
		at := handsaiWeb(t, func(r *http.Request, _ string) { header = r.Header.Get("X-API-Key") })
		s = handsaiService(t, 0, at, func(a *rest.API) {
			a.Auth = rest.Auth{Type: rest.APIKey, In: rest.InHeader, Name: "X-API-Key", Value: "made-up"}
		}, nil)
		assert.Value(handsaiCall(t, handsaiRegistry(t, nil, s), handsaiCreateIssue))(t)
		assert.Equal(t, header, "made-up", "the key")
	}},
	{51, func(t *testing.T) {
		s := handsaiService(t, 0, "http://127.0.0.1:1", nil, nil)
		r := handsaiRegistry(t, nil, s)
		_, err := r.Call(patience(t), "github-create-issue", json.RawMessage(`{"repo":"react","title":"Bug"}`))
		assert.Equal(t, registry.ErrorCode(err), -32602, "a parameter that is missing")
		assert.Contains(t, err.Error(), "owner", "its message")
		// The document has -32603 for a tool that is not there. The specification of MCP has
		// -32602, and a gateway for HandsAI's clients has to say which one it takes.
		_, err = r.Call(patience(t), "invalid-tool", nil)
		assert.Equal(t, registry.ErrorCode(err), -32602, "a tool that is not there")
		// MCP has failures of a tool in its result; the error beside it has the document's code.
		failure := func(r *registry.Registry) error {
			t.Helper()
			res := assert.Value(handsaiCall(t, r, handsaiCreateIssue))(t)
			assert.True(t, res.IsError, "it is an error")
			return res.Err
		}
		assert.Equal(t, registry.ErrorCode(failure(r)), -32603, "a network error")
		refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
		t.Cleanup(refused.Close)
		s = handsaiService(t, 0, refused.URL, func(a *rest.API) {
			a.Auth = rest.Auth{Type: rest.FetchToken, Token: &rest.TokenRequest{URL: refused.URL}}
		}, nil)
		err = failure(handsaiRegistry(t, nil, s))
		assert.Equal(t, registry.ErrorCode(err), -32603, "no token")
		assert.Contains(t, err.Error(), "401", "its message")
	}},
	{52, func(t *testing.T) {
		s := handsaiService(t, 0, handsaiWeb(t, func(*http.Request, string) {}), nil, nil)
		r := handsaiRegistry(t, nil, s)
		assert.OK(t, s.SetEnabled("github-create-issue", false))
		assert.Value(s.Publish(r))(t)
		assert.Equal(t, names(r), "", "tools after the only one was switched off")
		apis, err := rest.Parse([]byte(strings.Replace(handsaiAPIs, `"path": "/emails"`, `"path": 7`, 1)))
		assert.True(t, err != nil && apis == nil, "all or nothing")
		apis = assert.Value(rest.Parse([]byte(handsaiAPIs)))(t)
		apis[0].Auth = rest.Auth{Type: rest.Bearer, Value: "made-up-token"}
		data, placeholders, err := rest.Export(apis...)
		assert.OK(t, err)
		assert.False(t, strings.Contains(string(data), "made-up-token"), "the token is exported")
		assert.Equal(t, len(placeholders), 1, "placeholders")
		t.Run("healthy", func(t *testing.T) {
			var well atomic.Bool
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !well.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
			t.Cleanup(web.Close)
			s := handsaiService(t, 0, web.URL, func(a *rest.API) { a.HealthPath = "/health" }, nil)
			r := handsaiRegistry(t, nil, s)
			for _, healthy := range []bool{false, true} { // as a program asks now and then
				well.Store(healthy)
				tools := s.Tools()
				if s.Health(patience(t)) != nil {
					tools = nil
				}
				assert.Value(r.Replace(s.Server(), tools))(t)
				assert.Equal(t, names(r) == "github-create-issue", healthy, "tools are listed")
			}
		})
	}},
	{53, func(t *testing.T) {
		secret := "gh" + "p_" + strings.Repeat("a1B2", 9)
		var sent string
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent = body(r)
			fmt.Fprint(w, "the key is "+secret)
		}))
		t.Cleanup(web.Close)
		r := handsaiRegistry(t, &registry.Options{
			RedactArguments: true, Results: &result.Options{Redact: true, Wrap: true},
		}, handsaiService(t, 0, web.URL, nil, nil))
		var seen []registry.Observation
		r.Observe(func(_ context.Context, o *registry.Observation) { seen = append(seen, *o) })
		res := assert.Value(handsaiCall(t, r, strings.Replace(handsaiCreateIssue, "Found an issue with...", secret, 1)))(t)
		assert.True(t, len(seen) == 1 && seen[0].RedactedArguments && seen[0].RedactedResult, "observers see that secrets were taken out")
		assert.Contains(t, result.Text(res), "<untrusted-content nonce=", "wrapped")
		assert.False(t, strings.Contains(result.Text(res), secret), "the secret is in the result")
		assert.Contains(t, sent, "[redacted", "what was sent")
		assert.False(t, strings.Contains(sent, secret), "the secret was sent")
	}},
	{61, func(t *testing.T) {
		const many = 100
		all := make(chan struct{})
		var running atomic.Int32
		var once sync.Once
		web := handsaiWeb(t, func(*http.Request, string) {
			if running.Add(1) == many { // all of them are under way
				once.Do(func() { close(all) })
			}
			<-all
		})
		r := handsaiRegistry(t, nil, handsaiService(t, 0, web, nil, nil))
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range many {
			wg.Go(func() {
				if _, err := handsaiCall(t, r, handsaiCreateIssue); err != nil {
					failed.Add(1)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, failed.Load(), 0, "calls that failed")
	}},
}
