// Tests of document.go with documents by chance.

package openapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

// FuzzParse holds that whatever comes in, what comes out is an API that package rest
// takes.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*-3.*"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text := assert.Value(os.ReadFile(file))(f)
		if len(text) < 20_000 {
			f.Add(text)
		}
	}
	f.Add([]byte(manyLogins))
	f.Add([]byte(`{"openapi":"3.1.0","servers":[{"url":"https://a.example/{v}","variables":{"v":{"default":"x"}}}],"paths":{"/a/{b}":{"post":{"parameters":[{"name":"q","in":"query","style":"deepObject","schema":{"$ref":"#/components/schemas/A"}}],"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"allOf":[{"$ref":"#/components/schemas/A"}]},"encoding":{"a":{"style":"pipeDelimited"}}}}}}}},"components":{"schemas":{"A":{"type":"object","nullable":true,"properties":{"a":{"$ref":"#/components/schemas/A","readOnly":true},"b":{"enum":[1],"example":{}}},"required":["a"]}}}}`))
	f.Add([]byte("openapi: 3.0.0\nx: &a {get: {operationId: a}}\npaths: {/a: *a, /b: {<<: *a, put: {}}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		api, problems, err := openapi.Parse(text, &openapi.Options{BaseURL: "https://api.example"})
		if err != nil {
			return
		}
		for _, p := range problems {
			assert.False(t, len(p.String()) > 2_000, "%d are more than %d", len(p.String()), 2_000)
		}
		assert.Value(json.Marshal(api))(t)
		if len(api.Endpoints) == 0 {
			return
		}
		assert.Value(rest.New(api, nil))(t)
	})
}
