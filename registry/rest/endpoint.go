package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Limits. Those in bytes hold for what is sent, too.
const (
	maxEndpoints = 5_000     // of an API
	maxParams    = 256       // of an endpoint
	maxName      = 128       // of a parameter or an argument, in bytes
	maxPath      = 4 << 10   // of the template of a path
	maxTemplate  = 64 << 10  // of the template of a body
	maxTarget    = 8 << 10   // of path and query of a request
	maxHeader    = 8 << 10   // of a header that is a parameter, and of all cookies
	maxBody      = 16 << 20  // of a request
	maxItems     = 10_000    // elements of one parameter, and fields of one form
	maxAnswer    = 64 << 20  // of an answer, at most
	maxTimeout   = time.Hour // of a call, at most

	callBytes = 1 << 20
)

// callTimeout is how long a call takes at most whose endpoint does not say. Tests have a
// longer one.
var callTimeout = 30 * time.Second

// An operation is an [Endpoint] that was checked. All but the switch is immutable.
type operation struct {
	api      string
	name     string
	path     string // the template, for people
	endpoint Endpoint
	method   string
	template pathTemplate
	params   []*parameter
	body     bodyPlan
	schema   json.RawMessage
	known    []string // the names of all arguments, in order
	accept   bool     // Accept is not set otherwise
	keyName  string   // of what the login adds to the body
	on       atomic.Bool
}

// compileEndpoint checks an endpoint, of which it keeps nothing that the caller could
// change.
func compileEndpoint(api *API, l *login, given *Endpoint, found *problems) *operation {
	ep := cloneEndpoint(given)
	o := &operation{api: api.Name, name: ep.Name, endpoint: ep, path: ep.Path, method: ep.Method, accept: true}
	o.on.Store(!ep.Disabled)
	if problem := checkToolName(ep.Name); problem != "" {
		found.add("name", problem)
	}
	switch ep.Method {
	case "":
		o.method = http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		found.add("method", "is "+plain.Quote(ep.Method)+"; it is one of GET, HEAD, OPTIONS, POST, PUT, PATCH and DELETE")
	}
	if ep.Timeout < 0 || time.Duration(ep.Timeout) > maxTimeout {
		found.add("timeout", "is not from 0s to "+maxTimeout.String())
	}
	if ep.MaxBytes < 0 || ep.MaxBytes > maxAnswer {
		found.add("maxBytes", fmt.Sprintf("is not from 0 to %d", maxAnswer))
	}
	for name := range api.Headers {
		o.accept = o.accept && !strings.EqualFold(name, "Accept")
	}
	if !o.checkDefs(found) {
		return o
	}
	o.compileParams(api, l, found)
	o.compilePath(found)
	o.compileSchema(found)
	return o
}

func cloneEndpoint(given *Endpoint) Endpoint {
	ep := *given
	ep.Params = slices.Clone(ep.Params)
	for i := range ep.Params {
		p := &ep.Params[i]
		p.Schema, p.Default = trimmed(p.Schema), trimmed(p.Default)
		if p.Explode != nil {
			explode := *p.Explode
			p.Explode = &explode
		}
	}
	ep.Defs = trimmed(ep.Defs)
	if ep.Body != nil {
		body := *ep.Body
		body.Schema, body.Template = trimmed(body.Schema), trimmed(body.Template)
		ep.Body = &body
	}
	if a := ep.Annotations; a != nil {
		c := *a
		if c.DestructiveHint != nil {
			c.DestructiveHint = new(bool)
			*c.DestructiveHint = *a.DestructiveHint
		}
		if c.OpenWorldHint != nil {
			c.OpenWorldHint = new(bool)
			*c.OpenWorldHint = *a.OpenWorldHint
		}
		ep.Annotations = &c
	}
	return ep
}

// trimmed returns a copy of JSON without white space around it; nil if it is empty.
func trimmed(raw json.RawMessage) json.RawMessage {
	if raw = bytes.Trim(raw, " \t\r\n"); len(raw) == 0 {
		return nil
	}
	return bytes.Clone(raw)
}

// checkToolName holds a name to the protocol's rule.
func checkToolName(name string) string {
	if name == "" || len(name) > 128 {
		return fmt.Sprintf("has %d characters, want 1 to 128", len(name))
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.", r)) {
			return fmt.Sprintf("contains %q, allowed are letters, digits, '_', '-' and '.'", r)
		}
	}
	return ""
}

func (o *operation) checkDefs(found *problems) bool {
	defs := o.endpoint.Defs
	switch {
	case defs == nil:
		return true
	case defs[0] != '{':
		found.add("defs", "is not an object of JSON Schemas")
	case jsonscan.Valid(defs) != nil:
		found.add("defs", "is not JSON: "+jsonscan.Valid(defs).Error())
	default:
		return true
	}
	return false
}

// compileParams checks the parameters and the body, also against each other.
func (o *operation) compileParams(api *API, l *login, found *problems) {
	ep := &o.endpoint
	if len(ep.Params) > maxParams {
		found.add("params", fmt.Sprintf("are %d, at most %d are allowed", len(ep.Params), maxParams))
		return
	}
	contentType := ""
	if ep.Body != nil {
		contentType = ep.Body.ContentType
	}
	kind, header, problem := kindOfBody(contentType)
	if problem != "" {
		found.add("body.contentType", problem)
		kind = jsonPayload
	}
	arguments, sent := map[string]bool{}, map[string]bool{}
	if l.in == InBody {
		o.keyName = l.name
	}
	form := kind
	if ep.Body != nil && ep.Body.Template != nil {
		form = jsonPayload // which is what the template makes of the parameters
	}
	for i, given := range ep.Params {
		at := place("params", i)
		p := compileParam(api, l, given, ep.Defs, form, at, found)
		o.params = append(o.params, p)
		if arguments[p.Argument] {
			found.add(at+".argument", "is "+plain.Quote(p.Argument)+", as that of another parameter is")
		}
		arguments[p.Argument] = true
		o.known = append(o.known, p.Argument)
		names := []string{p.Name}
		for name := range p.members {
			if name != p.Name {
				names = append(names, name)
			}
		}
		slices.Sort(names[1:])
		for _, name := range names {
			if name != p.Name && l.sets(p.In, name) {
				found.add(at+".schema", fmt.Sprintf("has the property %s, which is sent as what the login sets", plain.Quote(name)))
			}
			if key := sentAs(p.In, name); sent[key] {
				found.add(at+".name", fmt.Sprintf("is sent as %s in the %s, as something else is", plain.Quote(name), p.In))
			} else {
				sent[key] = true
			}
		}
		if p.In == InHeader && strings.EqualFold(p.Name, "Accept") {
			o.accept = false
		}
	}
	o.body = compileBody(ep, o.params, kind, header, found)
	if whole := o.body.whole; whole != "" {
		if arguments[whole] {
			found.add("body.argument", "is "+plain.Quote(whole)+", as that of a parameter is")
		}
		o.known = append(o.known, whole)
	}
}

// sets reports whether the login sends something in a place under a name.
func (l *login) sets(in Place, name string) bool {
	return l.in != "" && sentAs(l.in, l.name) == sentAs(in, name)
}

// sentAs identifies what cannot be in a request twice.
func sentAs(in Place, name string) string {
	if in == InHeader {
		name = strings.ToLower(name)
	}
	return string(in) + " " + name
}

func place(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// compilePath checks the template of the path, and that it has each path parameter
// once.
func (o *operation) compilePath(found *problems) {
	template, err := readPath(o.path)
	if err != nil {
		found.add("path", err.Error())
		return
	}
	o.template = template
	inPath := map[string]bool{}
	for _, name := range template.names() {
		if inPath[name] {
			found.add("path", "has {"+name+"} twice")
		}
		inPath[name] = true
	}
	for i, p := range o.params {
		if p.In != InPath {
			continue
		}
		if !inPath[p.Name] {
			found.add(place("params", i)+".name", "is not in the path; write {"+p.Name+"} there")
		}
		delete(inPath, p.Name)
	}
	for _, name := range template.names() {
		if inPath[name] {
			found.add("path", "has {"+name+`}, but there is no parameter of that name with "in": "path"`)
			delete(inPath, name)
		}
	}
}

// compileSchema makes the input schema and checks it.
func (o *operation) compileSchema(found *problems) {
	if body := o.endpoint.Body; body != nil && body.Schema != nil {
		if text := string(body.Schema); text != "true" && text[0] != '{' || jsonscan.Valid(body.Schema) != nil {
			found.add("body.schema", "is not a JSON Schema, which is an object")
			return
		}
	}
	for _, p := range o.params {
		if p.Schema[0] != '{' || jsonscan.Valid(p.Schema) != nil || checkName(p.Argument) != "" {
			return // said already
		}
	}
	o.schema = o.inputSchema()
	err := schemagate.Check(o.schema, schemagate.Limits{})
	if err == nil {
		return
	}
	field := "params"
	if refused, ok := err.(*schemagate.SchemaError); ok {
		field = o.schemaField(refused.Path)
	}
	found.add(field, "cannot be used: "+err.Error())
}

// schemaField returns whose schema the place in the input schema is in.
func (o *operation) schemaField(pointer string) string {
	if pointer == "/$defs" || strings.HasPrefix(pointer, "/$defs/") {
		return "defs"
	}
	rest, ok := strings.CutPrefix(pointer, "/properties/")
	if !ok {
		return "params"
	}
	name, _, _ := strings.Cut(rest, "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	for i, p := range o.params {
		if p.Argument == name {
			return place("params", i) + ".schema"
		}
	}
	return "body.schema"
}

// annotations returns what the method says of a tool, unless the endpoint says more.
func (o *operation) annotations() *mcp.ToolAnnotations {
	if o.endpoint.Annotations != nil {
		return o.endpoint.Annotations
	}
	safe, yes := safeMethod(o.method), true
	a := &mcp.ToolAnnotations{ReadOnlyHint: safe}
	if !safe {
		a.DestructiveHint = &yes
		a.IdempotentHint = o.method == http.MethodPut || o.method == http.MethodDelete
	}
	return a
}

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
