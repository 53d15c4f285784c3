// Tests of login.go: the files that users of known providers write, against fakes of what these document.

package login_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// A provider is one with an MCP server, as it documents itself, and the file of its users.
type provider struct {
	name, file, entry string
	mcp, issuer       string // where they are; the entry has the former
	metadata          string // the path of the metadata of the issuer
	named             string // the issuer as the server names it, if otherwise
	lacks             []string
	paths             map[string]string // of endpoints that have other ones than the fake
	options           authtest.Options
	asks              string // what the address has where users log in
	never             string // what it has not
}

const (
	oauthMetadata = "/.well-known/oauth-authorization-server"
	oidcMetadata  = "/.well-known/openid-configuration"
	noPKCE        = "code_challenge_methods_supported"
)

func byHand(secret, method string, redirects ...string) []authtest.Client {
	return []authtest.Client{{ID: "mine", Secret: secret, AuthMethod: method, RedirectURIs: redirects}}
}

func providers() []provider {
	list := []provider{
		//report: Logins | Microsoft Entra https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow, zed-industries/zed#60358, anthropics/claude-code#73460, modelcontextprotocol/csharp-sdk#648 | its metadata does not say that it supports PKCE, it registers no clients, and refuses the resource parameter | a client id in the file is enough: it is known to support PKCE, and gets no resource parameter
		{name: "Entra", file: ".mcp.json", entry: `"oauth": {"clientId": "mine", "callbackPort": 8123, "scopes": "api://acme/mcp.read offline_access"}`,
			mcp: "https://mcp.acme.example/mcp", issuer: "https://login.microsoftonline.com/tenant/v2.0", metadata: "/tenant/v2.0" + oidcMetadata, lacks: []string{noPKCE},
			options: authtest.Options{NoRegistration: true, ResourceRefused: true, Clients: byHand("", "", "http://localhost:8123/callback")}, asks: "mcp.read", never: "resource="},
		//report: Logins | Amazon Cognito https://docs.aws.amazon.com/cognito/latest/developerguide/authorization-endpoint.html, anthropics/claude-code#13275, modelcontextprotocol/python-sdk#976 | its metadata is that of OpenID, and does not say that it supports PKCE | a client id in the file is enough: it is known to support PKCE
		{name: "Cognito", file: ".vscode/mcp.json", entry: `"oauth": {"clientId": "mine"}`,
			mcp: "https://mcp.acme.example/mcp", issuer: "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Pool", metadata: "/eu-west-1_Pool" + oidcMetadata, lacks: []string{noPKCE},
			options: authtest.Options{NoRegistration: true, ResourceOptional: true, Clients: byHand("", "", "http://127.0.0.1:33418/")}},
		//report: Logins | home-assistant/core#180546, nicobailon/pi-mcp-adapter#238, can1357/oh-my-pi#12438 | Google's servers name the issuer with a slash at its end, which its metadata does not have, and a refresh token comes only with access_type=offline | the file says the issuer without the slash, and the parameters in loginParams
		{name: "Google", file: "mcp.json", entry: `"auth": {"clientId": "mine", "clientSecret": "s3cret", "issuer": "https://accounts.google.com", "loginParams": {"access_type": "offline", "prompt": "consent"}}`,
			mcp: "https://gmailmcp.googleapis.com/mcp/v1", issuer: "https://accounts.google.com", named: "https://accounts.google.com/", metadata: oidcMetadata,
			options: authtest.Options{NoRegistration: true, ResourceOptional: true, Clients: byHand("s3cret", "client_secret_basic")}, asks: "access_type=offline"},
		//report: Logins | GitHub https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps | it registers no clients, and wants the secret of one as a form field | a client id and a secret in the file, and the issuer that has them
		{name: "GitHub", file: ".cursor/mcp.json", entry: `"auth": {"CLIENT_ID": "mine", "CLIENT_SECRET": "s3cret", "issuer": "https://github.com/login/oauth", "authMethod": "client_secret_post"}`,
			mcp: "https://api.githubcopilot.com/mcp", issuer: "https://github.com/login/oauth", metadata: oauthMetadata + "/login/oauth",
			options: authtest.Options{NoRegistration: true, ResourceOptional: true, Clients: byHand("s3cret", "client_secret_post", "http://localhost:8787/callback")}},
		//report: Logins | mastra-ai/mastra#19467 | it gives users a block with a public client and the port to come back to | the block works as it is
		{name: "Slack", file: ".mcp.json", entry: `"oauth": {"clientId": "mine", "callbackPort": 3118}`,
			mcp: "https://mcp.slack.com/mcp", issuer: "https://slack.com", metadata: oauthMetadata,
			options: authtest.Options{NoRegistration: true, Clients: byHand("", "", "http://localhost:3118/callback")}},
		//report: Logins | Auth0 https://auth0.com/docs/api-auth/dynamic-client-registration | its issuer ends with a slash, clients are registered only if that is switched on, and a token is for an API only if audience names it | a client id in the file, with loginParams for the audience
		{name: "Auth0", file: "mcp.json", entry: `"auth": {"clientId": "mine", "noResource": true, "loginParams": {"audience": "https://api.acme.example"}}`,
			mcp: "https://mcp.acme.example/mcp", issuer: "https://acme.us.auth0.com/", metadata: oidcMetadata,
			options: authtest.Options{NoRegistration: true, ResourceOptional: true, Clients: byHand("", "", "http://127.0.0.1:5555/callback")}, asks: "audience=https", never: "resource="},
		//report: Logins | modelcontextprotocol/modelcontextprotocol#695 | registering a client takes a token of an administrator, and the authorization server has a path | a client id in the file, with the port that the administrator has entered
		{name: "Okta", file: "mcp.json", entry: `"auth": {"clientId": "mine", "redirectUrl": "http://localhost:8400/callback", "scopes": ["openid", "offline_access"]}`,
			mcp: "https://mcp.acme.example/mcp", issuer: "https://acme.okta.com/oauth2/default", metadata: "/oauth2/default" + oidcMetadata,
			options: authtest.Options{NoRegistration: true, ResourceOptional: true, Clients: byHand("", "", "http://localhost:8400/callback")}, asks: "offline_access"},
		//report: Logins | OKDP/platform-packages#30, keycloak/keycloak#39629 | a realm is a path, its metadata is below it, and its policy refuses clients from unknown hosts | a client id in the file
		{name: "Keycloak", file: "opencode.json", entry: `"type": "remote", "oauth": {"clientId": "mine", "scope": "openid"}`,
			mcp: "https://mcp.acme.example/mcp", issuer: "https://sso.acme.example/realms/acme", metadata: "/realms/acme" + oidcMetadata,
			options: authtest.Options{ResourceOptional: true, Clients: byHand("", "", "http://127.0.0.1:19876/mcp/oauth/callback")}, asks: "scope=openid"},
		//report: Logins | Salesforce https://developer.salesforce.com/docs/platform/hosted-mcp-servers/guide/create-external-client-app.html | an app that an administrator has made has the scopes mcp_api and refresh_token, and its key is the client id | the client id, the scopes and the port in the file
		{name: "Salesforce", file: ".mcp.json", entry: `"oauth": {"clientId": "mine", "callbackPort": 8080, "scopes": "mcp_api refresh_token"}`,
			mcp: "https://api.salesforce.com/platform/mcp/v1/sobject", issuer: "https://login.salesforce.com", metadata: oidcMetadata,
			options: authtest.Options{NoRegistration: true, ResourceOptional: true, Scopes: []string{"mcp_api", "refresh_token"}, Clients: byHand("", "", "http://localhost:8080/callback")}, asks: "mcp_api"},
		//report: Logins | HubSpot https://developers.hubspot.com/docs/apps/developer-platform/build-apps/integrate-with-hubspot-mcp-server, cursor/plugins#201 | an app that the user makes has a client id and a secret, and no client is registered otherwise | both in the file, with the issuer; without it the error says what to add
		{name: "HubSpot", file: ".gemini/settings.json", entry: `"oauth": {"enabled": true, "clientId": "mine", "clientSecret": "s3cret"}, "auth": {"issuer": "https://mcp.hubspot.com"}`,
			mcp: "https://mcp.hubspot.com/", issuer: "https://mcp.hubspot.com", metadata: oauthMetadata,
			options: authtest.Options{NoRegistration: true, Clients: byHand("s3cret", "client_secret_basic", "http://localhost:7777/oauth/callback")}},
		//report: Logins | Figma https://kiro.dev/fr/changelog/cli/2-12 | only known programs are registered, and the client of another one has a secret and a path to come back to | all of it in the file
		{name: "Figma", file: "mcp.json", entry: `"oauth": {"clientId": "mine", "clientSecret": "s3cret", "redirectUri": "http://localhost:7778/oauth/callback"}, "auth": {"issuer": "https://api.figma.com"}`,
			mcp: "https://mcp.figma.com/mcp", issuer: "https://api.figma.com", metadata: oauthMetadata,
			options: authtest.Options{NoRegistration: true, Clients: byHand("s3cret", "client_secret_basic", "http://localhost:7778/oauth/callback")}},
	}
	//report: Logins | Webex https://developer.webex.com/docs/webex-agentic-mcp-servers-gemini-cli | it gives users of Gemini CLI a block with a client, its secret and both endpoints | the block works as it is: the endpoints say whose the secret is
	list = append(list, provider{name: "Webex", file: ".gemini/settings.json", entry: `"oauth": {"enabled": true, "clientId": "mine", "clientSecret": "s3cret", "authorizationUrl": "https://webexapis.com/v1/authorize", "tokenUrl": "https://webexapis.com/v1/access_token", "scopes": ["spark:mcp"]}`,
		mcp: "https://mcp.webexapis.com/mcp", issuer: "https://webexapis.com", metadata: "none", paths: map[string]string{"/v1/authorize": "/authorize", "/v1/access_token": "/token"},
		options: authtest.Options{ResourceOptional: true, Clients: byHand("s3cret", "client_secret_basic", "http://localhost:7777/oauth/callback")}, asks: "scope=spark"})
	//report: Logins | Claude Code commands https://mcpbundles.com/blog/claude-code-mcp-tools, maximhq/bifrost#6114 | Atlassian, Notion, Linear, Sentry, Stripe, Supabase and Cloudflare register clients at the authorization server that they name | the url in the file is enough
	for name, mcp := range map[string]string{"Atlassian": "https://mcp.atlassian.com/v1/mcp", "Notion": "https://mcp.notion.com/mcp", "Linear": "https://mcp.linear.app/mcp",
		"Sentry": "https://mcp.sentry.dev/mcp", "Stripe": "https://mcp.stripe.com/", "Supabase": "https://mcp.supabase.com/mcp", "Cloudflare": "https://observability.mcp.cloudflare.com/mcp"} {
		u, _ := url.Parse(mcp)
		list = append(list, provider{name: name, file: "mcp.json", mcp: mcp, issuer: "https://auth-" + u.Host, metadata: oauthMetadata})
	}
	return list
}

// TestProviders logs in with the file of each provider, whose names lead to fakes by the proxy
// that the test adds to the entry.
func TestProviders(t *testing.T) {
	all := providers()
	page := string(assert.Value(os.ReadFile("../../docs/logins.md"))(t))
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			if p.entry != "" { // the page shows the file
				assert.Contains(t, strings.Join(strings.Fields(page), " "), strings.ReplaceAll(strings.Join(strings.Fields(p.entry), " "), "s3cret", "${"+strings.ToUpper(p.name)+"_SECRET}"))
			} else {
				assert.Contains(t, page, p.mcp)
			}
			p.logIn(t)
		})
	}
}

func (p *provider) logIn(t *testing.T) {
	issuer := assert.Value(url.Parse(p.issuer))(t)
	mcp := assert.Value(url.Parse(p.mcp))(t)
	o := p.options
	o.Path = strings.TrimSuffix(issuer.Path, "/")
	o.Metadata = func(document map[string]any) {
		for _, member := range p.lacks {
			delete(document, member)
		}
	}
	redirect := "http://127.0.0.1:5555/callback"
	for i := range o.Clients {
		if o.Clients[i].RedirectURIs == nil {
			o.Clients[i].RedirectURIs = []string{redirect}
		}
	}
	as := authtest.NewServer(t, &o)
	origin := strings.TrimSuffix(as.URL(authtest.MetadataEndpoint), oauthMetadata+o.Path)
	as.Issuer = p.issuer
	resource := as.NewMCP(&authtest.ResourceOptions{Path: mcp.Path, Metadata: func(document map[string]any) {
		if p.named != "" {
			document["authorization_servers"] = []string{p.named}
		}
	}})
	inside := strings.TrimSuffix(resource.URL, mcp.Path)
	resource.URL = strings.TrimSuffix(p.mcp, "/")

	server := forward(t, origin, func(path string) string {
		switch {
		case path == p.metadata:
			return oauthMetadata + o.Path
		case strings.Contains(path, "/.well-known/"):
			return "/nothing"
		}
		return cmp.Or(p.paths[path], strings.ReplaceAll(path, "//", "/"))
	}, nil)
	belt := forward(t, inside, func(path string) string { return path }, func(res *http.Response) error {
		for i, challenge := range res.Header["Www-Authenticate"] {
			res.Header["Www-Authenticate"][i] = strings.ReplaceAll(challenge, inside, "https://"+mcp.Host)
		}
		return nil
	})
	proxy, ca := newNet(t, []string{issuer.Host, mcp.Host}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == mcp.Host && (r.Host != issuer.Host || r.URL.Path == mcp.Path || strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource")) {
			belt.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	}))
	key := map[string]string{".vscode/mcp.json": "servers", "opencode.json": "mcp"}[p.file]
	if key == "" {
		key = "mcpServers"
	}
	urlKey := "url"
	if p.file == ".gemini/settings.json" {
		urlKey = "httpUrl"
	}
	text := fmt.Sprintf(`{%q: {"s": {%q: %q, %s, "proxy": %q, "tls": {"caFile": %q}}}}`, key, urlKey, p.mcp, cmp.Or(p.entry, `"lazy": false`), proxy, filepath.ToSlash(ca))
	c := assert.Value(config.Parse(t.Context(), p.file, []byte(text), &config.Options{Scope: config.ScopeUser}))(t)
	assert.OK(t, c.Servers[0].Err)
	assert.Equal(t, fmt.Sprint(c.Servers[0].Warnings), "[]", "warnings")

	user := &user{as: as, paths: p.paths, real: strings.TrimSuffix(p.issuer, issuer.Path), fake: origin, redirect: redirect}
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{Prompt: user}}))(t)
	defer func() { _ = logins.Close() }()
	h := host.New(&host.Options{StateDir: host.NoState, Logins: logins})
	defer func() { _ = h.Close() }()
	assert.Value(h.Apply(t.Context(), c))(t)
	client := assert.Value(h.Client(t.Context(), session.Key{Server: "s"}))(t)
	assert.OK(t, auth.AwaitLogin(t.Context(), client.Ready), "the login")
	for _, r := range as.Requests() {
		if r.Endpoint == authtest.AuthorizationEndpoint {
			assert.Contains(t, r.Form.Encode(), p.asks, "where the user logs in")
			assert.True(t, p.never == "" || !strings.Contains(r.Form.Encode(), p.never), "%s is not asked for", p.never)
		}
	}
}

// A user agrees to each login, and gives the address at which their browser ends.
type user struct {
	as                   *authtest.Server
	paths                map[string]string
	real, fake, redirect string
}

func (u *user) Start(_ context.Context, registered []string) (auth.PromptSession, error) {
	return &shown{u, slices.Concat(registered, []string{u.redirect})[0]}, nil
}

type shown struct {
	user     *user
	redirect string
}

func (s *shown) RedirectURI() string { return s.redirect }
func (s *shown) Close() error        { return nil }
func (s *shown) Show(ctx context.Context, p *auth.Pending) (string, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(p.URL, s.user.real), "?")
	page := s.user.fake + cmp.Or(s.user.paths[path], strings.ReplaceAll(path, "//", "/")) + "?" + query
	return s.user.as.Approve(ctx, page)
}

// forward passes requests to a server of this machine.
func forward(t *testing.T, to string, path func(string) string, change func(*http.Response) error) http.Handler {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	target := assert.Value(url.Parse(to))(t)
	return &httputil.ReverseProxy{Transport: transport, ErrorLog: log.New(io.Discard, "", 0), ModifyResponse: change, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Path = path(r.In.URL.Path)
		r.SetURL(target)
	}}
}

// newNet starts a proxy behind which some hosts are, with a certificate of the authority in the file ca.
func newNet(t *testing.T, hosts []string, site http.Handler) (proxy, ca string) {
	key := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "providers"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: hosts, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der := assert.Value(x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key))(t)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	assert.OK(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))

	inside := httptest.NewUnstartedServer(site)
	inside.Config.ErrorLog = log.New(io.Discard, "", 0)
	inside.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	inside.StartTLS()
	t.Cleanup(inside.Close)
	var pipes sync.WaitGroup
	var mu sync.Mutex // orders the first pipe and the wait for all: Close does not wait for connections that are hijacked
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, _, _ := net.SplitHostPort(r.Host); r.Method != http.MethodConnect || !slices.Contains(hosts, name) {
			http.Error(w, "there is no such host", http.StatusBadGateway)
			return
		}
		there, err := net.Dial("tcp", inside.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		pipe := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			_, _ = to.Close(), from.Close()
		}
		mu.Lock()
		pipes.Go(func() { pipe(here, there) })
		pipes.Go(func() { pipe(there, here) })
		mu.Unlock()
	}))
	t.Cleanup(func() {
		outside.Close()
		inside.CloseClientConnections()
		mu.Lock()
		defer mu.Unlock()
		pipes.Wait()
	})
	return outside.URL, ca
}
