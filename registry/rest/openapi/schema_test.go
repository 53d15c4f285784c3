package openapi_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// schemaOf returns what becomes of the schema of a parameter.
func schemaOf(t *testing.T, version, schema, components string) (string, string) {
	t.Helper()
	text := strings.Replace(head, "3.1.0", version, 1) + "components: {schemas: {" + components + "}}\n" +
		"paths: {/a: {get: {operationId: a, parameters: [{name: p, in: query, content: {application/json: {schema: " + schema + "}}}]}}}"
	e := one(t, text)
	return string(e.Params[0].Schema), string(e.Defs)
}

func TestSchemas(t *testing.T) {
	for _, c := range []struct{ name, version, schema, want string }{
		{"nullable", "3.0.3", `{type: string, nullable: true}`, `{"type":["string","null"]}`},
		{"not nullable", "3.0.3", `{type: string, nullable: false}`, `{"type":"string"}`},
		{"a nullable enum", "3.0.3", `{type: string, nullable: true, enum: [a, b]}`, `{"type":["string","null"],"enum":["a","b",null]}`},
		{"a nullable enum with null", "3.0.3", `{type: string, nullable: true, enum: [a, null]}`, `{"type":["string","null"],"enum":["a",null]}`},
		{"nullable, one of", "3.0.3", `{nullable: true, oneOf: [{type: string}, {type: integer}]}`,
			`{"anyOf":[{"oneOf":[{"type":"string"},{"type":"integer"}]},{"type":"null"}]}`},
		{"exclusive", "3.0.3", `{type: number, minimum: 0, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false}`,
			`{"type":"number","exclusiveMinimum":0,"maximum":5}`},
		{"exclusive, 3.1", "3.1.0", `{type: number, exclusiveMinimum: 0}`, `{"type":"number","exclusiveMinimum":0}`},
		{"an example", "3.0.3", `{type: string, example: "x,y"}`, `{"type":"string","examples":["x,y"]}`},
		{"what is for others", "3.0.3", `{type: object, xml: {name: a}, discriminator: {propertyName: t}, externalDocs: {url: x}, x-a: 1, foo: 2}`, `{"type":"object"}`},
		{"as it is, 3.1", "3.1.0", `{type: [string, "null"], const: a, if: {minLength: 1}, then: true, prefixItems: [{}], dependentRequired: {a: [b]}, patternProperties: {"^x": {type: string}}, examples: [1]}`,
			`{"type":["string","null"],"const":"a","if":{"minLength":1},"then":true,"prefixItems":[{}],"dependentRequired":{"a":["b"]},"patternProperties":{"^x":{"type":"string"}},"examples":[1]}`},
		{"numbers keep their digits", "3.1.0", `{type: integer, minimum: -9223372036854775808, maximum: 18446744073709551615, default: 9007199254740993}`,
			`{"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615,"default":9007199254740993}`},
		{"what has no shape", "3.0.3", `{}`, `{}`},
		{"true", "3.1.0", `true`, `{}`},
		{"false", "3.1.0", `false`, `{"not":{}}`},
		{"nested", "3.0.3", `{type: array, items: {type: object, properties: {a: {type: integer, nullable: true}}, additionalProperties: {type: string, example: e}}}`,
			`{"type":"array","items":{"type":"object","properties":{"a":{"type":["integer","null"]}},"additionalProperties":{"type":"string","examples":["e"]}}}`},
		{"properties called as keywords are", "3.0.3", `{type: object, properties: {type: {type: string}, required: {type: boolean}, x-a: {}, $ref: {type: string}}}`,
			`{"type":"object","properties":{"type":{"type":"string"},"required":{"type":"boolean"},"x-a":{},"$ref":{"type":"string"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, defs := schemaOf(t, c.version, c.schema, "")
			assert.Equal(t, got, strings.ReplaceAll(c.want, ", ", ","))
			assert.Equal(t, defs, "")
		})
	}
}

func TestReferences(t *testing.T) {
	for _, c := range []struct{ name, version, schema, components, want, defs string }{
		{"alone", "3.0.3", `{$ref: "#/components/schemas/A"}`, `A: {type: string, nullable: true}`,
			`{"type":["string","null"]}`, ``},
		{"in a row", "3.0.3", `{$ref: "#/components/schemas/A"}`, `A: {$ref: "#/components/schemas/B"}, B: {$ref: "#/components/schemas/C"}, C: {type: integer}`,
			`{"type":"integer"}`, ``},
		{"within", "3.0.3", `{type: array, items: {$ref: "#/components/schemas/A"}}`, `A: {type: object, properties: {b: {$ref: "#/components/schemas/B"}}}, B: {type: string}, C: {}`,
			`{"type":"array","items":{"$ref":"#/$defs/A"}}`,
			`{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"string"}}`},
		{"recursive", "3.0.3", `{$ref: "#/components/schemas/Node"}`, `Node: {type: object, properties: {next: {$ref: "#/components/schemas/Node"}}}`,
			`{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}`,
			`{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}`},
		{"each other", "3.1.0", `{items: {$ref: "#/components/schemas/A"}}`, `A: {properties: {b: {$ref: "#/components/schemas/B"}}}, B: {properties: {a: {$ref: "#/components/schemas/A"}}}`,
			`{"items":{"$ref":"#/$defs/A"}}`,
			`{"A":{"properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"properties":{"a":{"$ref":"#/$defs/A"}}}}`},
		{"beside, 3.0", "3.0.3", `{items: {$ref: "#/components/schemas/A", description: d, minLength: 5}}`, `A: {type: string}`,
			`{"items":{"$ref":"#/$defs/A","description":"d"}}`, `{"A":{"type":"string"}}`},
		{"beside, 3.1", "3.1.0", `{items: {$ref: "#/components/schemas/A", description: d, minLength: 5}}`, `A: {type: string}`,
			`{"items":{"$ref":"#/$defs/A","description":"d","minLength":5}}`, `{"A":{"type":"string"}}`},
		{"nullable", "3.0.3", `{properties: {a: {$ref: "#/components/schemas/A", nullable: true}}}`, `A: {type: string}`,
			`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}}}`, `{"A":{"type":"string"}}`},
		{"anywhere", "3.1.0", `{items: {$ref: "#/components/schemas/A/properties/x~1y%20z"}}`, `A: {properties: {"x/y z": {type: string}}}`,
			`{"items":{"$ref":"#/$defs/x_y_z"}}`, `{"x_y_z":{"type":"string"}}`},
		{"names that differ in what is no name", "3.1.0", `{prefixItems: [{$ref: "#/components/schemas/a.b"}, {$ref: "#/components/schemas/a b"}, {$ref: "#/components/schemas/a_b"}, {$ref: "#/components/schemas/名"}]}`,
			`a.b: {const: 1}, a b: {const: 2}, a_b: {const: 3}, 名: {const: 4}`,
			`{"prefixItems":[{"$ref":"#/$defs/a.b"},{"$ref":"#/$defs/a_b"},{"$ref":"#/$defs/a_b_2"},{"$ref":"#/$defs/schema"}]}`,
			`{"a.b":{"const":1},"a_b":{"const":2},"a_b_2":{"const":3},"schema":{"const":4}}`},
		{"its own $defs", "3.1.0", `{$ref: "#/components/schemas/A"}`, `A: {items: {$ref: "#/components/schemas/A/$defs/B"}, $defs: {B: {type: string}}}`,
			`{"items":{"$ref":"#/$defs/B"}}`, `{"B":{"type":"string"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, defs := schemaOf(t, c.version, c.schema, c.components)
			assert.Equal(t, got, c.want)
			assert.Equal(t, defs, c.defs)
		})
	}
}

func TestSchemasOfBodies(t *testing.T) {
	const text = `
components:
  schemas:
    Base: {type: object, required: [id, kind], properties: {id: {type: string, readOnly: true}, kind: {type: string, default: dog}}}
    Stamp: {readOnly: true, type: string}
    Pet:
      allOf:
        - {$ref: "#/components/schemas/Base"}
        - {required: [id, name, made], properties: {name: {type: string, writeOnly: true}, made: {$ref: "#/components/schemas/Stamp"}}}
paths:
  /a:
    METHOD: {operationId: a, requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
`
	for _, c := range []struct{ method, kind string }{
		{"post", `{"type":"string","default":"dog"}`},
		{"patch", `{"type":"string"}`},
	} {
		e := one(t, head+strings.Replace(text, "METHOD", c.method, 1))
		same(t, c.method, e.Body, `{"argument":"body","schema":{"allOf":[{"$ref":"#/$defs/Base"},
			{"required":["name"],"properties":{"name":{"type":"string"}}}]},"required":true}`)
		same(t, c.method+" defs", e.Defs, `{"Base":{"type":"object","required":["kind"],"properties":{"kind":`+c.kind+`}}}`)
	}
}

// What several arguments refer to is there once.
func TestDefsOfSeveralArguments(t *testing.T) {
	e := one(t, head+`
components: {schemas: {A: {type: object, properties: {b: {$ref: "#/components/schemas/B"}}}, B: {type: string}}}
paths:
  /a:
    post:
      operationId: a
      parameters:
        - {name: p, in: query, content: {application/json: {schema: {items: {$ref: "#/components/schemas/A"}}}}}
        - {name: q, in: query, content: {application/json: {schema: {items: {$ref: "#/components/schemas/B"}}}}}
      requestBody: {required: true, content: {application/json: {schema: {properties: {c: {items: {$ref: "#/components/schemas/A"}}, d: {items: {$ref: "#/components/schemas/A"}}}}}}}
`)
	same(t, "defs", e.Defs, `{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"string"},
		"A_2":{"type":"object","properties":{"b":{"$ref":"#/$defs/B_2"}}},"B_2":{"type":"string"}}`)
}

func TestKeywordProblems(t *testing.T) {
	for _, c := range []struct{ name, schema, place, reason, want string }{
		{"required as a flag", `{type: string, required: true}`, "/required", "not what required", `{"type":"string"}`},
		{"no type", `{type: file, description: d}`, "/type", "no type", `{"description":"d"}`},
		{"an empty enum", `{enum: []}`, "/enum", "has values", `{}`},
		{"a pattern that is none", `{pattern: 5, type: string}`, "/pattern", "not what pattern", `{"type":"string"}`},
		{"properties as a list", `{properties: [a]}`, "/properties", "not what properties", `{}`},
		{"items as a list", `{items: [{}]}`, "/items", "not what items", `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems := parse(t, head+"paths: {/a: {get: {operationId: a, parameters: [{name: p, in: query, schema: "+c.schema+"}]}}}", nil)
			problem(t, problems, "keyword", "/paths/~1a/get/parameters/0/schema"+c.place, c.reason)
			same(t, "schema", api.Endpoints[0].Params[0].Schema, c.want)
		})
	}
}

func TestSchemaLosses(t *testing.T) {
	for _, c := range []struct{ name, schema, components, place, reason string }{
		{"of itself", `{$ref: "#/components/schemas/A"}`, `A: {$ref: "#/components/schemas/A"}`, "", "schema_cycle"},
		{"of each other", `{items: {$ref: "#/components/schemas/A"}}`, `A: {$ref: "#/components/schemas/B"}, B: {allOf: [{$ref: "#/components/schemas/A"}]}`, "", "schema_cycle"},
		{"to a file", `{$ref: "common.yaml#/A"}`, ``, "", "leaves the document"},
		{"to an address", `{items: {$ref: "https://x.example/a.json"}}`, ``, "/items", "leaves the document"},
		{"to a name", `{$ref: "#A"}`, `A: {$anchor: A}`, "", "anchor"},
		{"to nothing", `{$ref: "#/components/schemas/B"}`, ``, "", "leads to nothing"},
		{"to no schema", `{items: {$ref: "#/info/title"}}`, ``, "*", "a schema is an object"},
		{"dynamic", `{items: {$dynamicRef: "#x"}}`, ``, "/items", "dynamic"},
		{"a negative length", `{type: string, maxLength: -5}`, ``, "", "cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := parse(t, head+"components: {schemas: {"+c.components+"}}\n"+
				"paths: {/a: {get: {operationId: a, parameters: [{name: p, in: query, schema: "+c.schema+"}]}}}", nil)
			place := "/paths/~1a/get/parameters/0/schema" + c.place
			if c.place == "*" {
				place = "/info/title"
			}
			problem(t, problems, "parameter", place, c.reason)
		})
	}
}
