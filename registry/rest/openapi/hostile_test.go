// Tests of ref.go, schema.go and operation.go: documents that want more than they may.

package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

// A canary would sing if a reference were followed: a server that counts, and a file
// whose content would show.
func TestReferencesAreNeverFetched(t *testing.T) {
	var visits atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		fmt.Fprint(w, `{"name": "canary", "in": "query", "type": "string", "const": "canary", "get": {"operationId": "canary"}}`)
	}))
	defer canary.Close()
	file := filepath.Join(t.TempDir(), "canary.json")
	assert.OK(t, os.WriteFile(file, []byte(`{"const": "canary"}`), 0o600))
	relative := assert.Value(filepath.Rel(assert.Value(os.Getwd())(t), file))(t)
	for _, ref := range []string{
		canary.URL, canary.URL + "/x.json#/a", "//" + strings.TrimPrefix(canary.URL, "http://") + "/x", "file://" + file, file, relative,
		"./testdata/petstore-3.0.json#/components/schemas/Pet", "testdata/petstore-3.0.json", "", "data:application/json,{}",
	} {
		const text = head + `
security: [{login: []}]
components:
  securitySchemes: {login: {$ref: "REF"}}
  parameters: {P: {$ref: "REF"}}
  schemas: {S: {allOf: [{$ref: "REF"}]}}
paths:
  /a: {$ref: "REF"}
  /b: {get: {$ref: "REF"}}
  /c: {get: {operationId: c, parameters: [{$ref: "REF"}]}}
  /d: {get: {operationId: d, parameters: [{$ref: "#/components/parameters/P"}]}}
  /e: {post: {operationId: e, requestBody: {$ref: "REF"}}}
  /f: {post: {operationId: f, requestBody: {required: true, content: {application/json: {$ref: "REF"}}}}}
  /g: {post: {operationId: g, requestBody: {required: true, content: {application/json: {schema: {$ref: "REF"}}}}}}
  /h: {post: {operationId: h, requestBody: {required: true, content: {application/json: {schema: {items: {$ref: "#/components/schemas/S"}}}}}}}
  /i: {get: {operationId: i, responses: {"200": {$ref: "REF"}}, callbacks: {x: {$ref: "REF"}}}}
`
		api, problems := parse(t, strings.ReplaceAll(text, "REF", ref), &openapi.Options{Security: []string{}})
		assert.Lacks(t, fmt.Sprintf("%+v", api), "canary", "%s", ref)
		assert.Equal(t, len(api.Endpoints), 0, "%s", ref)
		assert.False(t, len(problems) < 8, "%s: %d are fewer than %d", ref, len(problems), 8)
	}
	assert.Equal(t, visits.Load(), 0)
}

// Templates that would lead elsewhere than they say.
func TestHostilePaths(t *testing.T) {
	for _, path := range []string{
		"//evil.example/a", "a", "", "https://evil.example/", "/a/../../admin", "/a/{b}/../{c}", "/a/./b", "/a/%2e%2E/b", "/a/%2e/b", "/..",
		"/a?admin=true", "/a#b", "/a\\..\\b", "/a b", "/a\nHost: evil", "/a\u0000", "/a/{b", "/a/b}", "/{}", "/{a}{a}", "/a/{{b}}", "/{a{b}}",
		"/a;b/{c}/..;/d", "/\u2025/a", "/\uFF0E\uFF0E/a", "/{..}", "/a%00b", "/a%2f..%2fb", "/a%5c..%5cb", "/%zz", "/\u202Ea",
	} {
		quoted := assert.Value(json.Marshal(path))(t)
		api, problems := parse(t, `{"openapi": "3.0.0", "servers": [{"url": "https://shop.example"}], "paths": {`+string(quoted)+`: {"get": {"operationId": "a"}}}}`, nil)
		if len(api.Endpoints) == 0 {
			assert.Equal(t, len(problems), 1, "%q", path)
			assert.Equal(t, problems[0].Lost, "operation", "%q", path)
			continue
		}
		// What is taken over must be harmless as it stands there.
		switch path {
		case "", "/\u2025/a", "/\uFF0E\uFF0E/a", "/{..}", "/a%00b", "/\u202Ea":
		default:
			t.Errorf("%q is taken over", path)
		}
		assert.Value(rest.New(api, nil))(t)
	}
}

// Nothing of a document is taken for the name of a secret.
func TestNoSecretsAreNamed(t *testing.T) {
	t.Setenv("CANARY", "canary")
	api, _ := parse(t, `
openapi: 3.0.0
info: {title: "${CANARY}", description: "${CANARY}"}
servers: [{url: "https://a.example/${x}/$CANARY/{v}", variables: {x: {default: y}, v: {default: "$CANARY"}}}]
security: [{"${CANARY}": []}]
components: {securitySchemes: {"${CANARY}": {type: http, scheme: bearer}, h: {type: apiKey, in: header, name: "${CANARY}"}}}
paths: {"/${a}": {get: {operationId: "${CANARY}", parameters: [{name: a, in: path, required: true}]}}}
`, nil)
	assert.Equal(t, api.BaseURL, "https://a.example/$$y/$$CANARY/$$CANARY")
	assert.Equal(t, api.Auth.Value, "${REST_A_EXAMPLE_______CANARY__}")
	assert.Equal(t, len(api.Headers), 0)
}

// Documents that ask for more than they hold.
func TestHostileSizes(t *testing.T) {
	n, users := assert.Cases(1_100, 50_000), assert.Cases(15, 150)
	many := func(n int, each func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(each(i))
		}
		return b.String()
	}
	wrap := func(schemas, parameters, paths string) string {
		return `{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "components": {"schemas": {` + schemas + `}, "parameters": {` + parameters + `}}, "paths": {` + paths + `}}`
	}
	ref := func(name string) string { return `{"$ref": "#/components/schemas/` + name + `"}` }
	op := func(i int, rest string) string {
		return fmt.Sprintf(`"/p%d": {"get": {"operationId": "a"%s}}`, i, rest)
	}
	param := func(schema string) string {
		return `, "parameters": [{"name": "p", "in": "query", "required": true, "schema": ` + schema + `}]`
	}
	doubling := many(40, func(i int) string {
		return fmt.Sprintf(`"S%d": {"properties": {"a": %s, "b": %s}}`, i, ref(fmt.Sprintf("S%d", i+1)), ref(fmt.Sprintf("S%d", i+1)))
	}) + `, "S40": {"type": "string"}`
	chain := many(10_000, func(i int) string { return fmt.Sprintf(`"S%d": {"items": %s}`, i, ref(fmt.Sprintf("S%d", i+1))) }) + `, "S10000": {}`
	hops := many(n, func(i int) string { return fmt.Sprintf(`"S%d": %s`, i, ref(fmt.Sprintf("S%d", i+1))) }) + fmt.Sprintf(`, "S%d": {}`, n)
	for _, c := range []struct {
		name, text          string
		endpoints, problems int
	}{
		{"schemas that double", wrap(doubling, "", op(0, param(ref("S0")))), 1, 0},
		{"a chain of schemas", wrap(chain, "", op(0, param(ref("S0")))), 0, 1},
		{"a chain of references", wrap(hops, "", op(0, param(ref("S0")))), 0, 1},
		{"a wide schema", wrap(`"W": {"enum": [`+many(20_000, func(i int) string { return fmt.Sprint(i) })+`]}`, "", op(0, param(ref("W")))), 0, 1},
		{"a wide schema for many", wrap(`"W": {"enum": [`+many(4_000, func(i int) string { return fmt.Sprint(i) })+`]}`, "",
			many(users, func(i int) string { return op(i, param(ref("W"))) })), users, 0},
		{"a large schema for many", wrap(`"W": {"description": "`+strings.Repeat("x", 200_000)+`"}`, "",
			many(users, func(i int) string { return op(i, param(ref("W"))) })), min(users, 83), max(0, users-83)},
		{"operations", wrap("", "", many(n, func(i int) string { return op(i, "") })), 1_000, 1},
		{"operations that are none", wrap("", "", many(n, func(i int) string { return fmt.Sprintf(`"/p%d": {"get": 1}`, i) })), 0, 1_001},
		{"parameters", wrap("", "", op(0, `, "parameters": [`+many(n, func(i int) string { return fmt.Sprintf(`{"name": "p%d", "in": "query"}`, i) })+`]`)), 0, 1},
		{"one name for all", wrap("", "", op(0, `, "parameters": [`+many(200, func(i int) string { return fmt.Sprintf(`{"name": "%s", "in": "query"}`, strings.Repeat("[]", i+1)) })+`]`)), 1, 136},
		{"tags", wrap("", "", op(0, `, "tags": [`+many(n, func(int) string { return `"a"` })+`]`)), 1, 0},
		{"logins", `{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "security": [` + many(n, func(i int) string { return fmt.Sprintf(`{"s%d": []}`, i) }) +
			`], "paths": {` + many(300, func(i int) string { return op(i, "") }) + `}}`, 0, 300},
		{"all of itself", wrap(`"A": {"allOf": [`+ref("A")+`, `+ref("A")+`]}`, "",
			`"/p": {"post": {"operationId": "a", "requestBody": {"required": true, "content": {"application/json": {"schema": `+ref("A")+`}}}}}`), 0, 1},
		{"schemas of all", wrap(`"A": {"allOf": [`+many(64, func(int) string { return ref("A2") })+`]}, "A2": {"allOf": [`+many(64, func(int) string { return ref("A3") })+
			`]}, "A3": {"allOf": [`+many(64, func(int) string { return ref("A4") })+`]}, "A4": {"allOf": [`+many(64, func(int) string { return ref("A5") })+`]}, "A5": {}`, "",
			`"/p": {"post": {"operationId": "a", "requestBody": {"required": true, "content": {"application/json": {"schema": `+ref("A")+`}}}}}`), 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, c.text, &openapi.Options{Include: func(op *openapi.Operation) bool { return !slices.Contains(op.Tags, "b") }})
			assert.Equal(t, len(api.Endpoints), c.endpoints, "endpoints")
			assert.Equal(t, len(problems), c.problems, "problems, such as %v", problems[:min(3, len(problems))])
		})
	}
}

// A small document in which each operation refers to something large, and is lost
// then, takes no longer than one that is large.
func TestReferencesToLargeThings(t *testing.T) {
	long := strings.Repeat("x", 800_000)
	var params, paths strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&params, `{"name": "p%d", "in": "query"}, `, i)
	}
	for i := range assert.Cases(1_100, 30_000) {
		fmt.Fprintf(&paths, `, "/p%d": {"$ref": "#/x-item"}`, i)
	}
	const bad = `{"name": "q", "in": "nowhere", "required": true}`
	items := map[string]string{
		"schemas":     `{"get": {"parameters": [{"name": "p", "in": "query", "schema": {"description": "` + long + `"}}, ` + bad + `]}}`,
		"references":  `{"get": {"parameters": [{"name": "p", "in": "query", "schema": {"items": {"$ref": "#/x-large"}}}, ` + bad + `]}}`,
		"parameters":  `{"get": {"$ref": "#/x-get"}, "parameters": [` + params.String() + bad + `]}`,
		"of the path": `{"get": {"$ref": "#/x-get"}, "parameters": [{"name": "p", "in": "query", "schema": {"description": "` + long + `"}}, ` + bad + `]}`,
		"servers":     `{"get": {"$ref": "#/x-get"}, "servers": [{"url": "https://` + strings.Repeat("{v}", 300_000) + `", "variables": {"v": {"default": "v"}}}]}`,
		"description": `{"get": {"$ref": "#/x-get"}, "description": "` + long + `", "parameters": [` + bad + `]}`,
		"operation":   `{"get": {"description": "` + long + `", "parameters": [` + bad + `]}}`,
	}
	for _, name := range slices.Sorted(maps.Keys(items))[:assert.Cases(3, 7)] { // the last one is slow
		item := items[name]
		t.Run(name, func(t *testing.T) {
			api, problems := parse(t, `{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "x-get": {}, "x-large": {"description": "`+long[:400_000]+`"}, "x-item": `+item+
				`, "paths": {`+paths.String()[1:]+`}}`, nil)
			assert.Equal(t, len(api.Endpoints), 0)
			assert.Equal(t, len(problems), 1_001)
			assert.Lacks(t, problems[0].Reason, "take fewer")
			assert.Contains(t, problems[999].Reason, "take fewer")
		})
	}
}

// The texts of problems can be shown to anybody.
func TestProblemsArePlain(t *testing.T) {
	const evil = "\x1b[31m\u202e\u200bevil\r\n"
	name, _ := json.Marshal(evil + strings.Repeat("long", 5_000))
	e := string(name)
	text := `{"openapi": "3.0.0", "servers": [{"url": ` + e + `}], "security": [{` + e + `: []}], "components": {"securitySchemes": {` + e + `: {"type": ` + e + `}}}, "paths": {
		` + e + `: {"get": {"operationId": ` + e + `, "security": []}}, "/a": {"$ref": ` + e + `},
		"/b": {"get": {"security": [], "parameters": [{"name": ` + e + `, "in": ` + e + `}, {"name": "a", "in": "query", "style": ` + e + `},
			{"name": "b", "in": "query", "schema": {"type": ` + e + `}}, {"name": "c", "in": "query", "schema": {"pattern": 1, "$ref": ` + e + `}},
			{"name": "c", "in": "query", "schema": {"properties": {` + e + `: {"minLength": -1}}}}]}}}}`
	_, problems := parse(t, text, nil)
	assert.False(t, len(problems) < 7, "%d are fewer than %d", len(problems), 7)
	for _, p := range problems {
		assert.False(t, len(p.String()) > 1_500, "%d bytes are too many", len(p.String()))
		assert.False(t, strings.ContainsAny(p.String(), "\x1b\u202e\u200b\r\n"), "%q has control characters", p)
	}
}
