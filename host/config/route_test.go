package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// A change of the way to a server sends no secret that the one who changes it cannot see.
func TestSecretsOnAnotherRoute(t *testing.T) {
	stored := func() *Record {
		return &Record{Name: "s", URL: "https://mcp.example.com/mcp", Headers: map[string]Secret{"Authorization": "Bearer tok-0123456789"},
			Proxy: "http://user:pass-0123456789@proxy.example.com:3128"}
	}
	shown, err := json.Marshal(stored())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), "pass-0123456789") {
		t.Errorf("got %s, want the proxy's password masked", shown)
	}
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
		if err := json.Unmarshal([]byte(test.change), &p); err != nil {
			t.Fatal(err)
		}
		next, err := stored().Apply(&p)
		if test.code != "" {
			if !errors.Is(err, &RecordError{Code: test.code}) {
				t.Errorf("%s: got %v, want %s", test.name, err, test.code)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: got %v, want it taken", test.name, err)
		} else if test.name == "as shown" && next.Proxy != stored().Proxy {
			t.Errorf("got the proxy %q, want the stored one", next.Proxy)
		}
	}
}

func TestRoutesThatCannotBe(t *testing.T) {
	for keys, want := range map[string]string{
		`"proxy":"ftp://p.example:1"`:                           "must start with",
		`"proxy":"p.example"`:                                   "not the address of a proxy",
		`"tls":{"certFile":"a"}`:                                "add the other",
		`"tls":{"ca":"a"}`:                                      "unknown key",
		`"tls":{"insecure":"yes"}`:                              "must be",
		`"tls":{"caFile":""}`:                                   "is empty",
		`"proxy":"https://p.example:1","tls":{"insecure":true}`: "https proxy",
		`"tls":{"insecure":true,"caFile":"a"}`:                  "remove one",
	} {
		c, err := Parse("f.json", []byte(`{"mcpServers":{"s":{"url":"https://a.example",`+keys+`}}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Servers[0].Err; got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", keys, got, want)
		}
	}
}
