package openapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// namesOf returns the names of the endpoints of an API.
func namesOf(api *rest.API) string {
	var names []string
	for _, e := range api.Endpoints {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// one parses a document with one operation that can be taken over without a problem.
func one(t *testing.T, text string) rest.Endpoint {
	t.Helper()
	api, problems := parse(t, text, nil)
	assert.Equal(t, fmt.Sprint(problems), "[]", "the problems")
	assert.Equal(t, len(api.Endpoints), 1)
	return api.Endpoints[0]
}

// refused checks that an option is refused.
func refused(t *testing.T, text string, opts openapi.Options, option string) error {
	t.Helper()
	_, _, err := openapi.Parse([]byte(text), &opts)
	assert.True(t, err != nil, "%+v is refused", opts)
	assert.Contains(t, err.Error(), "openapi: option "+option+": ")
	return err
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
func problem(t *testing.T, problems []openapi.Problem, lost string, place, reason string) {
	t.Helper()
	assert.Equal(t, len(problems), 1)
	assert.Equal(t, problems[0].Lost, lost, "what is lost (%s)", problems[0].Reason)
	assert.Equal(t, problems[0].Place, place, "the place of the problem")
	assert.Contains(t, problems[0].Reason, reason, "the reason")
}
