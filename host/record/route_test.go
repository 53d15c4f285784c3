package record

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A change of the way to a server sends no secret that the one who changes it cannot see.
func TestSecretsOnAnotherRoute(t *testing.T) {
	stored := func() *Record {
		return &Record{Name: "s", URL: "https://mcp.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer tok-0123456789"},
			Proxy: "http://user:pass-0123456789@proxy.example.com:3128"}
	}
	shown := assert.Value(json.Marshal(stored()))(t)
	assert.Lacks(t, string(shown), "pass-0123456789")
	for _, test := range []struct {
		name, change string
		code         Code // empty: it is taken
	}{
		{"as shown", string(shown), ""},
		{"description", `{"description":"x"}`, ""},
		{"another proxy", `{"proxy":"http://evil.example:1"}`, CodeSecretMoved},
		{"no proxy", `{"proxy":null}`, CodeSecretMoved},
		{"not checked", `{"tls":{"insecure":true}}`, CodeSecretMoved},
		{"another authority", `{"tls":{"caFile":"/tmp/evil.pem"}}`, CodeSecretMoved},
		{"a mask of nothing", `{"proxy":"http://user:****@evil.example:1"}`, CodeMaskUnmatched},
		{"said anew", `{"proxy":"http://other.example:1","headers":{"Authorization":"Bearer new"}}`, ""},
	} {
		var p Patch
		assert.OK(t, json.Unmarshal([]byte(test.change), &p))
		next, err := stored().Apply(&p)
		if test.code != "" {
			assert.Is(t, err, &Error{Code: test.code})
			continue
		}
		if err != nil {
			t.Errorf("%s: got %v, want it taken", test.name, err)
		} else if test.name == "as shown" && next.Proxy != stored().Proxy {
			t.Errorf("got the proxy %q, want the stored one", next.Proxy)
		}
	}
}
