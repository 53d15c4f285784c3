package openapi_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestParameters(t *testing.T) {
	for _, c := range []struct{ name, params, want string }{
		{"places", `
        - {name: q, in: query, schema: {type: string}}
        - {name: X-Trace, in: header, schema: {type: string}}`,
			`[{"name":"q","in":"query","schema":{"type":"string"}},
			{"name":"X-Trace","in":"header","schema":{"type":"string"}}]`},
		{"required, described, with a default", `
        - {name: n, in: query, required: true, description: " How_many. ", schema: {type: integer, default: 9007199254740993}}`,
			`[{"name":"n","in":"query","description":"How_many.","schema":{"type":"integer","default":9007199254740993},"required":true}]`},
		{"deprecated", `
        - {name: n, in: query, deprecated: true, description: Old.}`,
			`[{"name":"n","in":"query","description":"Deprecated. Old.","schema":{}}]`},
		{"headers that are of HTTP", `
        - {name: Accept, in: header, schema: {type: string}}
        - {name: content-type, in: header, schema: {type: string}}
        - {name: AUTHORIZATION, in: header, required: true, schema: {type: string}}`,
			`null`},
		{"styles", `
        - {name: a, in: query, style: form, explode: true, schema: {type: array}}
        - {name: b, in: query, explode: false, schema: {type: array}}
        - {name: e, in: header, style: simple, explode: true, schema: {type: array}}`,
			`[{"name":"a","in":"query","schema":{"type":"array"}},
			{"name":"b","in":"query","schema":{"type":"array"},"explode":false},
			{"name":"e","in":"header","schema":{"type":"array"},"explode":true}]`},
		{"content", `
        - {name: f, in: query, content: {application/json: {schema: {type: object}}}}`,
			`[{"name":"f","in":"query","schema":{"type":"object"},"style":"json"}]`},
		{"names that clash", `
        - {name: id, in: query}
        - {name: id, in: header}
        - {name: ID, in: query}`,
			`[{"name":"id","in":"query","schema":{}},
			{"name":"id","argument":"id_2","in":"header","schema":{}},
			{"name":"ID","argument":"ID_3","in":"query","schema":{}}]`},
		{"names that no model may use", `
        - {name: "filter[name]", in: query}
        - {name: "名前", in: query}
        - {name: "$top", in: query}`,
			`[{"name":"filter[name]","argument":"filter_name","in":"query","schema":{}},
			{"name":"名前","argument":"argument","in":"query","schema":{}},
			{"name":"$top","argument":"top","in":"query","schema":{}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, "params", one(t, head+"paths:\n  /a:\n    get:\n      operationId: a\n      parameters:"+c.params).Params, c.want)
		})
	}
}

func TestParametersOfThePath(t *testing.T) {
	e := one(t, head+`
paths:
  /shops/{shop}/items/{item}:
    parameters:
      - {name: item, in: path, required: true, schema: {type: string}}
      - {name: shop, in: path, required: true, schema: {type: string}}
      - {name: lang, in: query, schema: {type: string}}
      - {name: X-A, in: header}
    get:
      operationId: a
      parameters:
        - {name: lang, in: query, required: true, schema: {type: integer}}
        - {name: x-a, in: header, schema: {type: boolean}}
        - {name: lang, in: header}
`)
	same(t, "params", e.Params, `[
		{"name":"item","in":"path","schema":{"type":"string"},"required":true},
		{"name":"shop","in":"path","schema":{"type":"string"},"required":true},
		{"name":"lang","in":"query","schema":{"type":"integer"},"required":true},
		{"name":"x-a","in":"header","schema":{"type":"boolean"}},
		{"name":"lang","argument":"lang_2","in":"header","schema":{}}]`)
}

func TestParameterProblems(t *testing.T) {
	for _, c := range []struct {
		name, params, lost, place, reason string
	}{
		{"no name", `{in: query}`, "parameter", "/0", "has a name"},
		{"no place", `{name: a}`, "parameter", "/0", `parameters in ""`},
		{"another place", `{name: a, in: body}`, "parameter", "/0", `parameters in "body"`},
		{"a cookie", `{name: a, in: cookie}`, "parameter", "/0", `parameters in "cookie"`},
		{"an object", `{name: a, in: query, schema: {type: object}}`, "parameter", "/0", "has to be json for an object"},
		{"a style of another place", `{name: a, in: header, style: deepObject}`, "parameter", "/0/style", "deepObject"},
		{"a style that cannot be sent", `{name: a, in: query, style: deepObject}`, "parameter", "/0/style", "deepObject"},
		{"required, of no use", `{name: a, in: header, required: true, style: deepObject}`, "operation", "/0/style", "deepObject"},
		{"a header of the connection", `{name: Host, in: header}`, "parameter", "/0", "belongs to the connection"},
		{"a header of the connection that is required", `{name: Host, in: header, required: true}`, "operation", "/0", "belongs to the connection"},
		{"in no path", `{name: a, in: path, required: true}`, "parameter", "/0", "the path has no"},
		{"two contents", `{name: a, in: query, content: {application/json: {}, text/plain: {}}}`, "parameter", "/0", "one content"},
		{"XML", `{name: a, in: query, content: {application/xml: {}}}`, "parameter", "/0", "only JSON"},
		{"to nothing", `{$ref: "#/components/parameters/no"}`, "operation", "/0", "leads to nothing"},
		{"a schema that is none", `{name: a, in: query, schema: [1]}`, "parameter", "/0/schema", "a schema is an object"},
		{"a schema that is refused", `{name: a, in: query, schema: {type: string, minLength: -1}}`, "parameter", "/0/schema", "cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, head+"paths:\n  /a:\n    get:\n      operationId: a\n      parameters:\n        - "+c.params+
				"\n        - {name: z, in: query}\n  /b: {get: {operationId: b}}\n", nil)
			problem(t, problems, c.lost, "/paths/~1a/get/parameters"+c.place, c.reason)
			assert.Equal(t, problems[0].Operation, "GET /a", "the problem is of")
			want := 2
			if c.lost == "operation" {
				want = 1
			}
			assert.Equal(t, len(api.Endpoints), want)
			if want == 2 {
				same(t, "params", api.Endpoints[0].Params, `[{"name":"z","in":"query","schema":{}}]`)
			}
		})
	}
}

func TestPathParameterWithoutDescription(t *testing.T) {
	api, problems := parse(t, head+`paths: {"/a/{b}": {get: {operationId: a}}}`, nil)
	problem(t, problems, "", "/paths/~1a~1{b}/get", "not described")
	same(t, "params", api.Endpoints[0].Params, `[{"name":"b","in":"path","required":true}]`)
}
