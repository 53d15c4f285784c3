package config

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
		c := assert.Value(Parse(t.Context(), "f.json", []byte(`{"mcpServers":{"s":{"url":"https://a.example",`+keys+`}}}`), nil))(t)
		if got := c.Servers[0].Err; got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", keys, got, want)
		}
	}
}
