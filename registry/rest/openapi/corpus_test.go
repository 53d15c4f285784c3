// Tests of document.go: what becomes of public documents.

package openapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// TestCorpus says what becomes of public documents: every operation is an endpoint
// that package rest takes, or a problem.
func TestCorpus(t *testing.T) {
	for _, c := range []struct {
		file                                string
		operations, endpoints, params       int
		operationsLost, paramsLost, notices int
		size                                int // of all schemas
		baseURL, auth                       string
	}{
		{"petstore-3.0.json", 19, 18, 42, 1, 2, 2, 3_503, "", "bearer ${REST___PETSTORE_AUTH}"},
		{"burgershop-3.1.yaml", 5, 4, 4, 1, 0, 1, 244, "https://api.pb33f.io", "bearer ${REST_API_PB33F_IO___OAUTHSCHEME}"},
		{"asana-3.0.yaml", 152, 152, 707, 0, 1, 0, 124_984, "https://app.asana.com/api/1.0", "bearer ${REST_APP_ASANA_COM___PERSONALACCESSTOKEN}"},
		{"ollama-3.1.yaml", 12, 12, 49, 0, 0, 0, 9_653, "http://localhost:11434", " "},
	} {
		t.Run(c.file, func(t *testing.T) {
			api, problems := parse(t, string(assert.Value(os.ReadFile(filepath.Join("testdata", c.file)))(t)), nil)
			lost := map[string]int{}
			for _, p := range problems {
				lost[p.Lost]++
				t.Log(p)
			}
			params, size := 0, 0
			for _, e := range api.Endpoints {
				params += len(e.Params)
				size += len(e.Defs)
				for _, p := range e.Params {
					size += len(p.Schema)
				}
				if e.Body != nil {
					size += len(e.Body.Schema)
				}
			}
			got := fmt.Sprint(len(api.Endpoints), params, lost["operation"], lost["parameter"], lost[""],
				lost["keyword"], size, api.BaseURL, string(api.Auth.Type)+" "+api.Auth.Value)
			assert.Equal(t, got, fmt.Sprint(c.endpoints, params, c.operationsLost, c.paramsLost, c.notices, 0, c.size, c.baseURL, c.auth))
			assert.Equal(t, params, c.params)
			assert.Equal(t, len(api.Endpoints)+lost["operation"], c.operations)
			if api.BaseURL == "" {
				api.BaseURL = "https://petstore.example/api/v3"
			}
			assert.Value(rest.New(api, nil))(t)
			assert.Lacks(t, fmt.Sprint(problems), "\n", "a problem is longer than a line")
		})
	}
}
