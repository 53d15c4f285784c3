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
	"time"

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
	handsaiCreateIssue = `{
    "name": "github-create-issue",
    "arguments": {
      "owner": "facebook",
      "repo": "react",
      "title": "Bug in useEffect",
      "body": "Found an issue with..."
    }
  }`
	handsaiIssue     = `{"id": 42, "number": 1234, "state": "open"}`
	handsaiSendEmail = `{
    "name": "resend-send-email",
    "arguments": {
      "from": "Acme <[email protected]>",
      "to": "[email protected]",
      "subject": "Welcome to Acme",
      "html": "<h1>Welcome!</h1>"
    }
  }`
	handsaiEmail  = `{"id": "abc123", "from": "[email protected]", "to": ["[email protected]"], "created_at": "2024-01-15T10:00:00Z"}`
	handsaiSchema = `{
          "type": "object",
          "properties": {
            "owner": {
              "type": "string",
              "description": "Repository owner (user or organization)"
            },
            "repo": {
              "type": "string",
              "description": "Repository name"
            },
            "title": {
              "type": "string",
              "description": "Issue title"
            },
            "body": {
              "type": "string",
              "description": "Issue description (supports Markdown)"
            }
          },
          "required": ["owner", "repo", "title"]
        }`
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
	t.Helper()
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
	apis := assert.Value(rest.Parse([]byte(handsaiAPIs)))(t)
	api := apis[index]
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
	o.Names = regnames.Names{Scheme: regnames.BareTool}
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
			apis, err := rest.Parse([]byte(strings.ReplaceAll(handsaiAPIs, "https://api.github.com", at)))
			if err != nil {
				t.Fatal(err)
			}
			s, err := rest.New(apis[0], &rest.Options{Network: rest.Network{PublicOnly: true}})
			if err != nil {
				continue // refused at once
			}
			_, err = handsaiCall(t, handsaiRegistry(t, nil, s), handsaiCreateIssue)
			equal(t, at, mcp.OutcomeOf(err), mcp.NotSent)
			_ = s.Close()
		}
		as := authtest.NewServer(t, nil)
		rs := as.NewMCP(&authtest.ResourceOptions{Metadata: func(d map[string]any) { d["authorization_servers"] = []string{"http://169.254.169.254"} }})
		logins, err := login.New(session.Memory(), &login.Options{
			Session:   session.Options{RedirectURL: "http://127.0.0.1:1/callback"},
			Configure: func(*config.Server, *auth.Config) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = logins.Close() })
		h := open(t, "mcp.json", `{"mcpServers":{"s":{"url":"`+rs.URL+`"}}}`, &host.Options{Logins: logins})
		_, err = h.Login(patience(t), session.Key{Server: "s"})
		equal(t, "a login at an address of this network is refused", err != nil, true)
	}},
	{49, func(t *testing.T) {
		var path, sent string
		web := handsaiWeb(t, func(r *http.Request, body string) { path, sent = r.Method+" "+r.URL.Path, body })
		r := handsaiRegistry(t, nil, handsaiService(t, 0, web, nil, nil), handsaiService(t, 1, web, nil, nil))
		tool, _ := r.Snapshot().Lookup("github-create-issue")
		equal(t, "description", tool.Definition().Description, "Creates a new issue in a GitHub repository.")
		got, want := decode[map[string]any](t, string(tool.Definition().InputSchema)), decode[map[string]any](t, handsaiSchema)
		for key, value := range want {
			equal(t, "schema: "+key, encode(t, got[key]), encode(t, value))
		}
		for params, want := range map[string][3]string{
			handsaiCreateIssue: {"POST /repos/facebook/react/issues", `{"title":"Bug in useEffect","body":"Found an issue with..."}`, handsaiIssue},
			handsaiSendEmail:   {"POST /emails", `{"from":"Acme <[email protected]>","to":"[email protected]","subject":"Welcome to Acme","html":"<h1>Welcome!</h1>"}`, handsaiEmail},
		} {
			res, err := handsaiCall(t, r, params)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "request", path, want[0])
			equal(t, "its body", encode(t, decode[map[string]any](t, sent)), encode(t, decode[map[string]any](t, want[1])))
			equal(t, "result", result.Text(res), want[2])
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
		res, err := handsaiCall(t, handsaiRegistry(t, nil, s), handsaiCreateIssue)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "result", result.Text(res), handsaiIssue)
		equal(t, "tokens fetched and calls made", fmt.Sprint(fetched.Load(), called.Load()), "2 2")

		var header string
		at := handsaiWeb(t, func(r *http.Request, _ string) { header = r.Header.Get("X-API-Key") })
		s = handsaiService(t, 0, at, func(a *rest.API) {
			a.Auth = rest.Auth{Type: rest.APIKey, In: rest.InHeader, Name: "X-API-Key", Value: "made-up"}
		}, nil)
		if _, err := handsaiCall(t, handsaiRegistry(t, nil, s), handsaiCreateIssue); err != nil {
			t.Fatal(err)
		}
		equal(t, "the key", header, "made-up")
	}},
	{51, func(t *testing.T) {
		s := handsaiService(t, 0, "http://127.0.0.1:1", nil, nil)
		r := handsaiRegistry(t, nil, s)
		_, err := r.Call(patience(t), "github-create-issue", json.RawMessage(`{"repo":"react","title":"Bug"}`))
		equal(t, "a parameter that is missing", registry.ErrorCode(err), -32602)
		contains(t, "its message", err.Error(), "owner")
		// The document has -32603 for a tool that is not there. The specification of MCP has
		// -32602, and a gateway for HandsAI's clients has to say which one it takes.
		_, err = r.Call(patience(t), "invalid-tool", nil)
		equal(t, "a tool that is not there", registry.ErrorCode(err), -32602)
		// MCP has failures of a tool in its result; the error beside it has the document's code.
		failure := func(r *registry.Registry) error {
			t.Helper()
			res, err := handsaiCall(t, r, handsaiCreateIssue)
			if err != nil || !res.IsError {
				t.Fatalf("got the error %v, want a result that is one", err)
			}
			return res.Err
		}
		equal(t, "a network error", registry.ErrorCode(failure(r)), -32603)
		refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
		t.Cleanup(refused.Close)
		s = handsaiService(t, 0, refused.URL, func(a *rest.API) {
			a.Auth = rest.Auth{Type: rest.FetchToken, Token: &rest.TokenRequest{URL: refused.URL}}
		}, nil)
		err = failure(handsaiRegistry(t, nil, s))
		equal(t, "no token", registry.ErrorCode(err), -32603)
		contains(t, "its message", err.Error(), "401")
	}},
	{52, func(t *testing.T) {
		s := handsaiService(t, 0, handsaiWeb(t, func(*http.Request, string) {}), nil, nil)
		r := handsaiRegistry(t, nil, s)
		if err := s.SetEnabled("github-create-issue", false); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Publish(r); err != nil {
			t.Fatal(err)
		}
		equal(t, "tools after the only one was switched off", names(r), "")
		apis, err := rest.Parse([]byte(strings.Replace(handsaiAPIs, `"path": "/emails"`, `"path": 7`, 1)))
		equal(t, "all or nothing", err != nil && apis == nil, true)
		apis, err = rest.Parse([]byte(handsaiAPIs))
		if err != nil {
			t.Fatal(err)
		}
		apis[0].Auth = rest.Auth{Type: rest.Bearer, Value: "made-up-token"}
		data, placeholders, err := rest.Export(apis...)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the token is exported", strings.Contains(string(data), "made-up-token"), false)
		equal(t, "placeholders", len(placeholders), 1)
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
			ctx, cancel := context.WithCancel(patience(t))
			watched := make(chan error)
			go func() { watched <- s.Watch(ctx, r, time.Millisecond) }()
			for range r.Watch(ctx) {
				if names(r) == "" { // not healthy
					break
				}
			}
			well.Store(true)
			for range r.Watch(ctx) {
				if names(r) == "github-create-issue" {
					break
				}
			}
			equal(t, "tools of an API that is healthy again", names(r), "github-create-issue")
			cancel()
			equal(t, "why the watch ended", <-watched, context.Canceled)
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
			Arguments: registry.ArgumentOptions{Redact: true}, Results: &result.Options{Redact: true, Wrap: true},
		}, handsaiService(t, 0, web.URL, nil, nil))
		res, err := handsaiCall(t, r, strings.Replace(handsaiCreateIssue, "Found an issue with...", secret, 1))
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "wrapped", result.Text(res), "<untrusted-content nonce=")
		equal(t, "the secret is in the result", strings.Contains(result.Text(res), secret), false)
		contains(t, "what was sent", sent, "[redacted")
		equal(t, "the secret was sent", strings.Contains(sent, secret), false)
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
		equal(t, "calls that failed", failed.Load(), 0)
	}},
}
