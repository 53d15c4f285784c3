package openapi_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

func TestServers(t *testing.T) {
	for _, c := range []struct {
		name, servers string
		opts          openapi.Options
		want, reason  string
	}{
		{"the first", `[{url: https://a.example/v1}, {url: https://b.example}]`, openapi.Options{}, "https://a.example/v1", ""},
		{"given", `[{url: /v1}]`, openapi.Options{BaseURL: "http://127.0.0.1:8080/x"}, "http://127.0.0.1:8080/x", ""},
		{"no servers", `[]`, openapi.Options{}, "", "names no server"},
		{"relative", `[{url: /v1}]`, openapi.Options{}, "", "relative"},
		{"relative to the scheme", `[{url: //a.example/v1}]`, openapi.Options{}, "", "relative"},
		{"variables", `[{url: "https://{region}.a.example:{port}/{base}", variables: {region: {default: eu, enum: [eu, us]}, port: {default: "443"}, base: {default: v2}}}]`,
			openapi.Options{}, "https://eu.a.example:443/v2", ""},
		{"a variable without a value", `[{url: "https://{tenant}.a.example"}]`, openapi.Options{}, "", `the variable "tenant"`},
		{"a variable that is not closed", `[{url: "https://{tenant", variables: {tenant: {default: a}}}]`, openapi.Options{}, "", `the variable "tenant"`},
		{"a login", `[{url: "https://me:secret@a.example"}]`, openapi.Options{}, "", "holds a login"},
		{"a query", `[{url: "https://a.example/?key=1"}]`, openapi.Options{}, "", "has a query"},
		{"an empty query", `[{url: "https://a.example/?"}]`, openapi.Options{}, "", "has a query"},
		{"a fragment", `[{url: "https://a.example/#a"}]`, openapi.Options{}, "", "has a query or a fragment"},
		{"a file", `[{url: "file:///etc/passwd"}]`, openapi.Options{}, "", "not one of https or http"},
		{"a script", `[{url: "javascript:alert(1)"}]`, openapi.Options{}, "", "not one of https or http"},
		{"no host", `[{url: "https:///v1"}]`, openapi.Options{}, "", "not one of https or http"},
		{"up", `[{url: "https://a.example/v1/%2e%2e/admin"}]`, openapi.Options{}, "", "segment . or .."},
		{"no URL", `[{url: "https://a.example:port"}]`, openapi.Options{}, "", "the server's URL is none"},
		{"a secret", `[{url: "https://a.example/${HOME}", variables: {HOME: {default: h}}}]`, openapi.Options{}, "https://a.example/$$h", ""},
		{"a secret from a variable", `[{url: "https://a.example/{v}", variables: {v: {default: "${HOME}"}}}]`, openapi.Options{}, "https://a.example/$$%7BHOME%7D", ""},
		{"a secret in the host", `[{url: "https://{v}.a.example/", variables: {v: {default: "${HOME}"}}}]`, openapi.Options{}, "", "the server's URL is none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, "openapi: 3.0.0\ninfo: {title: Shop}\nservers: "+c.servers+"\npaths: {/a: {get: {operationId: a}}}", &c.opts)
			assert.Equal(t, api.BaseURL, c.want, "base URL")
			if c.reason == "" {
				assert.Equal(t, fmt.Sprint(problems), "[]", "the problems")
				return
			}
			problem(t, problems, "", problems[0].Place, c.reason)
			assert.Contains(t, problems[0].Reason, "Options.")
			assert.Equal(t, len(api.Endpoints), 1, "the endpoints are lost")
			assert.Lacks(t, problems[0].String(), "secret", "the login is told")
		})
	}
}

func TestBaseURLOption(t *testing.T) {
	for _, base := range []string{"/v1", "ftp://a.example", "https://me:hunter2@a.example", "https://${HOST}/", "https://a.example/../b", "https://a.example/#b"} {
		err := refused(t, head, openapi.Options{BaseURL: base}, "BaseURL")
		assert.Lacks(t, err.Error(), "hunter2", "%s", base)
	}
}

// A login is for one host. It never goes to another.
func TestServersOfOperations(t *testing.T) {
	api, problems := parse(t, head+`
paths:
  /a: {servers: [{url: https://shop.example/v1}], get: {operationId: a}}
  /b: {servers: [{url: https://evil.example/v1}], get: {operationId: b}, put: {operationId: c, servers: [{url: https://shop.example/v1}]}}
  /d: {get: {operationId: d, servers: [{url: /v2}]}}
  /e: {get: {operationId: e, servers: [{url: https://evil.example}]}}
`, nil)
	assert.Equal(t, namesOf(api), "a c")
	assert.Equal(t, len(problems), 3)
}

func TestRelativeServersOfOperations(t *testing.T) {
	api, problems := parse(t, `
openapi: 3.0.0
servers: [{url: /v1}]
paths:
  /a: {servers: [{url: /v1}], get: {operationId: a}}
  /b: {servers: [{url: /v2}], get: {operationId: b}}
`, &openapi.Options{BaseURL: "https://shop.example/v1"})
	problem(t, problems, "operation", "/paths/~1b/servers/0", "server of its own")
	assert.Equal(t, len(api.Endpoints), 1)
}
