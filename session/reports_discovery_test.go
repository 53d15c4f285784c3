package session

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

const (
	wellKnown = "/.well-known/"
	prm       = wellKnown + "oauth-protected-resource"
	asm       = wellKnown + "oauth-authorization-server"
	oidc      = wellKnown + "openid-configuration"
)

// Where servers and authorization servers have their metadata, and what stands in it.
func TestReportedDiscovery(t *testing.T) {
	challenge := func(field string) rule {
		return rule{at: "POST {RS}/mcp", lacks: []string{"Authorization: Bearer "}, status: 401, field: "WWW-Authenticate: " + field}
	}
	metadata := func(issuer, more string) string {
		return `{"issuer":"` + issuer + `","authorization_endpoint":"{AS}/authorize","token_endpoint":"{AS}/token","registration_endpoint":"{AS}/register","code_challenge_methods_supported":["S256"]` + more + `}`
	}
	absent := func(addresses ...string) (rules []rule) {
		for _, at := range addresses {
			rules = append(rules, rule{at: "GET " + at, status: 404})
		}
		return rules
	}
	own := &auth.Client{ID: "own"}
	known := authtest.Options{Clients: []authtest.Client{{ID: "own", RedirectURIs: []string{callbackURL}}}}
	runReports(t, map[string]reported{
		//report: Logins | getsentry/sentry-mcp#939 | a challenge names two addresses of metadata, and nothing is at the first | the well-known address for the server's path is tried next, and the user logs in
		"two addresses in a challenge": {rules: []rule{
			challenge(`Bearer realm="OAuth", resource_metadata="{RS}` + prm + `", error="invalid_token", resource_metadata="{RS}` + prm + `/mcp"`),
		}},
		//report: Logins | QwenLM/qwen-code#5343 | a challenge has blanks around the equals sign, and single quotes | the address is read
		"single quotes": {rules: append(absent("{RS}"+prm+"/mcp", "{RS}"+prm),
			challenge(`Bearer resource_metadata = '{RS}/custom'`),
			rule{at: "GET {RS}/custom", status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":["{AS}"]}`})},
		//report: Logins | OfficeDev/microsoft-365-agents-toolkit#16214 | a challenge has the address of the metadata as resource_metadata_uri | the well-known addresses are tried, and the user logs in
		"another name in the challenge": {rules: []rule{challenge(`Bearer resource_metadata_uri="{RS}/custom"`)}},
		//report: Logins | akutishevsky/nutrition-mcp#51, PrefectHQ/fastmcp#1348 | a server with a path has its metadata at the root alone | the root is tried after the path
		"metadata at the root": {rules: append(absent("{RS}"+prm+"/mcp"),
			rule{at: "GET {RS}" + prm, status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":["{AS}"]}`})},
		//report: Logins | Swiggy/swiggy-mcp-server-manifest#88 | the address of the challenge is a page with status 404, that for the path answers 401, and the metadata at the root is of an issuer with a path | the first two only lead on; the specification has metadata of another issuer refused, and the error says so with both issuers
		"nothing where it says": {
			rules: append(absent("{RS}"+prm),
				challenge(`Bearer realm="mcp", resource_metadata="{RS}`+prm+`"`),
				rule{at: "GET {RS}" + prm + "/mcp", status: 401},
				rule{at: "GET {RS}" + asm, status: 200, body: metadata("{RS}/auth", "")}),
			fails: []string{`the metadata is of issuer "{RS}/auth"; it must be "{RS}"`},
		},
		//report: Logins | aws/amazon-q-developer-cli#3638 | a challenge names no metadata, and the server has none but as its own authorization server | the metadata at the server's root is used
		"the server itself": {alone: true, rules: append(absent("{RS}"+prm, "{RS}"+prm+"/mcp"),
			challenge(`Bearer realm="OAuth", error="invalid_token"`),
			rule{at: "GET {RS}" + asm, status: 200, body: metadata("{RS}", "")})},
		//report: Logins | decocms/studio#2124, logiscape/mcp-sdk-php#56 | the metadata of a server names no authorization server | the server itself is looked at, at its root
		"no authorization server in the metadata": {alone: true, rules: []rule{
			{at: "GET {RS}" + prm + "/mcp", status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":[]}`},
			{at: "GET {RS}" + asm, status: 200, body: metadata("{RS}", "")}}},
		//report: Logins | BuilderIO/agent-native#5268 | the server publishes no metadata, and its authorization server is on another host | with the issuer in the configuration the user logs in
		"another host, configured": {auth: auth.Config{Issuer: "{AS}"}, rules: append(absent("{RS}"+prm, "{RS}"+prm+"/mcp"),
			rule{at: "POST {RS}/mcp", lacks: []string{"Bearer "}, status: 401})},
		//report: Logins | coder/xum#3734 | the server is at a path of GitLab, and the issuer is the origin | the issuer is held against the origin, not against the address of the server
		"the origin is the issuer": {alone: true, rules: append(absent("{RS}"+prm, "{RS}"+prm+"/mcp", "{RS}"+asm+"/mcp"),
			rule{at: "GET {RS}" + oidc, status: 200, body: metadata("{RS}", "")})},
		//report: Logins | anthropics/claude-ai-mcp#367 | servers at paths of one host have an authorization server each, with metadata for the path alone | after the root the path is tried, and the user logs in
		"metadata for the path": {alone: true, rules: append(absent("{RS}"+prm, "{RS}"+prm+"/mcp"),
			rule{at: "GET {RS}" + asm + "/mcp", status: 200, body: metadata("{RS}/mcp", "")})},
		//report: Logins | iOfficeAI/AionCore#988 | what stands below the server's path answers 401, and the metadata at the root is redirected | redirects within the origin are followed, and the user logs in
		"redirected metadata": {alone: true, rules: append(absent("{RS}"+prm, "{RS}"+prm+"/mcp"),
			rule{at: "GET {RS}" + asm, status: 302, field: "Location: /metadata.json"},
			rule{at: "GET {RS}/metadata.json", status: 200, body: metadata("{RS}", "")})},
		//report: Logins | can1357/oh-my-pi#3539 | an issuer has a path, and other metadata is at its root | the metadata for the path is taken, and the root is not asked
		"issuer with a path": {as: authtest.Options{Path: "/http"}, rules: []rule{
			{at: "GET {AS}" + asm, status: 200, body: metadata("{AS}", "")},
		}, never: []string{"GET {AS}" + asm + "?"}},
		//report: Logins | cloudflare/agents#689 | the server names its own address as the authorization server, whose metadata is at the root | the specification has the root not asked; the error lists the three places, and the cure is to give the endpoints
		"address for an issuer": {
			rules: []rule{
				{at: "GET {RS}" + prm + "/mcp", status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":["{RS}/mcp"]}`},
				{at: "GET {RS}" + asm, status: 200, body: metadata("{RS}", "")},
			},
			fails: []string{"{RS}" + asm + "/mcp: HTTP status 404", "{RS}" + oidc + "/mcp: HTTP status 404", "{RS}/mcp" + oidc + ": HTTP status 404", "give its endpoints"},
		},
		//report: Logins | github/copilot-cli#4606 | Google's servers name their issuer with a slash too much | with the issuer in the configuration the user logs in; without it the error says so
		"slash too much, configured": {auth: auth.Config{Issuer: "{AS}"}, rules: []rule{
			{at: "GET {RS}" + prm + "/mcp", status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":["{AS}/"]}`},
		}},
		//report: Logins | anthropics/claude-ai-mcp#560 | the metadata of a server is about a server on another host | the specification has it refused; the error has both addresses, and the key for the address
		"metadata of another server": {
			rules: []rule{{at: "GET {RS}" + prm + "/mcp", status: 200, body: `{"resource":"https://other.example/mcp","authorization_servers":["{AS}"]}`}},
			fails: []string{`the resource of its metadata is "https://other.example/mcp", and not "{RS}/mcp"`, "give it as Config.URL"},
		},
		//report: Logins | microsoft/vscode#259251, microsoft/vscode#262278 | the metadata of a server ends in a slash or does not, where its address does the other, and GitHub sends its content type twice | both name the same server, and the user logs in
		"slash of the resource": {rules: []rule{
			{at: "GET {RS}" + prm + "/mcp", status: 200, field: "Content-Type: application/json, application/json", body: `{"resource":"{RS}/mcp/","authorization_servers":["{AS}"]}`},
			{at: "POST {RS}/mcp", has: []string{"Authorization: Bearer "}, status: 200},
		}, sent: []string{"resource={RS}/mcp/&"}},
		//report: Logins | open-metadata/OpenMetadata#30642 | members of the metadata are null | null counts as absent
		"null members": {rules: []rule{
			{at: "GET {RS}" + prm + "/mcp", status: 200, body: `{"resource":"{RS}/mcp","authorization_servers":["{AS}"],"scopes_supported":null,"resource_signing_alg_values_supported":null}`},
		}},
		//report: Logins | anthropics/claude-code#17274 | PagerDuty's metadata lacks response_types_supported | it is not needed
		"no response types": {as: authtest.Options{Metadata: func(d map[string]any) { delete(d, "response_types_supported") }}},
		//report: Logins | PrefectHQ/fastmcp#4166 | an authorization server has OAuth metadata and no OpenID configuration | the former is asked for first, and the latter not at all
		"no OpenID configuration": {never: []string{"openid-configuration"}},
		//report: Logins | anomalyco/opencode#49123, anomalyco/opencode#49126 | neither the server nor its authorization server publishes metadata | with the endpoints in the configuration nothing is looked up, and the user logs in
		"no metadata": {as: known, auth: auth.Config{Client: own, Authority: &auth.Authority{AuthorizationEndpoint: "{AS}/authorize", TokenEndpoint: "{AS}/token"}},
			rules: absent("{RS}"+prm, "{RS}"+prm+"/mcp", "{AS}"+asm), never: []string{wellKnown}},
	})
}
