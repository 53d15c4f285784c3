// Tests of document.go, operation.go, name.go and options.go: which operations become endpoints.

package openapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

func TestDocuments(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		line             int
	}{
		{"empty", "", "is empty", 0},
		{"white space", " \n\t", "is empty", 0},
		{"a comment", "# nothing\n", "", 0},
		{"text", "hello", "is not an object", 0},
		{"a list", "[1]", "is not an object", 0},
		{"no version", "{}", `has no member "openapi"`, 0},
		{"Swagger", `{"swagger": "2.0"}`, "OpenAPI 2.0 (Swagger)", 0},
		{"the next version", `{"openapi": "4.0.0"}`, `OpenAPI "4.0.0"`, 0},
		{"nearly a version", `{"openapi": "3.10.0"}`, `OpenAPI "3.10.0"`, 0},
		{"broken JSON", "{\"openapi\": \"3.0.0\",\n \"paths\": ]}", "", 2},
		{"a key twice in JSON", "{\"openapi\": \"3.0.0\",\n \"openapi\": \"3.1.0\"}", "", 2},
		{"a key twice in YAML", "openapi: 3.0.0\nopenapi: 3.1.0\n", "openapi: duplicate key", 2},
		{"something behind JSON", "{\"openapi\": \"3.0.0\"} {}", "", 1},
		{"broken YAML", "openapi: 3.0.0\n\tpaths: {}", "", 2},
		{"two YAML documents", "openapi: 3.0.0\n---\nopenapi: 3.0.0\n", "", 0},
		{"no UTF-8", "openapi: 3.0.0\ninfo: {title: \xff}", "", 0},
		{"no UTF-8 in JSON", "{\"openapi\": \"3.0.0\", \"x\": \"\xff\"}", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, problems, err := openapi.Parse([]byte(c.text), nil)
			assert.Fails(t, err)
			assert.True(t, api == nil && problems == nil, "there is no API")
			assert.Contains(t, err.Error(), c.want)
			assert.True(t, strings.HasPrefix(err.Error(), "openapi: the document"), "%q begins with %q", err.Error(), "openapi: the document")
			if c.line != 0 {
				assert.Contains(t, err.Error(), fmt.Sprintf("line %d,", c.line))
			}
		})
	}
}

// A document without anything in it is one all the same.
func TestNothing(t *testing.T) {
	for _, text := range []string{
		`{"openapi": "3.0.0"}`, `{"openapi": "3.2.0", "paths": {}}`, "openapi: 3.1", "openapi: 3.1.1\npaths:\n",
		`{"openapi": "3.0.0", "paths": [{"get": {}}], "servers": {}, "components": 5, "security": "x", "info": []}`,
		"\uFEFF{\"openapi\": \"3.0.0\"}", "\uFEFFopenapi: 3.0.0",
	} {
		api, _ := parse(t, text, nil)
		assert.Equal(t, api.Name, "api", "%s", text)
		assert.False(t, len(api.Endpoints) > 1, "%s: %d are more than %d", text, len(api.Endpoints), 1)
	}
}

func TestOperationNames(t *testing.T) {
	api, problems := parse(t, head+`
paths:
  /a: {get: {operationId: listPets}, put: {operationId: listpets}, post: {operationId: listPets}}
  "/pets/{petId}/photos": {get: {parameters: [{name: petId, in: path, required: true}]}}
  /b: {get: {operationId: "../../etc/passwd\u202E\u0000"}}
  /c: {get: {operationId: "日本"}}
  /d: {get: {operationId: "listPets_2"}}
  /e: {get: {operationId: "`+strings.Repeat("x", 200)+`"}, put: {operationId: "`+strings.Repeat("x", 300)+`"}}
  /f: {get: {operationId: "a.b/c d-e"}}
  /: {get: {}}
`, nil)
	x := strings.Repeat("x", 62)
	want := "listPets listpets_2 listPets_3 get_pets_petId_photos etc_passwd get_c listPets_2_2 " + x + "xx " + x + "_2 a.b_c_d-e get"
	assert.Equal(t, namesOf(api), want)
	assert.Equal(t, fmt.Sprint(problems), "[]")
}

func TestDescriptions(t *testing.T) {
	for _, c := range []struct{ operation, title, want string }{
		{`summary: List pets, description: All of them.`, "List pets", "List pets\n\nAll of them."},
		{`summary: List pets, description: List pets of a shop.`, "List pets", "List pets of a shop."},
		{`summary: List pets., description: ""`, "List pets.", "List pets."},
		{`description: All of them.`, "", "All of them."},
		{`summary: List pets, deprecated: true`, "List pets", "Deprecated. List pets"},
		{`operationId: x`, "", "Of the path."},
		{`summary: "` + strings.Repeat("long ", 30) + `"`, "", strings.TrimSpace(strings.Repeat("long ", 30))},
		{`summary: 5, description: [x]`, "", "Of the path."},
	} {
		e := one(t, head+"paths: {/a: {description: Of the path., get: {"+c.operation+"}}}")
		assert.Equal(t, e.Title, c.title, "%s", c.operation)
		assert.Equal(t, e.Description, c.want, "%s", c.operation)
	}
}

func TestAPINames(t *testing.T) {
	for title, want := range map[string]string{
		"Swagger Petstore - OpenAPI 3.0": "swagger_petstore",
		"GitHub v3 REST API":             "github_v3",
		"API":                            "api",
		"Ollama API":                     "ollama",
		"日本":                             "api",
		"":                               "api",
		strings.Repeat("long ", 20):      "long_long_long_long_long_long_long_long_long_lon",
	} {
		api, _ := parse(t, "openapi: 3.0.0\ninfo: {title: \""+title+"\"}", nil)
		assert.Equal(t, api.Name, want, "%s", title)
	}
	api, _ := parse(t, head, &openapi.Options{Name: "My.Shop-2"})
	assert.Equal(t, api.Name, "My.Shop-2", "the name")
	for _, name := range []string{"My Shop", "${HOME}", strings.Repeat("x", 129), "日本"} {
		_ = refused(t, head, openapi.Options{Name: name}, "Name")
	}
}

func TestInclude(t *testing.T) {
	const text = head + `
paths:
  /pets: {get: {operationId: listPets, tags: [pets]}, post: {operationId: addPet, tags: [pets, admin]}}
  "/pets/{id}": {parameters: [{name: id, in: path, required: true}], get: {operationId: getPet, tags: [pets]}}
  /users: {post: {operationId: addUser, x-broken: true, parameters: [{in: nowhere, name: a, required: true}]}}
`
	var seen []string
	api, problems := parse(t, text, &openapi.Options{Include: func(op *openapi.Operation) bool {
		seen = append(seen, fmt.Sprint(*op))
		return slices.Contains(op.Tags, "pets") && op.Method == "GET"
	}})
	assert.Equal(t, namesOf(api), "listPets getPet", "endpoints")
	assert.Equal(t, fmt.Sprint(problems), "[]", "the problems")
	assert.Equal(t, fmt.Sprint(seen), "[{listPets GET /pets [pets]} {addPet POST /pets [pets admin]} {getPet GET /pets/{id} [pets]} {addUser POST /users []}]")
}

func TestPathItems(t *testing.T) {
	api, problems := parse(t, head+`
components: {pathItems: {P: {summary: Of P., get: {operationId: a}}}}
paths:
  x-a: {get: {operationId: no}}
  /a: {$ref: "#/components/pathItems/P"}
  /b: {$ref: "b.yaml"}
  /c: {$ref: "#/paths/~1c"}
  /d: {get: 5}
  /e: {trace: {operationId: e}, summary: s, parameters: []}
  /f: {post: {operationId: f, callbacks: {x: {y: {post: {operationId: no}}}}, responses: {"200": {$ref: "answers.yaml"}}}}
webhooks: {w: {post: {operationId: no}}}
`, nil)
	var got []string
	for _, e := range api.Endpoints {
		got = append(got, e.Name)
	}
	for _, p := range problems {
		got = append(got, p.Operation+" "+p.Place)
	}
	want := "[a f all of /b /paths/~1b all of /c /paths/~1c GET /d /paths/~1d/get TRACE /e /paths/~1e/trace]"
	assert.Equal(t, fmt.Sprint(got), want)
	assert.Equal(t, api.Endpoints[0].Description, "Of P.", "described as")
}
