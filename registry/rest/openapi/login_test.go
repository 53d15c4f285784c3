package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

const schemes = `
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    app: {type: apiKey, in: header, name: X-App}
    query: {type: apiKey, in: query, name: key}
    cookie: {type: apiKey, in: cookie, name: sid}
    basic: {type: http, scheme: Basic}
    bearer: {type: http, scheme: bearer}
    digest: {type: http, scheme: digest}
    oauth: {type: oauth2, flows: {}}
    oidc: {type: openIdConnect, openIdConnectUrl: "https://x.example"}
    mtls: {type: mutualTLS}
    alias: {$ref: "#/components/securitySchemes/basic"}
    bad: {type: apiKey, in: header, name: "X: Y"}
    dollar: {type: apiKey, in: query, name: "a${HOME}"}
    host: {type: apiKey, in: header, name: Host}
    nameless: {type: apiKey, in: query}
    body: {type: apiKey, in: body, name: a}
`

func TestLogins(t *testing.T) {
	for _, c := range []struct{ name, security, auth, headers string }{
		{"none", `[]`, `{}`, `null`},
		{"optional", `[{}]`, `{}`, `null`},
		{"a header", `[{key: []}]`, `{}`, `{"X-Key":"${REST_SHOP_EXAMPLE___KEY}"}`},
		{"the query", `[{query: []}]`, `{"type":"api_key","in":"query","name":"key","value":"${REST_SHOP_EXAMPLE___QUERY}"}`, `null`},
		{"a name like a reference", `[{dollar: []}]`, `{"type":"api_key","in":"query","name":"a${HOME}","value":"${REST_SHOP_EXAMPLE___DOLLAR}"}`, `null`},
		{"a cookie", `[{cookie: []}]`, `{}`, `{"Cookie":"sid=${REST_SHOP_EXAMPLE___COOKIE}"}`},
		{"basic", `[{basic: []}]`, `{"type":"basic","user":"${REST_SHOP_EXAMPLE___BASIC_USER}","password":"${REST_SHOP_EXAMPLE___BASIC_PASSWORD}"}`, `null`},
		{"by reference", `[{alias: []}]`, `{"type":"basic","user":"${REST_SHOP_EXAMPLE___ALIAS_USER}","password":"${REST_SHOP_EXAMPLE___ALIAS_PASSWORD}"}`, `null`},
		{"bearer", `[{bearer: []}]`, `{"type":"bearer","value":"${REST_SHOP_EXAMPLE___BEARER}"}`, `null`},
		{"two headers", `[{key: [], app: []}]`, `{}`, `{"X-App":"${REST_SHOP_EXAMPLE___APP}","X-Key":"${REST_SHOP_EXAMPLE___KEY}"}`},
		{"a header that comes first", `[{app: [], query: []}]`, `{"type":"api_key","in":"query","name":"key","value":"${REST_SHOP_EXAMPLE___QUERY}"}`, `{"X-App":"${REST_SHOP_EXAMPLE___APP}"}`},
		{"with a header", `[{bearer: [], key: []}]`, `{"type":"bearer","value":"${REST_SHOP_EXAMPLE___BEARER}"}`, `{"X-Key":"${REST_SHOP_EXAMPLE___KEY}"}`},
		{"what cannot be had comes first", `[{digest: []}, {query: [], basic: []}, {mtls: []}, {nowhere: []}, {bad: []}, {host: []}, {nameless: []}, {body: []}, {key: [], host: []}, {basic: []}]`,
			`{"type":"basic","user":"${REST_SHOP_EXAMPLE___BASIC_USER}","password":"${REST_SHOP_EXAMPLE___BASIC_PASSWORD}"}`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, head+schemes+"security: "+c.security+"\npaths: {/a: {get: {operationId: a}}}", nil)
			assert.Equal(t, fmt.Sprint(problems), "[]")
			assert.Equal(t, len(api.Endpoints), 1)
			same(t, "auth", api.Auth, c.auth)
			same(t, "headers", api.Headers, c.headers)
		})
	}
}

// There is no login by OAuth here: a token comes from elsewhere.
func TestOAuth(t *testing.T) {
	for _, name := range []string{"oauth", "oidc"} {
		api, problems := parse(t, head+schemes+"security: [{"+name+": [read]}]\npaths: {/a: {get: {operationId: a}}}", nil)
		same(t, "auth", api.Auth, `{"type":"bearer","value":"${REST_SHOP_EXAMPLE___`+strings.ToUpper(name)+`}"}`)
		problem(t, problems, "", "/components/securitySchemes/"+name, "${REST_SHOP_EXAMPLE___"+strings.ToUpper(name)+"}")
	}
}

const manyLogins = head + schemes + `
security: [{bearer: []}]
paths:
  /a: {get: {operationId: a}}
  /b: {get: {operationId: b, security: [{basic: []}, {key: []}]}}
  /c: {get: {operationId: c, security: [{bearer: [], key: []}]}}
  /d: {get: {operationId: d, security: []}}
  /e: {get: {operationId: e, security: [{basic: []}, {}]}}
  /f: {get: {operationId: f, security: [{key: []}]}}
  /g: {get: {operationId: g, security: [{digest: []}]}}
  /h: {get: {operationId: h}}
  /i: {get: {operationId: i, security: [{bearer: []}, {digest: []}]}}
`

func TestOperationsOfOtherLogins(t *testing.T) {
	for _, c := range []struct {
		name     string
		security []string
		want     string
	}{
		{"what suits most", nil, "a d e h i"},
		{"chosen", []string{"key"}, "b d e f"},
		{"both", []string{"bearer", "key"}, "a b c d e f h i"},
		{"none", []string{}, "d e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, manyLogins, &openapi.Options{Security: c.security})
			assert.Equal(t, namesOf(api), c.want, "endpoints")
			assert.Equal(t, len(problems)+len(api.Endpoints), 9)
			for _, p := range problems {
				assert.Equal(t, p.Lost, "operation")
				assert.Contains(t, p.Reason, "it needs the login")
			}
		})
	}
}

// What most operations need is counted by operations, however it is written down.
func TestLoginOfMost(t *testing.T) {
	api, _ := parse(t, head+schemes+`
security: [{bearer: []}]
paths:
  /a: {get: {security: [{key: []}]}, put: {security: [{key: []}]}}
  /b: {get: {}, put: {}, post: {}}
`, nil)
	assert.Equal(t, len(api.Endpoints), 3)
	assert.Equal(t, api.Auth.Type, rest.Bearer)
}

func TestSecurityOption(t *testing.T) {
	for _, name := range []string{"nowhere", "digest", "mtls", "bad", "host", "nameless", "body"} {
		_ = refused(t, manyLogins, openapi.Options{Security: []string{"bearer", name}}, "Security[1]")
	}
}

// What a model must not know it is not asked for.
func TestLoginAmongTheParameters(t *testing.T) {
	api, problems := parse(t, head+schemes+`
security: [{bearer: []}]
paths:
  /a:
    get:
      operationId: a
      parameters:
        - {name: x-key, in: header, required: true}
        - {name: key, in: query}
        - {name: key, in: header}
`, nil)
	same(t, "params", api.Endpoints[0].Params, `[{"name":"key","in":"header","schema":{}}]`)
	assert.Equal(t, len(problems), 2)
	api, problems = parse(t, head+schemes+`
security: [{key: []}]
paths: {/a: {get: {operationId: a, parameters: [{name: x-key, in: header, required: true}]}}}
`, nil)
	assert.Equal(t, len(api.Endpoints[0].Params)+len(problems), 0)
}

// The author of a document must not get what is meant for another host, or what the
// environment holds for other programs.
func TestSecretNames(t *testing.T) {
	for _, c := range []struct{ name, server, title, scheme, want string }{
		{"petstore", "https://a.example", "x", "api-key", "${REST_PETSTORE___API__KEY}"},
		{"", "https://api.github.example/v3", "x", "token", "${REST_API_GITHUB_EXAMPLE___TOKEN}"},
		{"", "https://api-github.example/v3", "x", "token", "${REST_API__GITHUB_EXAMPLE___TOKEN}"},
		{"", "https://API.github.example:8443", "x", "token", "${REST_API_GITHUB_EXAMPLE__8443___TOKEN}"},
		{"", "https://evil.example", "AWS", "secret_access_key", "${REST_EVIL_EXAMPLE___SECRET_ACCESS_KEY}"},
		{"", "/relative", "AWS", "Ünïcode", "${REST___UDCNUEFCODE}"},
		{"", "https://evil.example", "x", "k}${HOME", "${REST_EVIL_EXAMPLE___K______HOME}"},
	} {
		api, _ := parse(t, "openapi: 3.0.0\ninfo: {title: "+c.title+"}\nservers: [{url: \""+c.server+"\"}]\ncomponents: {securitySchemes: {\""+c.scheme+"\": {type: http, scheme: bearer}}}\n"+
			"paths: {/a: {get: {operationId: a, security: [{\""+c.scheme+"\": []}]}}}", &openapi.Options{Name: c.name})
		assert.Equal(t, api.Auth.Value, c.want, "%s, %s", c.server, c.scheme)
		if c.server != "/relative" {
			assert.Equal(t, "${"+strings.Join(api.Secrets(), " ")+"}", c.want, "the secrets")
		}
	}
}

// A document chooses the names of its schemes, but no owner of a host gets by one what
// is for another.
func TestSchemesDoNotReachOtherHosts(t *testing.T) {
	of := func(name, host, scheme string) string {
		api, _ := parse(t, "openapi: 3.0.0\ninfo: {title: x}\nservers: [{url: \"https://"+host+"\"}]\ncomponents: {securitySchemes: {\""+scheme+"\": {type: http, scheme: bearer}}}\n"+
			"paths: {/a: {get: {operationId: a, security: [{\""+scheme+"\": []}]}}}", &openapi.Options{Name: name})
		return api.Auth.Value
	}
	for _, c := range []struct{ name, host, evilName, evilHost, rest string }{
		{"", "example.co.uk", "", "example.co", "uk"},
		{"", "api.shop.com", "", "api.shop", "com"},
		{"", "my.app-server.com", "", "my.app", "server_com"},
		{"shop_eu", "shop.example", "shop", "evil.example", "eu"},
	} {
		mine := of(c.name, c.host, "api_key")
		for _, between := range []string{"_", "__", "___", "-", "."} {
			for _, before := range []string{"", "_", "__", "-", "."} {
				scheme := before + c.rest + between + "api_key"
				assert.False(t, of(c.evilName, c.evilHost, scheme) == mine, "%s of %s is the secret of %s", scheme, c.evilHost, c.host)
			}
		}
	}
}
