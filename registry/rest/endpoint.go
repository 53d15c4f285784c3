package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Limits. Those in bytes hold for what is sent, too.
const (
	maxEndpoints = 5_000    // of an API
	maxParams    = 256      // of an endpoint
	maxName      = 128      // of a parameter or an argument, in bytes
	maxPath      = 4 << 10  // of the template of a path
	maxTarget    = 8 << 10  // of path and query of a request
	maxHeader    = 8 << 10  // of a header that is a parameter
	maxBody      = 16 << 20 // of a request
	maxItems     = 10_000   // elements of one parameter, and fields of one form
	maxAnswer    = 64 << 20 // of an answer, at most
	maxTimeout   = 3_600    // of a call, at most, in seconds

	callBytes = 1 << 20
)

// An operation is an [Endpoint] that was checked, and a tool. All but the switch is immutable.
type operation struct {
	*Endpoint   // with defaults
	service     *Service
	def         *registry.Definition
	template    pathTemplate
	kind        bodyKind
	contentType string   // of the body; empty for multipart, which gets one with its boundary
	whole       string   // the argument that is the body; empty: there is none
	known       []string // the names of all arguments, in order
	accept      bool     // Accept is not set otherwise
	on          atomic.Bool
}

// compileEndpoint checks an endpoint of the service's API, and fills in defaults.
func (s *Service) compileEndpoint(ep *Endpoint, found *problems) *operation {
	o := &operation{Endpoint: ep, service: s, accept: !s.hasHeader("Accept")}
	o.on.Store(!ep.Disabled)
	if err := toolname.Check(ep.Name); err != nil {
		found.add("name", err.Error())
	}
	switch ep.Method = cmp.Or(ep.Method, http.MethodGet); ep.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		found.add("method", "is "+plain.Quote(ep.Method)+"; it is one of GET, POST, PUT, PATCH and DELETE")
	}
	if ep.TimeoutSeconds < 0 || ep.TimeoutSeconds > maxTimeout {
		found.add("timeoutSeconds", fmt.Sprintf("is not from 0 to %d", maxTimeout))
	}
	if ep.MaxBytes < 0 || ep.MaxBytes > maxAnswer {
		found.add("maxBytes", fmt.Sprintf("is not from 0 to %d", maxAnswer))
	}
	if defs := ep.Defs; defs != nil && (defs[0] != '{' || jsonscan.Valid(defs) != nil) {
		found.add("defs", "is not an object of JSON Schemas")
		return o
	}
	o.compileParams(found)
	o.compilePath(found)
	o.def = &registry.Definition{
		Title: ep.Title, Description: ep.Description, InputSchema: o.compileSchema(found),
		Annotations: o.annotations(), Origin: registry.Origin{Server: s.api.Name, Tool: ep.Name},
	}
	return o
}

func cloneEndpoint(given *Endpoint) Endpoint {
	ep := *given
	ep.Params = slices.Clone(ep.Params)
	for i := range ep.Params {
		p := &ep.Params[i]
		p.Schema, p.Default, p.Explode = trimmed(p.Schema), trimmed(p.Default), clone(p.Explode)
	}
	ep.Defs = trimmed(ep.Defs)
	if ep.Body = clone(ep.Body); ep.Body != nil {
		ep.Body.Schema = trimmed(ep.Body.Schema)
	}
	if ep.Annotations = clone(ep.Annotations); ep.Annotations != nil {
		ep.Annotations.DestructiveHint, ep.Annotations.OpenWorldHint = clone(ep.Annotations.DestructiveHint), clone(ep.Annotations.OpenWorldHint)
	}
	return ep
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// trimmed returns a copy of JSON without white space around it; nil if it is empty.
func trimmed(raw json.RawMessage) json.RawMessage {
	if raw = bytes.Trim(raw, " \t\r\n"); len(raw) == 0 {
		return nil
	}
	return bytes.Clone(raw)
}

func place(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// compilePath checks the template of the path, and that it has each path parameter
// once.
func (o *operation) compilePath(found *problems) {
	template, err := readPath(o.Path)
	if err != nil {
		found.add("path", err.Error())
		return
	}
	o.template = template
	names := template.names()
	for i, p := range o.Params {
		if p.In == InPath && !slices.Contains(names, p.Name) {
			found.add(place("params", i)+".name", "is not in the path; write {"+p.Name+"} there")
		}
	}
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			found.add("path", "has {"+name+"} twice")
		case !slices.ContainsFunc(o.Params, func(p Param) bool { return p.In == InPath && p.Name == name }):
			found.add("path", "has {"+name+`}, but there is no parameter of that name with "in": "path"`)
		}
	}
}

// compileSchema makes the input schema and checks it.
func (o *operation) compileSchema(found *problems) json.RawMessage {
	if o.Body != nil && o.Body.Schema != nil {
		if text := string(o.Body.Schema); text != "true" && text[0] != '{' || jsonscan.Valid(o.Body.Schema) != nil {
			found.add("body.schema", "is not a JSON Schema, which is an object")
			return nil
		}
	}
	schema := o.inputSchema()
	err := schemagate.Check(schema)
	if err == nil {
		return schema
	}
	field := "params"
	if refused, ok := err.(*schemagate.SchemaError); ok {
		field = o.schemaField(refused.Path)
	}
	found.add(field, "cannot be used: "+err.Error())
	return nil
}

// schemaField returns whose schema the place in the input schema is in.
func (o *operation) schemaField(pointer string) string {
	if pointer == "/$defs" || strings.HasPrefix(pointer, "/$defs/") {
		return "defs"
	}
	for i, p := range o.Params {
		at := "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p.Argument)
		if pointer == at || strings.HasPrefix(pointer, at+"/") {
			return place("params", i) + ".schema"
		}
	}
	if strings.HasPrefix(pointer, "/properties/") {
		return "body.schema"
	}
	return "params"
}

// annotations returns what the method says of a tool, unless the endpoint says more.
func (o *operation) annotations() *mcp.ToolAnnotations {
	if o.Annotations != nil {
		return o.Annotations
	}
	if o.Method == http.MethodGet {
		return &mcp.ToolAnnotations{ReadOnlyHint: true}
	}
	return &mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: o.Method == http.MethodPut || o.Method == http.MethodDelete}
}
