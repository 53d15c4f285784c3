package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

const head = `
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: https://shop.example/v1}]
`

// parse parses a document that is one.
func parse(t *testing.T, text string, opts *openapi.Options) (*rest.API, []openapi.Problem) {
	t.Helper()
	api, problems, err := openapi.Parse([]byte(text), opts)
	assert.OK(t, err)
	return api, problems
}

// one parses a document with one operation that can be taken over without a problem.
func one(t *testing.T, text string) rest.Endpoint {
	t.Helper()
	api, problems := parse(t, text, nil)
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	assert.Equal(t, len(api.Endpoints), 1)
	return api.Endpoints[0]
}

// same compares a value's JSON with what is wanted, written with other spaces.
func same(t *testing.T, what string, got any, want string) {
	t.Helper()
	text := assert.Value(json.Marshal(got))(t)
	if raw, ok := got.(json.RawMessage); ok {
		text = raw
	}
	squeeze := strings.NewReplacer(" ", "", "\n", "", "\t", "")
	assert.Equal(t, squeeze.Replace(string(text)), squeeze.Replace(want), "%s", what)
}

// problem checks that there is exactly one problem, and what it is.
func problem(t *testing.T, problems []openapi.Problem, lost openapi.Lost, place, reason string) {
	t.Helper()
	assert.Equal(t, len(problems), 1)
	p := problems[0]
	assert.Equal(t, p.Lost, lost)
	assert.Equal(t, p.Place, place)
	assert.Contains(t, p.Reason, reason)
}
