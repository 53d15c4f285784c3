package session

import (
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// What is documented or reported of providers, all of it of one: each is a fake, with what a user of
// the provider configures. None of the providers themselves was asked.
func TestReportedProviders(t *testing.T) {
	registered := func(method string, o authtest.Options) authtest.Options {
		o.NoRegistration = true
		return ownClient(method, o)
	}
	own := func(c auth.Config, secret auth.Secret) auth.Config {
		c.Client = &auth.Client{ID: "own", Secret: secret}
		return c
	}
	endpoints := &auth.Authority{AuthorizationEndpoint: "{AS}/authorize", TokenEndpoint: "{AS}/token"}
	names := func(issuer string) rule {
		return rule{at: "GET {RS}" + prm + "/mcp", status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":["` + issuer + `"],"scopes_supported":["read"]}`}
	}
	metadata := func(at, issuer, more string) rule {
		return rule{at: "GET " + at, status: 200, body: `{"issuer":"` + issuer + `","authorization_endpoint":"{AS}/authorize","token_endpoint":"{AS}/token"` + more + `}`}
	}
	const s256 = `,"code_challenge_methods_supported":["S256"]`
	token := func(body string) rule { return rule{at: "POST {AS}/token", status: 200, body: body} }
	refused := func(has, lacks string) rule {
		r := rule{at: "POST {AS}/token", status: 400, body: `{"error":"invalid_request"}`}
		if has != "" {
			r.has = []string{"grant_type=refresh_token", has}
		} else {
			r.has, r.lacks = []string{"grant_type=refresh_token"}, []string{lacks}
		}
		return r
	}
	runReports(t, map[string]reported{
		//report: Logins | atlassian/atlassian-mcp-server#205, github/copilot-cli#4480, can1357/oh-my-pi#3551, github/app#2863, forcedotcom/mcp-hosted#44 | Atlassian's server has the metadata of an authorization server on another host at its own root | the specification has it refused; the error says by which setting the user can name that authorization server
		"Atlassian": {
			rules: []rule{{at: "GET {RS}" + prm + "/mcp", status: 404}, {at: "GET {RS}" + prm, status: 404}, metadata("{RS}"+asm, "{AS}", s256),
				{at: "POST {RS}/mcp", lacks: []string{"Bearer "}, status: 401, field: `WWW-Authenticate: Bearer realm="OAuth", error="invalid_token"`}},
			fails: []string{`the metadata is of issuer "{AS}"; it must be "{RS}": if the former is one that you trust, give it as Config.Issuer`},
		},
		//report: Logins | atlassian/atlassian-mcp-server#205, can1357/oh-my-pi#3551 | the same, and the user has named the authorization server | the login is there
		"Atlassian, with its issuer": {auth: auth.Config{Issuer: "{AS}"}, rules: []rule{
			{at: "GET {RS}" + prm + "/mcp", status: 404}, {at: "GET {RS}" + prm, status: 404}, metadata("{RS}"+asm, "{AS}", s256),
			{at: "POST {RS}/mcp", lacks: []string{"Bearer "}, status: 401, field: `WWW-Authenticate: Bearer realm="OAuth", error="invalid_token"`}}},
		//report: Logins | anomalyco/opencode#39332, atlassian/atlassian-mcp-server#148 | Atlassian's server names the tenant of an authorization server, whose metadata leaves the tenant out | with the endpoints in the configuration the user logs in
		"Atlassian, with its endpoints": {as: ownClient("", authtest.Options{}), auth: own(auth.Config{Authority: endpoints}, ""), rules: []rule{
			names("{AS}/tenant"), metadata("{AS}/tenant"+oidc, "{AS}", s256)}},
		//report: Logins | smart-mcp-proxy/mcpproxy-go#234, punkpeye/mcp-remote#186, apify/mcpc#296, docker/sbx-releases#435, PrimeIntellect-ai/prime-agent#2362 | Figma registers clients of its partners alone, and answers others with 403 and a word of text | the user reads who refused what, and that a client that was registered by hand is needed
		"Figma": {
			rules: []rule{{at: "POST {AS}/register", status: 403, body: "Forbidden"}},
			fails: []string{"registration refused by 127.0.0.1:", "no error code (HTTP status 403)", "register one there by hand", "Config.Client"},
		},
		//report: Logins | github/copilot-cli#4906, craft-ai-agents/craft-agents-oss#190 | Figma knows its partners by client_name, and gives them a secret that it wants back | the name of the program can be configured, and the secret is shown as the answer says
		"Figma, of a partner": {as: authtest.Options{ClientAuth: "client_secret_post"}, auth: auth.Config{Registration: auth.Registration{ClientName: "Partner"}}, rules: []rule{
			{at: "POST {AS}/register", lacks: []string{`"client_name":"Partner"`}, status: 403, body: "Forbidden"},
			{at: "POST {AS}/token", lacks: []string{"client_secret="}, status: 401, body: "Unauthorized"}}},
		//report: Logins | HubSpot https://developers.hubspot.com/docs/apps/developer-platform/build-apps/integrate-with-the-remote-hubspot-mcp-server, NousResearch/hermes-agent#112023, macro-inc/macro#5598, openclaw/mcporter#132 | HubSpot registers no clients, and takes client_secret_post alone | with the client that was made there the user logs in
		"HubSpot": {as: registered("client_secret_post", authtest.Options{Metadata: lists("client_secret_post")}), auth: own(auth.Config{}, ownSecret), sent: []string{"client_secret=" + ownSecret}, never: []string{"Authorization: Basic"}},
		//report: Logins | jaw9c/awesome-remote-mcp-servers#56 | a challenge of HubSpot is an address and nothing else | it is passed over, and the well-known addresses are tried
		"HubSpot, challenge": {rules: []rule{{at: "POST {RS}/mcp", lacks: []string{"Bearer "}, status: 401, field: "WWW-Authenticate: {RS}" + asm}}},
		//report: Logins | Notion https://developers.notion.com/guides/mcp/build-mcp-client | Notion registers clients with client_secret_basic, and its refresh tokens are good once | the client is registered, and each renewal keeps the new refresh token
		"Notion": {as: authtest.Options{Metadata: lists("client_secret_basic"), ClientAuth: "client_secret_basic"}, sent: []string{"Authorization: Basic"}},
		//report: Logins | anthropics/claude-code#83679, anthropics/claude-code#55067, openclaw/mcporter#132 | Slack registers no clients, names an issuer that is not that of its metadata, and has the token of a user inside its answer | with the id of an app and the endpoints in the configuration the user logs in, also without a secret
		"Slack": {as: registered("", authtest.Options{}), auth: own(auth.Config{Authority: endpoints}, ""), rules: []rule{
			names("{RS}"), metadata("{RS}"+asm, "{AS}", s256),
			token(`{"ok":true,"authed_user":{"id":"U1","scope":"chat:write,search:read","access_token":"{ACCESS}","refresh_token":"{REFRESH}","token_type":"user"}}`)}},
		//report: Logins | Google https://developers.google.com/identity/protocols, home-assistant/core#180546, github/copilot-cli#4606 | Google registers no clients, has its issuer named with a slash too much, gives refresh tokens for access_type=offline alone, and no new one at a renewal | with client, issuer and that parameter in the configuration the user logs in once
		"Google": {as: registered("client_secret_basic", authtest.Options{KeepRefresh: true}), auth: own(auth.Config{LoginParams: url.Values{"access_type": {"offline"}, "prompt": {"consent"}}}, ownSecret),
			rules: []rule{names("{AS}/")}, sent: []string{"access_type=offline&"}},
		//report: Logins | anthropics/claude-code#3273, google-gemini/gemini-cli#13643, vercel/ai#10899 | GitHub registers no clients, publishes no metadata for its issuer, and answers token requests in form encoding with commas between scopes | with client and endpoints in the configuration the user logs in
		"GitHub": {as: registered("client_secret_basic", authtest.Options{}), auth: own(auth.Config{Authority: endpoints}, ownSecret), rules: []rule{
			names("{AS}/login/oauth"), token("access_token={ACCESS}&refresh_token={REFRESH}&expires_in=28800&scope=gist%2Crepo&token_type=bearer")}},
		//report: Logins | Entra https://learn.microsoft.com/et-EE/azure/active-directory/develop/v2-oauth2-auth-code-flow, punkpeye/mcp-remote#217, punkpeye/mcp-remote#357, LibreChat-AI/librechat.ai#420 | Entra registers no clients, does not list S256, takes no resource parameter, has lifetimes as text, and renews no token without scopes | with client and endpoints in the configuration, and the resource parameter off, the user logs in once
		"Entra": {as: registered("", authtest.Options{ResourceRefused: true, Metadata: func(d map[string]any) { delete(d, "code_challenge_methods_supported") }}),
			auth: own(auth.Config{Authority: endpoints, NoResource: true, Scopes: []string{"api://app/access", "offline_access"}}, ""), rules: []rule{
				refused("", "scope=api://app/access offline_access&"),
				token(`{"token_type":"Bearer","scope":"api://app/access offline_access","expires_in":"5250","ext_expires_in":"5250","access_token":"{ACCESS}","refresh_token":"{REFRESH}"}`)}},
		//report: Logins | danny-avila/LibreChat#13401, microsoft/vscode#274226, modelcontextprotocol/python-sdk#2270 | the issuer of Auth0 ends in a slash, audience says what a token is for, and a renewal brings no new refresh token | the slash is kept, audience can be configured, and the refresh token is kept
		"Auth0": {as: authtest.Options{KeepRefresh: true, Metadata: func(d map[string]any) {
			d["issuer"] = d["issuer"].(string) + "/"
			delete(d, "authorization_response_iss_parameter_supported")
		}}, alone: true, auth: auth.Config{LoginParams: url.Values{"audience": {"https://api.example"}}}, rules: []rule{names("{AS}/")}, sent: []string{"audience=https://api.example&"}},
		//report: Logins | keycloak/keycloak#43654, turnstonelabs/turnstone#1082 | the issuer of Keycloak is a realm, and a registration that names scopes is refused by its policy | the client is registered without scopes, and the user logs in
		"Keycloak": {as: authtest.Options{Path: "/realms/r"}, rules: []rule{
			names("{AS}/realms/r"),
			{at: "POST {AS}/realms/r/register", has: []string{`"scope":`}, status: 403, body: `{"error":"insufficient_scope","error_description":"Policy 'Allowed Client Scopes' rejected request"}`}}},
		//report: Logins | anthropics/claude-code#13275, anthropics/claude-code#67258 | Cognito has an OpenID configuration alone, without S256 and without registration | with client and endpoints in the configuration the user logs in
		"Cognito": {as: registered("", authtest.Options{KeepRefresh: true}), auth: own(auth.Config{Authority: endpoints}, ""), rules: []rule{
			names("{AS}/pool"), metadata("{AS}/pool"+oidc, "{AS}/pool", "")}},
		//report: Logins | danny-avila/LibreChat#13412, cognizant-ai-lab/nsflow#233 | Salesforce takes no scopes at a renewal, and registers no clients | with the client in the configuration the user logs in, and the token is renewed
		"Salesforce": {as: registered("client_secret_basic", authtest.Options{}), auth: own(auth.Config{}, ownSecret), rules: []rule{names("{AS}"), refused("scope=", "")}},
		//report: Logins | letta-ai/letta-code#4018, cloudflare/mcp#44 | Cloudflare's servers refuse scopes that they do not list, and redirect URIs that were not registered to the letter | none are asked for where none are listed, and the login comes back where the registration said
		"Cloudflare": {rules: []rule{
			{at: "GET {AS}/authorize", has: []string{"scope="}, status: 400, body: "invalid_scope"},
			{at: "GET {AS}/authorize", lacks: []string{"redirect_uri=" + callbackURL + "&"}, status: 500}}},
	})
}
