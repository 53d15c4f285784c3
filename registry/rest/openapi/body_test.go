package openapi_test

import (
	"strings"
	"testing"
)

func TestBodies(t *testing.T) {
	const item = `{type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}`
	for _, c := range []struct{ name, method, body, params, want string }{
		{"members", "post", `{required: true, content: {application/json: {schema: ` + item + `}}}`,
			`[{"name":"name","in":"body","schema":{"type":"string"},"required":true},{"name":"size","in":"body","schema":{"type":"integer"}}]`, `null`},
		{"a reference", "post", `{$ref: "#/components/requestBodies/B"}`,
			`[{"name":"name","in":"body","schema":{"type":"string"},"required":true},{"name":"size","in":"body","schema":{"type":"integer"}}]`, `null`},
		{"an array", "post", `{required: true, description: All., content: {application/json: {schema: {type: array}}}}`,
			`null`, `{"argument":"body","schema":{"type":"array","description":"All."},"required":true}`},
		{"optional as a whole", "post", `{content: {application/json: {schema: ` + item + `}}}`,
			`null`, `{"argument":"body","schema":` + asJSON(item) + `}`},
		{"open", "post", `{required: true, content: {application/json: {schema: {type: object, properties: {a: {}}, additionalProperties: true}}}}`,
			`null`, `{"argument":"body","schema":{"type":"object","properties":{"a":{}},"additionalProperties":true},"required":true}`},
		{"one of several", "post", `{required: true, content: {application/json: {schema: {properties: {a: {}}, oneOf: [{required: [a]}]}}}}`,
			`null`, `{"argument":"body","schema":{"properties":{"a":{}},"oneOf":[{"required":["a"]}]},"required":true}`},
		{"any", "post", `{required: true, content: {"*/*": {}}}`,
			`null`, `{"argument":"body","schema":{},"required":true}`},
		{"the best of several", "post", `{required: true, content: {text/plain: {}, multipart/form-data: {}, "application/json; charset=utf-8": {schema: {type: integer}}, application/xml: {}}}`,
			`null`, `{"contentType":"application/json; charset=utf-8","argument":"body","schema":{"type":"integer"},"required":true}`},
		{"more JSON", "patch", `{required: true, content: {application/merge-patch+json: {schema: {properties: {a: {type: string, default: x}}}}}}`,
			`[{"name":"a","in":"body","schema":{"type":"string"}}]`, `{"contentType":"application/merge-patch+json"}`},
		{"a form", "post", `{content: {application/x-www-form-urlencoded: {schema: ` + item + `, encoding: {size: {style: form, explode: true}}}}}`,
			`[{"name":"name","in":"body","schema":{"type":"string"},"required":true},{"name":"size","in":"body","schema":{"type":"integer"},"explode":true}]`,
			`{"contentType":"application/x-www-form-urlencoded"}`},
		{"parts", "post", `{content: {multipart/form-data: {schema: ` + item + `, encoding: {name: {contentType: text/plain}, size: {contentType: application/json}}}}}`,
			`[{"name":"name","in":"body","schema":{"type":"string"},"required":true},{"name":"size","in":"body","schema":{"type":"integer"},"style":"json"}]`,
			`{"contentType":"multipart/form-data"}`},
		{"text", "put", `{required: true, content: {text/plain: {schema: {type: string}}}}`,
			`null`, `{"contentType":"text/plain","argument":"body","schema":{"type":"string"},"required":true}`},
		{"only what is read", "post", `{required: true, content: {application/json: {schema: {required: [id, n], properties: {id: {readOnly: true}, n: {writeOnly: true}}}}}}`,
			`[{"name":"n","in":"body","schema":{},"required":true}]`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := one(t, head+"components: {requestBodies: {B: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/I'}}}}}, schemas: {I: "+item+"}}\n"+
				"paths: {/a: {"+c.method+": {operationId: a, requestBody: "+c.body+"}}}")
			same(t, "params", e.Params, c.params)
			same(t, "body", e.Body, c.want)
		})
	}
}

// asJSON writes flow YAML without quotes as JSON.
func asJSON(text string) string {
	for _, word := range []string{"type", "object", "required", "properties", "string", "integer", "name", "size"} {
		text = strings.ReplaceAll(text, word, `"`+word+`"`)
	}
	return text
}

// A member that is called as a parameter is: they could not be told apart.
func TestBodyClashes(t *testing.T) {
	e := one(t, head+`
paths:
  /a/{id}:
    put:
      operationId: a
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      requestBody: {required: true, content: {application/json: {schema: {properties: {id: {type: integer}}}}}}
`)
	same(t, "endpoint", e, `{"name":"a","method":"PUT","path":"/a/{id}",
		"params":[{"name":"id","in":"path","schema":{"type":"string"},"required":true}],
		"body":{"argument":"body","schema":{"properties":{"id":{"type":"integer"}}},"required":true}}`)
}

func TestBodyProblems(t *testing.T) {
	const form = `application/x-www-form-urlencoded: {schema: {properties: {f: {type: string, format: binary}, n: {}}}}`
	for _, c := range []struct {
		name, method, body, lost, place, reason string
	}{
		{"XML", "post", `{content: {application/xml: {}}}`, "parameter", "", "none of JSON"},
		{"XML that is required", "post", `{required: true, content: {application/xml: {}}}`, "operation", "", "none of JSON"},
		{"of a GET", "get", `{content: {application/json: {}}}`, "parameter", "", "GET has no body"},
		{"a file", "post", `{content: {` + form + `}}`, "parameter", "/content/application~1x-www-form-urlencoded/schema/properties/f", "a file"},
		{"files", "post", `{content: {multipart/form-data: {schema: {required: [f], properties: {f: {type: array, items: {type: string, contentMediaType: image/png}}}}}}}`,
			"parameter", "/content/multipart~1form-data/schema/properties/f", "a file"},
		{"a file that is required", "post", `{required: true, content: {multipart/form-data: {schema: {required: [f], properties: {f: {type: string, format: binary}}}}}}`,
			"operation", "/content/multipart~1form-data/schema/properties/f", "a file"},
		{"away", "post", `{required: true, content: {application/json: {schema: {$ref: "other.yaml#/a"}}}}`, "operation", "/content/application~1json/schema", "leaves the document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := parse(t, head+"paths: {/a: {"+c.method+": {operationId: a, requestBody: "+c.body+"}}, /b: {get: {operationId: b}}}", nil)
			problem(t, problems, c.lost, "/paths/~1a/"+c.method+"/requestBody"+c.place, c.reason)
		})
	}
}
