package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const longSecret = "sk-0123456789abcd"

// fullRecord is a remote server with something in every field that it can have.
func fullRecord() *config.Server {
	return &config.Server{
		Name: "Work GitHub", Description: "issues", Transport: config.TransportHTTP,
		URL:     "https://api.example.com/mcp?key=" + longSecret + "&n=1",
		Headers: map[string]config.Secret{"Authorization": "Bearer " + longSecret, "X-Ref": "${TOKEN}"},
		Proxy:   "http://user:" + longSecret + "@proxy.example.com:3128", TLS: &config.TLS{CAFile: "/etc/ca.pem"},
		Builtin: true, Proposed: true, Required: true, Lazy: true, Trust: true, Quarantined: true, Ledger: "pin",
		ConnectTimeout: 1500 * time.Millisecond, ReadTimeout: time.Minute, IdleTimeout: time.Hour,
		Identity: config.IdentityHeader, UserHeader: "X-User",
		Auth:   &config.Auth{ClientID: "id", ClientSecret: longSecret, Scopes: []string{"a"}, Issuer: "https://login.example.com", RedirectURL: "http://127.0.0.1/cb"},
		Limits: config.Limits{MaxTools: 1, MaxInFlight: 2, MaxQueued: -1, MaxMessage: 4},
		Tools:  config.ToolFilter{Allow: []string{}, Deny: []string{"x"}, Rename: map[string]string{"a": "b"}},
		Extra:  map[string]json.RawMessage{"icon": json.RawMessage(`{"u":"` + longSecret + `"}`)},
	}
}

func localRecord() *config.Server {
	return &config.Server{
		Name: "files", Command: "npx", Args: []string{"-y", "server", "--token", longSecret, "--pass", "hunter2", "--pwd", "hunter3"},
		Env: map[string]config.Secret{"KEY": longSecret, "SHORT_PASS": "hunter2", "MODE": "fast", "REF": "${REF}"}, Cwd: "/srv",
		Disabled: true,
		Isolation: &config.Isolation{Kind: config.IsolationDocker, Image: "node:22", Network: true, Args: []string{"-e", "K=" + longSecret},
			Mounts: []config.Mount{{Path: "/a", Target: "/b", Write: true}}},
	}
}

func TestRecordEncodes(t *testing.T) {
	for _, r := range []*config.Server{fullRecord(), localRecord(), {Name: "x", Command: "y"}} {
		data := assert.Value(record.Encode(r))(t)
		assert.True(t, reflect.DeepEqual(assert.Value(record.Decode(data))(t), record.Of(r)), "the same record from %s", data)
	}
}

// Every field takes part in Encode and in a Patch: nobody adds one and forgets these.
func TestRecordHasAllFields(t *testing.T) {
	full, local := reflect.ValueOf(*fullRecord()), reflect.ValueOf(*localRecord())
	keys := map[string]bool{}
	for i := range full.NumField() {
		name := full.Type().Field(i).Name
		key := full.Type().Field(i).Tag.Get("key")
		if slices.Contains([]string{"Title", "Source", "Err", "Warnings"}, name) || !full.Type().Field(i).IsExported() {
			continue // no part of an entry
		}
		assert.True(t, !full.Field(i).IsZero() || !local.Field(i).IsZero(), "the records of these tests have %s", name)
		assert.True(t, name == "Extra" || name == "Name" || key != "" && !keys[key], "a Patch can change the field %s: the key %q", name, key)
		keys[key] = true
	}
}

func TestRecordShowsNoSecret(t *testing.T) {
	for _, r := range []*config.Server{fullRecord(), localRecord()} {
		data := assert.Value(json.Marshal(r))(t)
		byValue, _ := json.Marshal(map[string]any{"r": *r})
		for _, text := range []string{string(data), string(byValue), r.String(), fmt.Sprintf("%v %+v %#v %q", r, *r, r, *r)} {
			assert.LacksAll(t, text, longSecret, "hunter2", "hunter3")
		}
		assert.Contains(t, string(data), "****abcd")
		assert.Contains(t, string(data), `"enabled":`)
		assert.Equal(t, strings.Contains(string(data), `"MODE":"fast"`), r.Command != "", "what is no secret")
	}
	assert.False(t, strings.ContainsAny(fmt.Sprint(config.Server{Name: "x", Command: "a\x1b[31m\nb"}), "\x1b\n"), "contains any")
}

func TestServerShowsNoSecret(t *testing.T) {
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "args": ["--token", "${T}"], "env": {"K": "${T}"}, "icon": "${T}"},
		"b": {"url": "https://h/?key=${T}", "headers": {"A": "${T}"}, "bad": 1, "args": 1, "enabled": 7}}}`),
		&config.Options{Lookup: func(string) (string, bool) { return longSecret, true }}))(t)
	data := assert.Value(json.Marshal(c.Servers))(t)
	assert.Lacks(t, string(data), longSecret)
	assert.Lacks(t, string(data), "abcd")
	assert.ContainsAll(t, string(data), `"--token","${T}"`, `"K":"${T}"`, `?key=${T}`, `"A":"${T}"`, `"name":"a"`, `"source":"mcp.json:1"`, `"error":"mcp.json:2:`)
}

// codes returns the codes and fields of an error's parts.
func codes(err error) string {
	var all []string
	var walk func(error)
	walk = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range joined.Unwrap() {
				walk(err)
			}
			return
		}
		var one *record.Error
		if errors.As(err, &one) {
			all = append(all, strings.TrimSuffix(string(one.Code)+" "+one.Field, " "))
		} else if err != nil {
			all = append(all, err.Error())
		}
	}
	walk(err)
	return strings.Join(all, ", ")
}

func TestRecordValidate(t *testing.T) {
	cases := []struct{ json, want string }{
		{`{"name": "A b.c_d-9", "command": "x"}`, ""},
		{`{"name": "` + strings.Repeat("a", 60) + `", "command": "x"}`, ""},
		{`{"command": "x"}`, "name_required name"},
		{`{"name": "  ", "command": "x"}`, "name_required name"},
		{`{"name": " a", "command": "x"}`, "name_invalid name"},
		{`{"name": "a ", "command": "x"}`, "name_invalid name"},
		{`{"name": "...", "command": "x"}`, "name_invalid name"},
		{`{"name": "a/b", "command": "x"}`, "name_invalid name"},
		{`{"name": "é", "command": "x"}`, "name_invalid name"},
		{`{"name": "` + strings.Repeat("a", 129) + `", "command": "x"}`, "name_invalid name"},
		{`{"name": "a", "transport": "carrier", "command": "x"}`, "transport_unsupported transport"},
		{`{"name": "a", "transport": "streamable_http", "url": "https://h"}`, ""},
		{`{"name": "a", "transport": "stdio"}`, "stdio_command_required command"},
		{`{"name": "a"}`, "stdio_command_required command"},
		{`{"name": "a", "transport": "sse"}`, "http_url_required url"},
		{`{"name": "a", "transport": "auto", "url": " "}`, "http_url_required url"},
		{`{"name": "a", "url": "ftp://h"}`, "value_invalid url"},
		{`{"name": "a", "url": "https://u:p@h"}`, "value_invalid url"},
		{`{"name": "a", "url": "${BASE}/mcp"}`, ""},
		{`{"name": "a", "url": "https://h/${"}`, "value_invalid url"},
		{`{"name": "a", "url": "https://h", "headers": {"a b": "x"}}`, "value_invalid headers.\"a b\""},
		{`{"name": "a", "url": "https://h", "headers": {"A": "x\ny"}}`, "value_invalid headers.A"},
		{`{"name": "a", "command": "x", "env": {"A=": "x"}}`, "value_invalid env.\"A=\""},
		{`{"name": "a", "command": "x", "url": "https://h"}`, "value_invalid url"},
		{`{"name": "a", "command": "x", "env": {"A": "****abcd"}, "args": ["[redacted: JWT]", "**/*"]}`, "mask_unmatched env.A, mask_unmatched args[0]"},
		{`{"name": "a", "url": "https://h/?k=****", "headers": {"A": "****"}, "auth": {"clientId": "x", "clientSecret": "****"}}`,
			"mask_unmatched url, mask_unmatched headers.A, mask_unmatched auth.clientSecret"},
	}
	for _, c := range cases {
		var p record.Patch
		assert.OK(t, json.Unmarshal([]byte(c.json), &p), "%s", c.json)
		assert.Equal(t, codes(record.Validate(&p.Values)), c.want, "%s", c.json)
	}
}

// A transport may be written in Go as it may be in JSON.
func TestRecordValidateTakesEachSpelling(t *testing.T) {
	for _, transport := range []string{"http", "streamable_http", "streamable-http", "streamableHttp", "Streamable_HTTP", "HTTP", "SSE", "Auto"} {
		r := &config.Server{Name: "a", Transport: transport, URL: "https://h"}
		assert.OK(t, record.Validate(r), "%s", transport)
	}
	r := &config.Server{Name: "a", Transport: "STDIO"}
	assert.Equal(t, codes(record.Validate(r)), "stdio_command_required command")
}

func TestRecordDecodeIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a", "comand": "x"}`:          "field_unknown comand",
		`{"name": "a", "Command": "x"}`:         "field_unknown Command",
		`{"name": 1}`:                           "value_invalid name",
		`{"enabled": "yes"}`:                    "value_invalid enabled",
		`{"args": "x"}`:                         "value_invalid args",
		`{"args": [1]}`:                         "value_invalid args",
		`{"env": ["A"]}`:                        "value_invalid env",
		`{"readTimeoutSeconds": -1}`:            "value_invalid readTimeoutSeconds",
		`{"readTimeoutSeconds": 1e300}`:         "value_invalid readTimeoutSeconds",
		`{"readTimeoutSeconds": "canary"}`:      "value_invalid readTimeoutSeconds",
		`{"auth": {"clientSecretary": "x"}}`:    "value_invalid auth",
		`{"tools": []}`:                         "value_invalid tools",
		`{"isolation": {"mounts": ["canary"]}}`: "value_invalid isolation",
		`[]`:                                    "value_invalid",
		`{"name": "a"} canary`:                  "",
		`{"env": {"A": "canary"}, "env": {}}`:   "value_invalid",
	} {
		var p record.Patch
		err := p.UnmarshalJSON([]byte(text))
		assert.Lacks(t, fmt.Sprint(err), "canary", "%s: the error holds a value", text)
		if strings.HasSuffix(text, "canary") {
			want = "value_invalid"
		}
		assert.Equal(t, codes(err), want, "%s", text)
	}
}
