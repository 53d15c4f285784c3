package openapi_test

import (
	"errors"
	"strings"
	"testing"

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
    spy: {type: apiKey, in: query, name: "a${HOME}"}
`

func TestLogins(t *testing.T) {
	for _, c := range []struct{ name, security, auth, headers string }{
		{"none", `[]`, `{}`, `null`},
		{"optional", `[{}]`, `{}`, `null`},
		{"a header", `[{key: []}]`, `{"type":"api_key","in":"header","name":"X-Key","value":"${SHOP_KEY}"}`, `null`},
		{"the query", `[{query: []}]`, `{"type":"api_key","in":"query","name":"key","value":"${SHOP_QUERY}"}`, `null`},
		{"a cookie", `[{cookie: []}]`, `{"type":"api_key","in":"cookie","name":"sid","value":"${SHOP_COOKIE}"}`, `null`},
		{"basic", `[{basic: []}]`, `{"type":"basic","user":"${SHOP_BASIC_USER}","password":"${SHOP_BASIC_PASSWORD}"}`, `null`},
		{"by reference", `[{alias: []}]`, `{"type":"basic","user":"${SHOP_ALIAS_USER}","password":"${SHOP_ALIAS_PASSWORD}"}`, `null`},
		{"bearer", `[{bearer: []}]`, `{"type":"bearer","value":"${SHOP_BEARER}"}`, `null`},
		{"two headers", `[{key: [], app: []}]`, `{"type":"api_key","in":"header","name":"X-App","value":"${SHOP_APP}"}`, `{"X-Key":"${SHOP_KEY}"}`},
		{"with a header", `[{bearer: [], key: []}]`, `{"type":"bearer","value":"${SHOP_BEARER}"}`, `{"X-Key":"${SHOP_KEY}"}`},
		{"what cannot be had comes first", `[{digest: []}, {query: [], basic: []}, {mtls: []}, {nowhere: []}, {bad: []}, {spy: []}, {basic: []}]`,
			`{"type":"basic","user":"${SHOP_BASIC_USER}","password":"${SHOP_BASIC_PASSWORD}"}`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, head+schemes+"security: "+c.security+"\npaths: {/a: {get: {operationId: a}}}", nil)
			if len(problems) > 0 || len(api.Endpoints) != 1 {
				t.Errorf("%d endpoints, problems %v", len(api.Endpoints), problems)
			}
			same(t, "auth", api.Auth, c.auth)
			same(t, "headers", api.Headers, c.headers)
		})
	}
}

// Nobody can log in by OAuth here: a token comes from elsewhere.
func TestOAuth(t *testing.T) {
	for _, name := range []string{"oauth", "oidc"} {
		api, problems := parse(t, head+schemes+"security: [{"+name+": [read]}]\npaths: {/a: {get: {operationId: a}}}", nil)
		same(t, "auth", api.Auth, `{"type":"bearer","value":"${SHOP_`+strings.ToUpper(name)+`}"}`)
		problem(t, problems, openapi.LostNothing, "/components/securitySchemes/"+name, "${SHOP_"+strings.ToUpper(name)+"}")
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
			var names []string
			for _, e := range api.Endpoints {
				names = append(names, e.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("endpoints %s, want %s", got, c.want)
			}
			if len(problems)+len(names) != 9 {
				t.Errorf("%d endpoints and %d problems of 9 operations", len(names), len(problems))
			}
			for _, p := range problems {
				if p.Lost != openapi.LostOperation || !strings.Contains(p.Reason, "it needs the login") {
					t.Error(p)
				}
			}
		})
	}
}

func TestSecurityOption(t *testing.T) {
	for _, name := range []string{"nowhere", "digest", "mtls", "bad", "spy"} {
		_, _, err := openapi.Parse([]byte(manyLogins), &openapi.Options{Security: []string{"bearer", name}})
		var wrong *openapi.OptionError
		if !errors.As(err, &wrong) || wrong.Option != "Security[1]" {
			t.Errorf("%s: %v", name, err)
		}
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
	if len(problems) != 2 {
		t.Errorf("problems: %v", problems)
	}
	api, problems = parse(t, head+schemes+`
security: [{key: []}]
paths: {/a: {get: {operationId: a, parameters: [{name: x-key, in: header, required: true}]}}}
`, nil)
	if len(api.Endpoints[0].Params)+len(problems) != 0 {
		t.Errorf("params %v, problems %v", api.Endpoints[0].Params, problems)
	}
}

func TestSecretNames(t *testing.T) {
	for _, c := range []struct{ api, scheme, want string }{
		{"pet store", "api-key", "${PET_STORE_API_KEY}"},
		{"9 to 5", "Ünïcode", "${TO_5_N_CODE}"},
		{"日本", "鍵", "${API_SECRET}"},
		{"a}${B", "k", "${A_B_K}"},
	} {
		api, _ := parse(t, head+"components: {securitySchemes: {\""+c.scheme+"\": {type: http, scheme: bearer}}}\n"+
			"paths: {/a: {get: {operationId: a, security: [{\""+c.scheme+"\": []}]}}}", &openapi.Options{Name: c.api})
		if api.Auth.Value != c.want {
			t.Errorf("%s, %s: %s, want %s", c.api, c.scheme, api.Auth.Value, c.want)
		}
	}
}
