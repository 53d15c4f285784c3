// Tests of patch.go and echo.go: changes of a record, and secrets that come back masked.

package record_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// apply applies a patch in JSON and returns what became of the record, and the codes.
func apply(t *testing.T, r *config.Server, patch string) (*config.Server, string) {
	t.Helper()
	var p record.Patch
	assert.OK(t, json.Unmarshal([]byte(patch), &p), "%s", patch)
	before, _ := record.Encode(r)
	next, err := p.Apply(r)
	after, _ := record.Encode(r)
	assert.Equal(t, string(after), string(before), "%s: the record itself was changed", patch)
	assert.Lacks(t, fmt.Sprint(err), longSecret, "%s: the error", patch)
	assert.False(t, (err == nil) == (next == nil), "%s", patch)
	return next, codes(err)
}

func TestPatchKeepsAndClears(t *testing.T) {
	r := fullRecord()
	same, _ := apply(t, r, `{}`)
	assert.Equal(t, string(encoded(t, same)), string(encoded(t, r)), "after an empty patch")
	next, code := apply(t, r, `{"description": null, "readTimeoutSeconds": 90, "connectTimeoutSeconds": null, "lazy": null, "required": false,
		"auth": null, "limits": null, "tools": {"deny": ["y"]}, "identity": "", "userHeader": null, "enabled": false, "name": "other"}`)
	assert.Equal(t, code, "")
	want := fullRecord()
	want.Description, want.ConnectTimeout, want.Lazy, want.Required, want.Auth, want.Identity, want.UserHeader = "", 0, false, false, nil, "", ""
	want.ReadTimeout, want.Limits, want.Tools = 90*time.Second, config.Limits{}, config.ToolFilter{Deny: []string{"y"}}
	want.Disabled, want.Name = true, "other"
	assert.Equal(t, string(encoded(t, next)), string(encoded(t, want)))
	on, _ := apply(t, next, `{"enabled": null}`)
	assert.False(t, on.Disabled, "null does not clear what disables a server")
	_, code = apply(t, r, `{"builtin": false}`)
	assert.Equal(t, code, "builtin_readonly builtin")
	_, code = apply(t, r, `{"url": null, "headers": null, "auth": null}`)
	assert.Equal(t, code, "http_url_required url")
	next, code = apply(t, r, `{"headers": {}}`)
	assert.Equal(t, code, "")
	assert.Equal(t, len(next.Headers), 0)
}

func encoded(t *testing.T, r *config.Server) []byte {
	t.Helper()
	return assert.Value(record.Encode(r))(t)
}

// Who gets a record as it is shown and sends it back changes nothing.
func TestEchoOfAll(t *testing.T) {
	for _, r := range []*config.Server{fullRecord(), localRecord()} {
		next, code := apply(t, r, strings.Replace(string(assert.Value(json.Marshal(r))(t)), `,"icon":{"u":"****abcd"}`, "", 1))
		assert.Equal(t, code, "")
		assert.Equal(t, string(encoded(t, next)), string(encoded(t, r)))
	}
}

func TestEcho(t *testing.T) {
	const kept = longSecret
	cases := []struct {
		name  string
		local bool
		patch string
		want  string                        // codes
		check func(r *config.Server) string // what must be longSecret
	}{
		{name: "a header beside a new one", patch: `{"headers": {"Authorization": "Bearer ****abcd", "New": "v"}}`,
			check: func(r *config.Server) string {
				return strings.TrimPrefix(r.Headers["Authorization"].Reveal(), "Bearer ")
			}},
		{name: "a header in another spelling", patch: `{"headers": {"authorization": "Bearer ****abcd"}}`,
			check: func(r *config.Server) string {
				return strings.TrimPrefix(r.Headers["authorization"].Reveal(), "Bearer ")
			}},
		{name: "under another name", patch: `{"headers": {"Other": "Bearer ****abcd"}}`, want: "mask_unmatched headers.Other"},
		{name: "without its scheme", patch: `{"headers": {"Authorization": "****abcd"}}`, want: "mask_unmatched headers.Authorization"},
		{name: "of another secret", patch: `{"headers": {"Authorization": "Bearer sk-****abce"}}`, want: "mask_unmatched headers.Authorization"},
		{name: "within a longer text", patch: `{"headers": {"Authorization": "Bearer ****abcd!"}}`, want: "mask_unmatched headers.Authorization"},
		{name: "of a reference", patch: `{"headers": {"X-Ref": "****"}}`, want: "mask_unmatched headers.X-Ref"},

		{name: "another path", patch: `{"url": "https://api.example.com/v2?key=****abcd&n=2"}`, want: "mask_unmatched url"},
		{name: "the host in other letters, with its port", patch: `{"url": "HTTPS://API.example.com:443/", "headers": {"Authorization": "Bearer ****abcd"}}`,
			check: func(r *config.Server) string {
				return strings.TrimPrefix(r.Headers["Authorization"].Reveal(), "Bearer ")
			}},
		{name: "in the path", patch: `{"url": "https://api.example.com/****abcd"}`, want: "mask_unmatched url"},

		{name: "another host", patch: `{"url": "https://evil.example.com/", "headers": {"Authorization": "Bearer ****abcd"}, "auth": null}`, want: "secret_moved headers.Authorization"},
		{name: "another host, nothing said", patch: `{"url": "https://evil.example.com/"}`, want: "secret_moved headers.Authorization, secret_moved auth.clientSecret"},
		{name: "another scheme", patch: `{"url": "http://api.example.com/mcp", "auth": null}`, want: "secret_moved headers.Authorization"},
		{name: "another port", patch: `{"url": "https://api.example.com:8443/mcp", "auth": null}`, want: "secret_moved headers.Authorization"},
		{name: "a host with a user", patch: `{"url": "https://api.example.com@evil.example.com/mcp", "auth": null}`, want: "secret_moved headers.Authorization, value_invalid url"},
		{name: "a backslash", patch: `{"url": "https://evil.example.com\\@api.example.com/mcp", "auth": null}`, want: "secret_moved headers.Authorization, value_invalid url"},
		{name: "a host that begins so", patch: `{"url": "https://api.example.com.evil.com/mcp", "auth": null}`, want: "secret_moved headers.Authorization"},
		{name: "a host of references", patch: `{"url": "https://api.example.com${X}/mcp", "auth": null}`, want: "secret_moved headers.Authorization"},
		{name: "the query's secret to another host", patch: `{"url": "https://evil.example.com/?key=****abcd", "headers": null, "auth": null}`, want: "mask_unmatched url"},
		{name: "another host and all anew", patch: `{"url": "https://other.example.com/", "headers": {"Authorization": "Bearer new"}, "auth": null}`},
		{name: "another host and nothing secret", patch: `{"url": "https://other.example.com/", "headers": {"X-Ref": "${TOKEN}"}, "auth": {"clientId": "x"}}`},

		{name: "the client's secret", patch: `{"auth": {"clientId": "other", "clientSecret": "****abcd", "issuer": "https://login.example.com"}}`,
			check: func(r *config.Server) string { return r.Auth.ClientSecret.Reveal() }},
		{name: "the client's secret to another issuer", patch: `{"auth": {"clientSecret": "****abcd", "issuer": "https://evil.example.com"}}`, want: "secret_moved auth.clientSecret"},
		{name: "the client's secret to whom the server names", patch: `{"auth": {"clientSecret": "****abcd"}}`, want: "secret_moved auth.clientSecret"},

		{name: "the client's secret to another token endpoint", patch: `{"auth": {"clientSecret": "****abcd", "authorizationUrl": "https://login.example.com/a", "tokenUrl": "https://evil.example/t"}}`, want: "secret_moved auth.clientSecret"},
		{name: "a variable", local: true, patch: `{"env": {"KEY": "****abcd"}}`, check: func(r *config.Server) string { return r.Env["KEY"].Reveal() }},
		{name: "a variable in another spelling", local: true, patch: `{"env": {"key": "****abcd"}}`, want: "mask_unmatched env.key"},
		{name: "a short variable", local: true, patch: `{"env": {"SHORT_PASS": "****", "KEY": "x"}}`},
		{name: "another command", local: true, patch: `{"command": "evil", "env": {"KEY": "****abcd"}, "args": []}`, want: "secret_moved env.KEY, secret_moved isolation.args[1]"},
		{name: "another command, nothing said", local: true, patch: `{"command": "evil", "isolation": null}`,
			want: "secret_moved env.KEY, secret_moved env.MODE, secret_moved env.SHORT_PASS, secret_moved args[3], secret_moved args[5], secret_moved args[7]"},
		{name: "another image", local: true, patch: `{"isolation": {"kind": "docker", "image": "evil"}, "env": {"KEY": "****abcd"}, "args": null}`, want: "secret_moved env.KEY"},
		{name: "an argument in another place", local: true, patch: `{"args": ["--token", "****abcd"]}`, check: func(r *config.Server) string { return r.Args[1] }},
		{name: "an argument behind another flag", local: true, patch: `{"args": ["--api-key", "****abcd"]}`, want: "mask_unmatched args[1]"},
		{name: "an argument behind no flag", local: true, patch: `{"args": ["****abcd"]}`, want: "mask_unmatched args[0]"},
		{name: "a short argument behind its flag", local: true, patch: `{"args": ["--pwd", "****", "--pass", "****"]}`,
			check: func(r *config.Server) string {
				if r.Args[1] == "hunter3" && r.Args[3] == "hunter2" {
					return kept
				}
				return strings.Join(r.Args, " ")
			}},

		{name: "a local server becomes remote", local: true, patch: `{"url": "https://h/"}`,
			check: func(r *config.Server) string {
				if r.Command == "" && r.Args == nil && r.Env == nil && r.Cwd == "" && r.Isolation == nil {
					return kept
				}
				return r.String()
			}},
		{name: "a remote server becomes local", patch: `{"command": "x"}`,
			check: func(r *config.Server) string {
				if r.URL == "" && r.Headers == nil && r.Auth == nil && r.Transport == "" {
					return kept
				}
				return r.String()
			}},
		{name: "an environment for the new program", patch: `{"command": "x", "env": {"Authorization": "Bearer ****abcd"}}`, want: "mask_unmatched env.Authorization"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := fullRecord()
			if c.local {
				r = localRecord()
			}
			next, code := apply(t, r, c.patch)
			assert.Equal(t, code, c.want)
			if c.check != nil {
				assert.Equal(t, c.check(next), kept)
			}
		})
	}
}

// A secret that looks like a mask can stay, and be said.
func TestEchoOfStars(t *testing.T) {
	r := &config.Server{Name: "a", Command: "x", Args: []string{"--level", "****"}, Env: map[string]config.Secret{"K": "****", "L": "aa****bbbb"}}
	for _, patch := range []string{`{}`, `{"args": ["--level", "****"], "env": {"K": "****", "L": "aa****bbbb"}}`} {
		next, code := apply(t, r, patch)
		assert.Equal(t, code, "", "%s", patch)
		assert.Equal(t, string(encoded(t, next)), string(encoded(t, r)), "%s", patch)
	}
}

// Two arguments that look the same cannot be told apart in another place.
func TestEchoOfTwins(t *testing.T) {
	r := &config.Server{Name: "a", Command: "x", Args: []string{"--token", "hunter1", "--token", "hunter2"}}
	next, code := apply(t, r, `{"args": ["--token", "****", "--token", "****"]}`)
	assert.Equal(t, code, "")
	assert.Equal(t, next.Args[1], "hunter1")
	assert.Equal(t, next.Args[3], "hunter2")
	_, code = apply(t, r, `{"args": ["-v", "--token", "****"]}`)
	assert.Equal(t, code, "mask_unmatched args[2]")
}

func TestPatchSharesNothing(t *testing.T) {
	r := localRecord()
	env := map[string]config.Secret{"A": "b"}
	args := []string{"x"}
	next := assert.Value((&record.Patch{Keys: []string{"env", "args"}, Values: config.Server{Env: env, Args: args}}).Apply(r))(t)
	env["A"], args[0] = "changed", "changed"
	next.Isolation.Args[0] = "changed"
	assert.Equal(t, next.Env["A"], "b")
	assert.Equal(t, next.Args[0], "x")
	assert.Equal(t, r.Isolation.Args[0], "-e")
	assert.Equal(t, string(encoded(t, assert.Value((*record.Patch)(nil).Apply(r))(t))), string(encoded(t, r)))
}

// A change of the way to a server sends no secret that the one who changes it cannot see.
func TestSecretsOnAnotherRoute(t *testing.T) {
	stored := func() *config.Server {
		return &config.Server{Name: "s", URL: "https://mcp.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer tok-0123456789"},
			Proxy: "http://user:pass-0123456789@proxy.example.com:3128"}
	}
	shown := assert.Value(json.Marshal(stored()))(t)
	assert.Lacks(t, string(shown), "pass-0123456789")
	for _, test := range []struct {
		name, change string
		code         record.Code // empty: it is taken
	}{
		{"as shown", string(shown), ""},
		{"description", `{"description":"x"}`, ""},
		{"another proxy", `{"proxy":"http://evil.example:1"}`, "secret_moved"},
		{"no proxy", `{"proxy":null}`, "secret_moved"},
		{"not checked", `{"tls":{"insecure":true}}`, "secret_moved"},
		{"another authority", `{"tls":{"caFile":"/tmp/evil.pem"}}`, "secret_moved"},
		{"a mask of nothing", `{"proxy":"http://user:****@evil.example:1"}`, "mask_unmatched"},
		{"said anew", `{"proxy":"http://other.example:1","headers":{"Authorization":"Bearer new"}}`, ""},
	} {
		var p record.Patch
		assert.OK(t, json.Unmarshal([]byte(test.change), &p))
		next, err := p.Apply(stored())
		if test.code != "" {
			assert.Is(t, err, &record.Error{Code: test.code}, "%s", test.name)
			continue
		}
		assert.OK(t, err, "%s", test.name)
		if test.name == "as shown" {
			assert.Equal(t, next.Proxy, stored().Proxy, "the stored proxy")
		}
	}
}
