package session

import (
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// ownSecret is that of the client "own", which is registered by hand.
const ownSecret = "own-secret-27183"

// ownClient returns an authorization server that knows the client "own" by a method; empty is a
// client without a secret.
func ownClient(method string, more authtest.Options) authtest.Options {
	c := authtest.Client{ID: "own", AuthMethod: method, RedirectURIs: []string{callbackURL}}
	if method != "" {
		c.Secret = ownSecret
	}
	more.Clients = []authtest.Client{c}
	return more
}

// lists has an authorization server list ways of client authentication.
func lists(methods ...string) func(map[string]any) {
	return func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = methods }
}

// How programs are registered, and how they say at the token endpoint who they are.
func TestReportedClients(t *testing.T) {
	const basic, post = "client_secret_basic", "client_secret_post"
	register := "POST {AS}/register"
	named := auth.Config{Client: &auth.Client{ID: "own"}}
	secretly := auth.Config{Client: &auth.Client{ID: "own", Secret: ownSecret}}
	invalid := func(description string) string {
		return `{"error":"invalid_client","error_description":"` + description + `"}`
	}
	read := authtest.ResourceOptions{Scopes: []string{"mcp:read", "mcp:invoke"}}
	runReports(t, map[string]reported{
		//report: Logins | appstrate/appstrate#1267, modelcontextprotocol/go-sdk#1102, ChronoAIProject/NyxID#1217, formbricks/formbricks#8406 | a client may ask only for the scopes that it was registered for, offline_access among them | the registration names all the scopes that the login asks for
		"scopes that were registered": {rs: read, as: authtest.Options{Scopes: []string{"mcp:read", "mcp:invoke", "offline_access"}}, rules: []rule{
			{at: register, lacks: []string{`"scope":"mcp:read mcp:invoke offline_access"`}, status: 400, body: `{"error":"invalid_client_metadata","error_description":"the test wants all scopes"}`},
		}, sent: []string{"scope=mcp:read mcp:invoke offline_access&"}},
		//report: Logins | punkpeye/mcp-remote#204 | a registration that names scopes is refused with invalid_client_metadata | it is sent once more without them
		"no scopes in a registration": {rs: read, rules: []rule{
			{at: register, has: []string{`"scope":`}, status: 400, body: `{"error":"invalid_client_metadata","error_description":"Requested scopes are not valid"}`},
		}, sent: []string{`"scope":"mcp:read mcp:invoke"`, "scope=mcp:read mcp:invoke&"}},
		//report: Logins | keycloak/keycloak#43654 | Keycloak refuses a registration that names a scope of no client of its realm, with 403 and insufficient_scope | it is sent once more without scopes
		"scopes that the realm does not allow": {rs: read, rules: []rule{
			{at: register, has: []string{`"scope":`}, status: 403, body: `{"error":"insufficient_scope","error_description":"Policy 'Allowed Client Scopes' rejected request"}`},
		}},
		//report: Logins | turnstonelabs/turnstone#1082 | Keycloak refuses a registration with members that it does not know, such as resource | it has only members of the specification
		"unknown members": {rules: []rule{
			{at: register, has: []string{`"resource"`}, status: 400, body: `{"error":"Unrecognized field"}`},
		}, never: []string{`"resource":`}},
		//report: Logins | Blazity/ai-workflow#298 | an authorization server lists offline_access, registers clients without it, and refuses a login that asks for it | the answer to the registration says so, and the login does not ask for it
		"offline_access that is not registered": {as: ownClient("", authtest.Options{Scopes: []string{"read", "offline_access"}}), rs: authtest.ResourceOptions{Scopes: []string{"read"}}, rules: []rule{
			{at: register, status: 201, body: `{"client_id":"own","scope":"read","token_endpoint_auth_method":"none"}`},
			{at: "GET {AS}/authorize", has: []string{"offline_access"}, status: 302, field: "Location: " + callbackURL + "?error=invalid_scope&state={STATE}"},
		}, sent: []string{`"scope":"read offline_access"`, "scope=read&"}},
		//report: Logins | obot-platform/mcp-oauth-proxy#52 | a registration that names no way of client authentication is refused for the default of the specification | one that is listed is named
		"no default method": {as: authtest.Options{Metadata: lists("none", post)}, rules: []rule{
			{at: register, lacks: []string{`"token_endpoint_auth_method":"none"`}, status: 400, body: `{"error":"invalid_client_metadata"}`},
		}},
		//report: Logins | anthropics/claude-code#67258 | a client is configured, and the authorization server registers none | no registration is tried
		"configured client": {as: ownClient("", authtest.Options{NoRegistration: true}), auth: named, never: []string{"/register"}, sent: []string{"client_id=own&"}},
		//report: Logins | anthropics/claude-code#79825 | Wrike wants the id of a client without secret in the form of the token request | it is there
		"id in the form": {as: ownClient("", authtest.Options{NoRegistration: true}), auth: named, rules: []rule{
			{at: "POST {AS}/token", lacks: []string{"client_id=own&"}, status: 400, body: `{"error":"invalid_request","error_description":"client_id must be supplied"}`},
		}},
		//report: Logins | patvice/ruby_llm-mcp#137 | Canny registers a client with a secret, does not say how to show it, and takes it in the form alone | by the default of the specification it is shown in a header first, then in the form
		"secret without a method": {as: ownClient(post, authtest.Options{Metadata: lists()}), rules: []rule{
			{at: register, status: 201, body: `{"client_id":"own","client_secret":"` + ownSecret + `"}`},
			{at: "POST {AS}/token", has: []string{"Authorization: Basic"}, status: 400, body: `{"error":"invalid input"}`},
		}},
		//report: Logins | modelcontextprotocol/python-sdk#1315, PrefectHQ/fastmcp#4600, metatool-ai/metamcp#342 | authorization servers list client_secret_basic and look for the client in the form alone | where client_secret_post is listed, too, the client is registered for that
		"form alone, registered": {as: authtest.Options{Metadata: lists(post, basic)}, rules: []rule{
			{at: "POST {AS}/token", lacks: []string{"client_id="}, status: 401, body: invalid("Missing client_id")},
		}},
		//report: Logins | archestra-ai/archestra#7977 | the same with a client that was registered by hand, whose secret is shown by client_secret_basic first | it is shown in the form at once more, which is remembered
		"form alone, configured": {as: ownClient(post, authtest.Options{NoRegistration: true}), auth: secretly, rules: []rule{
			{at: "POST {AS}/token", has: []string{"grant_type=refresh_token", "Authorization: Basic"}, status: 500},
		}, sent: []string{"Authorization: Basic", "client_secret=" + ownSecret}},
		//report: Logins | modelcontextprotocol/python-sdk#3138 | Notion takes no client id in the form beside client_secret_basic | it is in the header alone
		"header alone": {as: authtest.Options{Metadata: lists(basic)}, rules: []rule{
			{at: "POST {AS}/token", has: []string{"client_id="}, status: 400, body: `{"error":"invalid_request","error_description":"multiple authentication methods"}`},
		}, sent: []string{"Authorization: Basic"}},
		//report: Logins | modelcontextprotocol/python-sdk#2128 | by client_secret_post the id is wanted beside the secret | both are in the form
		"id beside the secret": {as: ownClient(post, authtest.Options{NoRegistration: true, Metadata: lists(post)}), auth: secretly, sent: []string{"client_id=own&client_secret=" + ownSecret}, never: []string{"Authorization: Basic"}},
		//report: Logins | anthropics/claude-code#83679 | a client without its secret is refused with status 401 and a list in the place of an error | the user reads the status and who said so
		"refused with a list": {as: ownClient("", authtest.Options{NoRegistration: true}), auth: named, rules: []rule{
			{at: "POST {AS}/token", status: 401, body: `["client not known"]`},
		}, fails: []string{"the login failed: token refused by 127.0.0.1:", "no error code (HTTP status 401)"}},
	})
}

// What logins ask for.
func TestReportedScopesAndResources(t *testing.T) {
	refuses := func(param, code, description string) rule {
		return rule{at: "GET {AS}/authorize", has: []string{param}, status: 302,
			field: "Location: " + callbackURL + "?error=" + code + "&error_description=" + url.QueryEscape(description) + "&iss={AS}&state={STATE}"}
	}
	scopes := func(listed ...string) authtest.ResourceOptions { return authtest.ResourceOptions{Scopes: listed} }
	runReports(t, map[string]reported{
		//report: Logins | openai/codex#15643, punkpeye/mcp-remote#162, github/copilot-cli#4582 | the scopes stand in the metadata of the server alone | they are asked for
		"scopes of the metadata": {rs: scopes("api://app/access_as_user"), sent: []string{"scope=api://app/access_as_user&"}},
		//report: Logins | stacklok/toolhive#3795, anthropics/claude-code#44652 | the challenge names fewer scopes than the metadata | those of the challenge are asked for
		"scopes of the challenge": {rs: authtest.ResourceOptions{Scopes: []string{"read", "write", "admin"}, ChallengeScopes: []string{"read"}}, sent: []string{"scope=read&"}, never: []string{"admin"}},
		//report: Logins | letta-ai/letta-code#4018 | Cloudflare refuses scopes such as openid that its metadata does not list | where no scopes are listed none are asked for
		"no scopes": {rules: []rule{refuses("scope=", "invalid_scope", "openid")}, never: []string{"scope="}},
		//report: Logins | can1357/oh-my-pi#9909, medplum/medplum#9183, vishalsachdev/canvas-mcp#146, buildinternet/uploads#911 | refresh tokens are given only to those who ask for offline_access, which the authorization server lists and the server does not | it is asked for, and the token is renewed
		"offline_access": {rs: scopes("read"), as: authtest.Options{Scopes: []string{"read", "offline_access"}}, sent: []string{"scope=read offline_access&", "grant_type=refresh_token"}},
		//report: Logins | home-assistant/core#180546 | Google gives refresh tokens only for access_type=offline, which is no scope | with that among the parameters of the login the token is renewed
		"access_type": {auth: auth.Config{LoginParams: url.Values{"access_type": {"offline"}, "prompt": {"consent"}}}, sent: []string{"access_type=offline&", "prompt=consent&", "grant_type=refresh_token"}},
		//report: Logins | anthropics/claude-code#68377, astashov/liftosaur#560 | a token ends, and there is nothing to renew it with | the user is asked to log in again, by the call that needs it
		"no refresh token": {again: true, rules: []rule{
			{at: "POST {AS}/token", status: 200, body: `{"access_token":"{ACCESS}","token_type":"Bearer","expires_in":3600}`},
		}},
		//report: Logins | anthropics/claude-code#73460, punkpeye/mcp-remote#217, modelcontextprotocol/csharp-sdk#648, UsefulSoftwareCo/executor#1789 | Entra takes no resource parameter | the user reads the words of Entra; the parameter can be switched off
		"no resource": {rules: []rule{refuses("resource=", "invalid_target", "AADSTS9010010: The resource parameter doesn't match with the requested scopes.")},
			fails: []string{`the login failed: authorization refused by 127.0.0.1:`, `: invalid_target: "AADSTS9010010: The resource parameter doesn't match with the requested scopes.": if it takes no resource parameter, leave that out by Config.NoResource`}},
		"no resource, switched off": {as: authtest.Options{ResourceRefused: true}, auth: auth.Config{NoResource: true}, never: []string{"resource="}},
		//report: Logins | anthropics/claude-code#52871 | a slash at the end of the resource parameter is another resource for Entra | it is sent as the server's metadata has it
		"resource as it is written": {sent: []string{"resource={RS}/mcp&"}, never: []string{"resource={RS}/mcp/&"}},
		//report: Logins | IBM/mcp-context-forge#2149 | without the resource parameter in the token request the token is opaque | it is in the login, in the token request and in each renewal
		"resource in all requests": {rules: []rule{
			{at: "POST {AS}/token", lacks: []string{"resource={RS}/mcp&"}, status: 400, body: `{"error":"invalid_target"}`},
		}},
		//report: Logins | danny-avila/LibreChat#13401, microsoft/vscode#274226, modelcontextprotocol/inspector#566 | Auth0 does not heed the resource parameter, and gives a token for its own API without audience | audience can be given among the parameters of the login
		"audience": {auth: auth.Config{LoginParams: url.Values{"audience": {"https://api.example"}}}, sent: []string{"audience=https://api.example&", "resource={RS}/mcp&"}},
		//report: Logins | NousResearch/hermes-agent#97026, Kong/insomnia#9587, anthropics/claude-code#37337, BerriAI/litellm#28743 | the authorization server sends the browser back with an error and its description, and no code | no token is asked for, and the user reads both, in one line
		"error in the response": {rules: []rule{refuses("state=", "invalid_request", "Redirect URL is using an insecure protocol,\nhttp is only allowed for localhost")},
			fails: []string{`: invalid_request: "Redirect URL is using an insecure protocol, http is only allowed for localhost"`}, never: []string{"POST {AS}/token"}},
		//report: Logins | cloudflare/workers-oauth-provider#154, ProfessionalWiki/MediaWiki-MCP-Server#452 | a redirect URI is compared with those of the registration port and all | the login comes back where the registration said
		"redirect URI to the letter": {rules: []rule{
			{at: "GET {AS}/authorize", lacks: []string{"redirect_uri=" + callbackURL + "&"}, status: 500},
			{at: "POST {AS}/register", lacks: []string{`"redirect_uris":["` + callbackURL + `"]`}, status: 500},
		}},
	})
}

// What stands in the answers to token requests.
func TestReportedTokens(t *testing.T) {
	token := func(status int, body string) []rule {
		return []rule{{at: "POST {AS}/token", status: status, body: body}}
	}
	runReports(t, map[string]reported{
		//report: Logins | modelcontextprotocol/python-sdk#1502 | Supabase answers token requests with status 201 | any status of success is one
		"status 201": {rules: token(201, `{"access_token":"{ACCESS}","refresh_token":"{REFRESH}","token_type":"bearer","expires_in":3600}`)},
		//report: Logins | LibreChat-AI/librechat.ai#420 | Entra has the lifetime of a token as a text | it is read
		"lifetime as a text": {rules: token(200, `{"access_token":"{ACCESS}","refresh_token":"{REFRESH}","token_type":"Bearer","expires_in":"5250","ext_expires_in":"5250","scope":"manage"}`)},
		//report: Logins | modelcontextprotocol/python-sdk#1523, vercel/ai#10899 | GitHub answers token requests in form encoding, also those that renew | it is read by its content type
		"form encoding": {rules: token(200, `access_token={ACCESS}&expires_in=28800&refresh_token={REFRESH}&token_type=bearer&scope=repo%2Cgist`)},
		//report: Logins | coder/coder#26150, redhat-data-and-ai/template-agent#265 | Slack has the token of a user in the member authed_user, with a type of its own and commas between the scopes | it is taken from there, where there is none outside
		"token of a user inside": {rules: token(200, `{"ok":true,"access_token":null,"authed_user":{"id":"U1","scope":"chat:write,search:read","access_token":"{ACCESS}","refresh_token":"{REFRESH}","token_type":"user"}}`)},
		//report: Logins | UsefulSoftwareCo/executor#1643 | Slack has the token outside, with no scope, and the scopes of the user inside | the token outside is taken, and counts as one for what was asked for
		"scopes of a user inside": {rules: token(200, `{"ok":true,"access_token":"{ACCESS}","refresh_token":"{REFRESH}","scope":"","token_type":"Bearer","authed_user":{"scope":"chat:write"}}`)},
		//report: Logins | anthropics/claude-code#59725, redhat-data-and-ai/template-agent#264 | Slack refuses a token request with status 200 and an error | it is a refusal, and the user reads it
		"refused with status 200": {rules: token(200, `{"ok":false,"error":"bad_redirect_uri"}`),
			fails: []string{"the login failed: token refused by 127.0.0.1:", ": bad_redirect_uri (HTTP status 200)"}},
		//report: Logins | QwenLM/qwen-code#5510 | an answer of success has no token | the user reads what is missing, and who answered
		"no token": {rules: token(200, `{"token_type":"Bearer","expires_in":3600}`), fails: []string{"the login failed: token request to 127.0.0.1:", "access_token is missing"}},
	})
}
