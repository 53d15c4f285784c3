package login_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// What keeps a user of a file from logging in is told to them where they look for it, with its
// cure in words of the file.
func TestReasonsReachUsersOfFiles(t *testing.T) {
	for name, test := range map[string]struct {
		as    authtest.Options
		fault func(as *authtest.Server, rs *authtest.Resource)
		auth  config.Auth
		says  []string // in the error of a call, in Servers and in the diagnosis
		hint  string
	}{
		//report: Logins | mcpjungle/MCPJungle#289 | a server with a fixed token answers 401 without a word of OAuth, and 404 to all that a client looks for | it is asked once whether it registers clients; the error says that it may want a token in a header, and the hint says where to write it
		"never spoke of OAuth": {
			fault: func(_ *authtest.Server, rs *authtest.Resource) {
				rs.Fail(authtest.MetadataEndpoint, -1, authtest.Fault{Status: 404})
				rs.Fail(authtest.ResourceEndpoint, -1, authtest.Fault{Status: 401, Body: `{"error":"API key missing"}`})
			},
			says: []string{"it may want a token in a header such as Authorization", "/.well-known/oauth-protected-resource/mcp: HTTP status 404", "/register: registration refused by 127.0.0.1:"},
			hint: `in "headers" of the entry`,
		},
		//report: Logins | modelcontextprotocol/inspector#167, punkpeye/mcp-remote#53, anthropics/claude-code#3273 | the authorization server registers no clients by itself | the error names it, and the key of the entry for a client that was registered by hand
		"no registration": {
			as:   authtest.Options{NoRegistration: true},
			says: []string{"it registers no clients by itself: register one there by hand", `"clientId" in "auth" of the entry`},
			hint: `"clientId" in "auth"`,
		},
		//report: Logins | elgorro/aiquila#457 | registration wants a token of its own and answers 401 | the error has the status, the words and the host of the refusal, and the key of the entry for a client that was registered by hand; it is asked again after ten minutes
		"registration is refused": {
			fault: func(as *authtest.Server, _ *authtest.Resource) {
				as.Fail(authtest.RegistrationEndpoint, -1, authtest.Fault{Status: 401, Body: `{"error":"invalid_token","error_description":"initial access token required"}`})
			},
			says: []string{`registration refused by 127.0.0.1:`, `: invalid_token: "initial access token required" (HTTP status 401)`, `"clientId" in "auth" of the entry`},
			hint: `"clientId" in "auth"`,
		},
		//report: Logins | anthropics/claude-code#13275, anthropics/claude-code#35846, anthropics/claude-ai-mcp#946, empires-security/mcp-oauth2-aws-cognito#9 | Cognito supports PKCE and does not say so in its metadata | without PKCE codes can be stolen, so the specification has it refused; the error names the keys of the entry by which the user can vouch for it
		"no PKCE": {
			as:   authtest.Options{Metadata: func(d map[string]any) { delete(d, "code_challenge_methods_supported") }},
			says: []string{"code_challenge_methods_supported does not have S256", `"authorizationUrl" and "tokenUrl" in "auth" of the entry`},
		},
		//report: Logins | github/copilot-cli#4606, anomalyco/opencode#50036, atlassian/atlassian-mcp-server#148 | the server names the issuer with a slash that its metadata does not have, or with a path of a tenant | the specification has it refused; the error has both, and the key of the entry that makes the former right
		"slash too much": {
			as:   authtest.Options{Metadata: func(d map[string]any) { d["issuer"] = d["issuer"].(string) + "/" }},
			says: []string{`the metadata is of issuer "http://127.0.0.1:`, `as "issuer" in "auth" of the entry`},
			hint: `"issuer" in "auth"`,
		},
		"path too much": {
			as:   authtest.Options{Metadata: func(d map[string]any) { d["issuer"] = d["issuer"].(string) + "/tenant" }},
			says: []string{`it must be "http://127.0.0.1:`, `"authorizationUrl" and "tokenUrl" in "auth" of the entry`},
			hint: `"authorizationUrl"`,
		},
		"another issuer than the entry's": {
			auth: config.Auth{Issuer: "https://login.example.com"},
			says: []string{`the protected resource is of issuer "http://127.0.0.1:`, `it must be "https://login.example.com"`, `"issuer" in "auth" of the entry`},
			hint: `"issuer" in "auth"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a client waits before it tries again
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			as := authtest.NewServer(t, &test.as)
			rs := as.Protect(http.NotFoundHandler(), nil)
			if test.fault != nil {
				test.fault(as, rs)
			}
			logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"}}))(t)
			h := host.New(&host.Options{Logins: logins, StateDir: host.NoState})
			t.Cleanup(func() { _ = h.Close(); _ = logins.Close() })
			entry := &config.Server{Name: "s", Title: "s", Transport: config.TransportHTTP, URL: rs.URL, Auth: &test.auth}
			assert.Value(h.Apply(ctx, &config.Config{Path: "mcp.json", Servers: []*config.Server{entry}}))(t)
			client := assert.Value(h.Client(ctx, session.Key{Server: "s"}))(t)
			var err error
			for range 2 {
				err = client.Ready(ctx)
			}
			_, byHand := h.Login(ctx, session.Key{Server: "s"})
			d := assert.Value(doctor.Diagnose(ctx, h, "s"))(t)
			for _, says := range test.says {
				for where, text := range map[string]string{
					"call": err.Error(), "Login": byHand.Error(), "Servers": h.Servers()[0].Err.Error(), "Diagnose": d.Err.Error(), "Health": d.Health.Error,
				} {
					assert.Contains(t, text, says, "%s", where)
					assert.Lacks(t, text, "Config.", "%s", where)
				}
			}
			var hints []string
			for _, hint := range d.Hints {
				hints = append(hints, hint.Text)
			}
			assert.Contains(t, strings.Join(hints, "\n"), test.hint, "hints")
			n := 0 // registrations, of which Login has asked for one
			for _, r := range append(as.Requests(), rs.Requests()...) {
				if r.Method == http.MethodPost && r.Endpoint != authtest.ResourceEndpoint {
					n++
				}
			}
			assert.True(t, n <= 2, "%d registrations are few", n)
		})
	}
}

// A login that ends in the middle is asked for again, and the reason stands wherever one looks.
func TestEndOfALoginIsTold(t *testing.T) {
	//report: Logins | openai/codex#39054, usenotra/notra#516 | a login ends while a host runs, as its renewal is refused, and the host shows the server as ready for ever | the call fails with the address of a login, and the list of servers and the diagnosis show that the user has to log in, and why
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"}}))(t)
	h := host.New(&host.Options{Logins: logins, StateDir: host.NoState})
	t.Cleanup(func() { _ = h.Close(); _ = logins.Close() })
	entry := &config.Server{Name: "s", Title: "s", Transport: config.TransportHTTP, URL: rs.URL}
	assert.Value(h.Apply(ctx, &config.Config{Path: "mcp.json", Servers: []*config.Server{entry}}))(t)
	assert.Value(h.Complete(ctx, assert.Value(as.Approve(ctx, assert.Value(h.Login(ctx, session.Key{Server: "s"}))(t).URL))(t), nil))(t)
	client := assert.Value(h.Client(ctx, session.Key{Server: "s"}))(t)
	call := func() error {
		_, err := client.CallTool(ctx, "whoami", []byte(`{}`), nil)
		return err
	}
	assert.OK(t, call())
	as.ExpireAll()
	as.Fail(authtest.TokenEndpoint, -1, authtest.Fault{Status: 400, Body: `{"error":"invalid_request","error_description":"refresh_token is invalid"}`})
	required := assert.As[*auth.LoginRequiredError](t, call())
	assert.True(t, required.URL != "", "there is an address")
	const why = `: invalid_request: "refresh_token is invalid" (HTTP status 400)`
	assert.Contains(t, required.Error(), why)
	for s := range client.Watch(ctx) {
		if s.LoginURL != "" {
			break
		}
	}
	d := assert.Value(doctor.Diagnose(ctx, h, "s"))(t)
	for where, text := range map[string]string{"Servers": fmt.Sprint(h.Servers()[0].Err), "Diagnose": fmt.Sprint(d.Err), "Health": d.Health.Error, "hints": fmt.Sprint(d.Hints)} {
		assert.Contains(t, text, why, "%s", where)
	}
	assert.Equal(t, h.Servers()[0].Stage, host.StageLogin)
	as.Fail(authtest.TokenEndpoint, 0, authtest.Fault{})
	assert.Value(h.Complete(ctx, assert.Value(as.Approve(ctx, required.URL))(t), nil))(t)
	assert.OK(t, client.Ready(ctx))
	assert.OK(t, call())
}
