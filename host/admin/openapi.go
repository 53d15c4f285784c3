package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/session"
)

// document returns the OpenAPI 3.1 document of the routes.
func (q *request) document() (json.RawMessage, error) {
	b := &builder{schemas: object{}}
	paths := object{}
	for _, r := range q.routes() {
		operations, ok := paths[r.path].(object)
		if !ok {
			operations = object{}
			paths[r.path] = operations
		}
		operations[strings.ToLower(r.method)] = b.operation(r)
	}
	if b.err != nil {
		return nil, b.err
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "mcpbelt", "version": "1", "description": "Manages the MCP servers of a host."},
		"paths":   paths,
		"components": object{
			"schemas":         b.schemas,
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []object{{"bearer": []string{}}},
	})
}

type object = map[string]any

// A builder makes the document.
type builder struct {
	schemas object
	err     error
}

// operation describes a route.
func (b *builder) operation(r *route) object {
	parameters := []object{}
	for segment := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range r.params {
		schema := object{"type": p.kind}
		if p.kind == "date-time" {
			schema = object{"type": "string", "format": p.kind}
		}
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.about, "schema": schema})
	}
	kind, schema := "application/json", object{}
	if r.out == nil {
		kind = "text/event-stream"
	} else {
		schema = b.schemaOf(r.out)
	}
	failedAs, failed := "application/problem+json", b.ref(reflect.TypeFor[problem]())
	if isEnveloped(r.path) {
		schema = closed(object{"code": object{"const": http.StatusOK}, "data": schema}, "code", "data")
		text := object{"type": "string"}
		failedAs, failed = kind, closed(object{"code": object{"type": "integer"}, "msg": text, "error": text}, "code", "msg", "error")
	}
	content := func(kind string, schema object) object { return object{kind: object{"schema": schema}} }
	o := object{
		"operationId": operationID(r),
		"summary":     r.summary,
		"parameters":  parameters,
		"x-role":      r.role,
		"responses": object{
			"200":     object{"description": "it is done", "content": content(kind, schema)},
			"401":     object{"description": "the request names no caller"},
			"default": object{"description": "it failed", "content": content(failedAs, failed)},
		},
	}
	if r.in != nil {
		o["requestBody"] = object{"required": !r.optional, "content": content("application/json", b.schemaOf(r.in))}
	}
	return o
}

// closed returns the schema of an object that has these properties and no others.
func closed(properties object, required ...string) object {
	return object{"type": "object", "required": required, "additionalProperties": false, "properties": properties}
}

// operationID returns the method and the path of a route as one word.
func operationID(r *route) string {
	return strings.ToLower(r.method) + strings.NewReplacer("/api/v1/", "_", "/", "_", "{", "", "}", "", ".", "_").Replace(r.path)
}

// schemaOf returns the schema of a type; what has a name stands in the components.
func (b *builder) schemaOf(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case t.Kind() == reflect.Pointer: // or nothing
		return object{"anyOf": []object{b.ref(t.Elem()), {"type": "null"}}}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": b.ref(t.Elem())}
	}
	return b.ref(t)
}

// ref returns a reference to the schema of a type.
func (b *builder) ref(t reflect.Type) object {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, ok := b.schemas[name]; !ok {
		schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: forms()})
		if err != nil && b.err == nil {
			b.err = fmt.Errorf("admin: the schema of %s: %w", name, err)
		}
		b.schemas[name] = schema
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// forms returns the schemas of types that have a form of their own in JSON.
func forms() map[reflect.Type]*jsonschema.Schema {
	open := func(required ...string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Required: required}
	}
	input, _ := jsonschema.ForType(reflect.TypeFor[server](), &jsonschema.ForOptions{}) // which has one
	input.Required = nil
	for _, s := range input.Properties {
		s.Type, s.Types = "", []string{"null", s.Type}
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[serverInput]():       input,
		reflect.TypeFor[json.RawMessage]():   {},
		reflect.TypeFor[session.Phase]():     {Type: "string"},
		reflect.TypeFor[doctor.Health]():     open("server", "level", "action"),
		reflect.TypeFor[doctor.Diagnosis]():  open("health", "doing", "tools"),
		reflect.TypeFor[doctor.TestReport](): open("server", "success", "stages", "tools"),
	}
}
