package admin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A document is what a test knows of the description of the API.
type document struct {
	mu       sync.Mutex // guards compiler and schemas
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
	paths    map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string
		Role        admin.Role `json:"x-role"`
		Parameters  []struct {
			Name, In string
			Required bool
		}
		Responses map[string]struct {
			Content map[string]json.RawMessage
		}
		RequestBody any
	}
}

func readDocument(t *testing.T, s *site) *document {
	t.Helper()
	got := s.do("viewer", "GET", "/api/v1/openapi.json", "", nil)
	raw := assert.Value(jsonschema.UnmarshalJSON(strings.NewReader(got.body)))(t)
	assert.Equal(t, got.status, http.StatusOK)
	d := &document{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	assert.OK(t, d.compiler.AddResource("urn:api", raw))
	var whole struct {
		OpenAPI string
		Paths   json.RawMessage
	}
	assert.OK(t, json.Unmarshal([]byte(got.body), &whole), "the version")
	assert.Equal(t, whole.OpenAPI, "3.1.0", "the version")
	assert.OK(t, json.Unmarshal(whole.Paths, &d.paths))
	return d
}

// schema returns the schema at a place of the document.
func (d *document) schema(tokens ...string) (*jsonschema.Schema, error) {
	place := "urn:api#"
	for _, token := range tokens {
		place += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(token)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.schemas[place]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(place)
	d.schemas[place] = s
	return s, err
}

// check compares an answer with the document.
func (d *document) check(r admin.Route, got answer) error {
	method, status := strings.ToLower(r.Method), "default"
	if got.status == http.StatusOK {
		status = "200"
	}
	kind := got.header.Get("Content-Type")
	if _, ok := d.paths[r.Path][method].Responses[status].Content[kind]; !ok {
		return fmt.Errorf("got %d as %s, of which the document says nothing", got.status, kind)
	}
	s, err := d.schema("paths", r.Path, method, "responses", status, "content", kind, "schema")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(got.body))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// The document has all routes, each with its role, its parameters and its body.
func TestDocumentHasAllRoutes(t *testing.T) {
	s := openBusy(t)
	d := readDocument(t, s)
	ids, operations := map[string]bool{}, 0
	for _, methods := range d.paths {
		operations += len(methods)
	}
	routes := admin.Routes(s.handler)
	assert.Equal(t, operations, len(routes), "operations")
	for _, r := range routes {
		o := d.paths[r.Path][strings.ToLower(r.Method)]
		assert.Equal(t, o.Role, r.Role, "%s %s: the role", r.Method, r.Path)
		assert.True(t, o.Summary != "", "%s %s: a summary", r.Method, r.Path)
		assert.False(t, ids[o.OperationID], "%s %s: the operationId %s is there twice", r.Method, r.Path, o.OperationID)
		ids[o.OperationID] = true
		assert.Equal(t, o.RequestBody != nil, r.In, "%s %s: a body", r.Method, r.Path)
		inPath := 0
		for _, p := range o.Parameters {
			if p.In == "path" && p.Required && strings.Contains(r.Path, "{"+p.Name+"}") {
				inPath++
			}
		}
		assert.Equal(t, inPath, strings.Count(r.Path, "{"), "%s %s: parameters of the path", r.Method, r.Path)
	}
}

// Answers are as the document says, whatever is asked.
func TestAnswersConform(t *testing.T) {
	s := openBusy(t)
	d := readDocument(t, s)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	routes := slices.DeleteFunc(admin.Routes(s.handler), func(r admin.Route) bool { return r.Stream })
	all := s.fill("{gone} {call} {key} {launch}")
	known := append(strings.Fields(all), "runs", "rests", "lazy", "held", "remote", "lazy__echo", "remote__echo", "new1", "new2", "none", "%2F", "~")
	change := s.fill("{change}")
	bodies := []string{
		"{}", "[]", "{", `{"x":1}`, change, `{"reason":"no"}`, `{"forConversation":true}`, `{"arguments":{"text":"go"}}`, `{"arguments":[]}`, `{"user":"ann"}`, `{"label":"new"}`,
		`{"label":"x","grant":{"manage":true,"servers":["a*"]},"expires":"2999-01-01T00:00:00Z"}`,
		`{"name":"new1","command":"x","argsJson":"[\"--token\",\"sk-0123456789abcdef\"]","envJson":"{\"A\":\"b\"}","cwd":"/"}`,
		`{"name":"new2","transport":"streamable_http","url":"https://a.example/mcp","headersJson":"{\"Authorization\":\"Bearer sk-0123456789abcdef\"}","readTimeoutSeconds":1.5}`,
		`{"description":"<script>\u202e"}`, `{"enabled":false}`, `{"enabled":true}`, `{"description":null,"readTimeoutSeconds":2}`, `{"transport":"pigeon"}`,
	}
	succeeded := map[string]bool{}
	for n := range assert.Cases(4, 20) * len(routes) {
		r := routes[n%len(routes)]
		path := r.Path
		for _, name := range []string{"{id}", "{name}", "{server}", "{fingerprint}"} {
			path = strings.ReplaceAll(path, name, known[random.IntN(len(known))])
		}
		path += pick("", "?enabled=true", "?enabled=false", "?limit=3", "?limit=x", "?kind=call&since=2020-01-01T00:00:00Z", "?server=held", "?name=remote__echo", "?name=rests__x", "?name=held__echo", "?at=2020-01-01T00:00:00Z")
		body := ""
		if r.In || random.IntN(20) == 0 {
			body = pick(bodies...)
		}
		got := s.do(pick("owner", "owner", "owner", "operator", "viewer"), r.Method, path, body, nil)
		assert.Equal(t, d.check(r, got), nil, "%s %s %s: %d %s", r.Method, path, body, got.status, got.body)
		assert.True(t, got.status < 500 || got.status == http.StatusBadGateway, "%s %s %s: %d %s is no failure of the program", r.Method, path, body, got.status, got.body)
		assert.Lacks(t, got.body, "sk-0123456789abcdef", "%s %s %s", r.Method, path, body)
		if got.status == http.StatusOK {
			succeeded[r.Method+" "+r.Path] = true
		}
	}
	assert.True(t, len(succeeded) > len(routes)/3, "%d of %d routes succeed at times", len(succeeded), len(routes))
}
