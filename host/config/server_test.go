// Tests of server.go, fingerprint.go, server_mask.go and secret.go: what a server says of itself.

package config

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func one(t *testing.T, entry string) *Server {
	t.Helper()
	return assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"s": `+entry+`}}`), &Options{Lookup: lookup}))(t).Servers[0]
}

func TestHash(t *testing.T) {
	const local = `"command": "x", "args": ["1", "2"], "env": {"A": "1", "B": "2"}, "cwd": "/w"`
	const remote = `"url": "https://a", "headers": {"A": "1", "B": "2"}`
	base := one(t, "{"+local+"}").Hash()
	assert.Equal(t, len(base), 64)
	for _, same := range []string{
		`{"cwd": "/w", "env": {"B": "2", "A": "${NO:-1}"}, "args": ["1", "2"], "command": "x"}`,
		"{ // a comment\n" + local + ", }",
		`{` + local + `, "enabled": true, "disabled": false, "type": "stdio", "trust": false, "timeout": 0, "alwaysAllow": ["a"]}`,
	} {
		assert.Equal(t, one(t, same).Hash(), base, "%s", same)
	}
	seen := map[string]string{base: "{" + local + "}"}
	for _, other := range []string{
		`{"command": "y", "args": ["1", "2"], "env": {"A": "1", "B": "2"}, "cwd": "/w"}`,
		`{"command": "x", "args": ["12"], "env": {"A": "1", "B": "2"}, "cwd": "/w"}`,
		`{"command": "x", "args": ["2", "1"], "env": {"A": "1", "B": "2"}, "cwd": "/w"}`,
		`{"command": "x", "args": ["1", "2"], "env": {"A": "1", "B": "3"}, "cwd": "/w"}`,
		`{"command": "x", "args": ["1", "2"], "env": {"A": "1"}, "cwd": "/w"}`,
		`{"command": "x", "args": ["1", "2"], "env": {"A": "1", "B": "2"}, "cwd": "/v"}`,
		`{` + local + `, "enabled": false}`,
		`{` + local + `, "required": true}`,
		`{` + local + `, "lazy": true}`,
		`{` + local + `, "trust": true}`,
		`{` + local + `, "description": "d"}`,
		`{` + local + `, "readTimeoutSeconds": 1}`,
		`{` + local + `, "connectTimeoutSeconds": 1}`,
		`{` + local + `, "tools": {"allow": []}}`,
		`{` + local + `, "tools": {"allow": ["a"]}}`,
		`{` + local + `, "tools": {"deny": ["a"]}}`,
		`{` + local + `, "tools": {"rename": {"a": "b"}}}`,
		`{` + local + `, "oauth": {"a": 1}}`,
		`{` + local + `, "oauth": {"a": 2}}`,
		`{` + local + `, "idleTimeoutSeconds": 1}`,
		`{` + local + `, "builtin": true}`,
		`{` + local + `, "quarantined": true}`,
		`{` + local + `, "ledger": "review"}`,
		`{` + local + `, "identity": "user"}`,
		`{` + local + `, "limits": {"maxTools": 1}}`,
		`{` + local + `, "limits": {"maxInFlight": 1}}`,
		`{` + local + `, "limits": {"maxQueued": 1}}`,
		`{` + local + `, "limits": {"maxMessageBytes": 1}}`,
		`{` + local + `, "limits": {"maxArgumentBytes": 1}}`,
		`{` + local + `, "isolation": {"kind": "none"}}`,
		`{` + local + `, "isolation": {"kind": "landlock"}}`,
		`{` + local + `, "isolation": {"kind": "landlock", "network": true}}`,
		`{` + local + `, "isolation": {"kind": "landlock", "mounts": ["/a"]}}`,
		`{` + local + `, "isolation": {"kind": "landlock", "mounts": [{"path": "/a", "write": true}]}}`,
		`{` + local + `, "isolation": {"kind": "docker", "image": "a"}}`,
		`{` + local + `, "isolation": {"kind": "docker", "image": "b"}}`,
		`{` + local + `, "isolation": {"kind": "docker", "image": "b", "args": ["x"]}}`,
		`{` + remote + `, "auth": {}}`,
		`{` + remote + `, "auth": {"clientId": "a"}}`,
		`{` + remote + `, "auth": {"clientId": "a", "clientSecret": "b"}}`,
		`{` + remote + `, "auth": {"scopes": []}}`,
		`{` + remote + `, "auth": {"scopes": ["a"]}}`,
		`{` + remote + `, "auth": {"issuer": "https://a"}}`,
		`{` + remote + `, "auth": {"redirectUrl": "https://a"}}`,
		`{` + remote + `, "identity": "header"}`,
		`{` + remote + `, "identity": "header", "userHeader": "X"}`,
		`{` + local + `, "trust": 1}`, // has an Err
		`{` + remote + `}`,
		`{` + remote + `, "type": "sse"}`,
		`{"url": "https://b", "headers": {"A": "1", "B": "2"}}`,
		`{"url": "https://a", "headers": {"A": "1", "B": "3"}}`,
	} {
		hash := one(t, other).Hash()
		assert.Equal(t, seen[hash], "", "%s: another of this hash", other)
		seen[hash] = other
	}
	c := assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"s2": {`+local+`}}}`), nil))(t)
	assert.True(t, c.Servers[0].Hash() != base, "the name changes the hash")
}

// TestHashIsStable: the hash is the same in each run of each build.
func TestHashIsStable(t *testing.T) {
	s := one(t, `{"command": "x", "args": ["1"], "env": {"A": "1"}, "tools": {"deny": ["d"]}, "oauth": {}}`)
	assert.Equal(t, s.Hash(), "a1bab856a40f3dd3aa3c2656120065a295663a76978f48d13e99dea1cdea3698", "Hash =")
}

func TestServerString(t *testing.T) {
	for _, test := range []struct{ entry, want string }{
		{`{"command": "/opt/bin/x\u001b", "args": ["a", "b"], "env": {"B": "1", "A": "2"}}`, `s (stdio "x\x1b", 2 args, env A B) at f:1`},
		{`{"url": "https://a:8080/secret?secret", "headers": {"X-A": "1"}}`, `s (auto https://a:8080, headers X-A) at f:1`},
		{`{}`, `s () at f:1`},
	} {
		s := one(t, test.entry)
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "server", s)
		var line struct{ Server string }
		assert.OK(t, json.Unmarshal(log.Bytes(), &line))
		for _, got := range []string{s.String(), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", *s), line.Server} {
			assert.Equal(t, got, test.want)
		}
	}
}

func TestSecret(t *testing.T) {
	type holder struct {
		Token Secret
		Map   map[string]Secret
		List  []Secret
	}
	const text = "hunter2"
	h := holder{text, map[string]Secret{"k": text}, []Secret{text}}
	assert.Equal(t, h.Token.Reveal(), text, "Reveal =")
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%T %[1]v"} {
		fmt.Fprintf(&out, verb+"\n", h)
		fmt.Fprintf(&out, verb+"\n", &h)
		fmt.Fprintf(&out, verb+"\n", h.Token)
	}
	fmt.Fprintln(&out, h.Token.String(), h.Token.GoString(), h.Token.LogValue())
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("m", "one", h.Token, "all", h)
	}
	assert.Equal(t, string(assert.Value(json.Marshal(h))(t)), `{"Token":"[redacted]","Map":{"k":"[redacted]"},"List":["[redacted]"]}`)
	out.Write(assert.Value(xml.Marshal(h.Token))(t))
	assert.LacksAll(t, out.String(), text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text))
	assert.Contains(t, out.String(), "[redacted]")
}

// The fingerprint says which server an entry leads to, and nothing else.
func TestFingerprint(t *testing.T) {
	t.Setenv("TOKEN", "first")
	base := `{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","B":"${TOKEN}"}}`
	before := one(t, base).Fingerprint()
	assert.Equal(t, len(before), 64)
	t.Setenv("TOKEN", "second")
	for what, test := range map[string]struct {
		entry string
		same  bool
	}{
		"another value of a variable": {base, true},
		"another value in env":        {`{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"B":"2","A":"1"}}`, true},
		"timeouts, trust, tools":      {`{"trust":true,"timeout":5000,"description":"d","tools":{"deny":["x"]},` + base[1:], true},
		"another command":             {`{"command":"npm","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","B":""}}`, false},
		"other arguments":             {`{"command":"npx","args":["-y"],"cwd":"/a","env":{"A":"1","B":""}}`, false},
		"joined arguments":            {`{"command":"npx","args":["-y${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","B":""}}`, false},
		"another folder":              {`{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/b","env":{"A":"1","B":""}}`, false},
		"another isolation":           {`{"isolation":{"kind":"landlock"},` + base[1:], false},
		"another identity":            {`{"identity":"user",` + base[1:], false},
		"the same identity":           {`{"identity":"shared",` + base[1:], true},
		"a file of variables":         {`{"envFile":"x",` + base[1:], false},
		"limits":                      {`{"limits":{"maxTools":1},` + base[1:], true},
		"another name in env":         {`{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","C":""}}`, false},
	} {
		same := one(t, test.entry).Fingerprint() == before
		assert.Equal(t, same, test.same, "%s", what)
	}

	remote := one(t, `{"url":"https://example.com/mcp","headers":{"X-Key":"1"}}`).Fingerprint()
	for what, test := range map[string]struct {
		entry string
		same  bool
	}{
		"another spelling of a header": {`{"url":"https://example.com/mcp","headers":{"x-key":"2"}}`, true},
		"another address":              {`{"url":"https://example.com/mcp2","headers":{"X-Key":"1"}}`, false},
		"another header":               {`{"url":"https://example.com/mcp","headers":{"X-Other":"1"}}`, false},
		"another transport":            {`{"url":"https://example.com/mcp","type":"sse","headers":{"X-Key":"1"}}`, false},
	} {
		same := one(t, test.entry).Fingerprint() == remote
		assert.Equal(t, same, test.same, "%s", what)
	}
	boxes := map[string]string{}
	for _, box := range []string{
		`{"kind":"docker","image":"a"}`, `{"kind":"docker","image":"b"}`, `{"kind":"docker","image":"a","network":true}`,
		`{"kind":"docker","image":"a","args":["b"]}`, `{"kind":"docker","image":"a","mounts":["b"]}`,
		`{"kind":"docker","image":"a","mounts":[{"path":"b"}]}`, `{"kind":"docker","image":"a","mounts":[{"path":"b","write":true}]}`,
	} {
		print := one(t, `{"command":"x","isolation":`+box+`}`).Fingerprint()
		assert.Equal(t, boxes[print], "", "%s: another of this fingerprint", box)
		boxes[print] = box
	}
	assert.Equal(t, one(t, `{"command":"x","isolation":{"image":"a","kind":"docker"}}`).Fingerprint(), one(t, `{"command":"x","isolation":{"kind":"docker","image":"a"}}`).Fingerprint())
	assert.Equal(t, (&Server{Name: "a"}).Fingerprint(), "", "a server of no file has the fingerprint")
}

// TestServerShowsWhatIsWritten: the JSON of a server and the errors about it hold nothing
// that a reference to a secret stands for, however short it is and wherever it stands.
func TestServerShowsWhatIsWritten(t *testing.T) {
	const secret = "pw 7!" // neither its look nor its place says what it is
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "key"), []byte(secret+"\n"), 0o600))
	assert.OK(t, os.WriteFile(filepath.Join(dir, "part"), []byte("pw7x"), 0o600))
	const text = `{"mcpServers":{
		"argument":{"command":"x","args":["login","${file:key}","${API_TOKEN}","plain","${MODE}"]},
		"default":{"command":"x","args":["${UNSET_KEY:-pw 7!}","${MODE:-slow}"]},
		"container":{"command":"x","isolation":{"kind":"docker","image":"i","args":["--label=${file:key}"]}},
		"value":{"command":"x","env":{"HOOK":"https://h.example/${file:part}","MODE":"${MODE}"}},
		"path":{"url":"https://h.example/s/${file:part}/mcp"},
		"header":{"url":"https://h.example/mcp","headers":{"X-Hook":"https://h.example/${file:part}"}}}}`
	values := map[string]string{"API_TOKEN": "pw 8!", "MODE": "fast"}
	c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(text), &Options{Lookup: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}}))(t)
	for i, want := range []string{
		`"args":["login","${file:key}","${API_TOKEN}","plain","${MODE}"]`,
		`"args":["${UNSET_KEY:-****}","${MODE:-slow}"]`,
		`"args":["--label=${file:key}"]`,
		`"env":{"HOOK":"https://h.example/${file:part}","MODE":"${MODE}"}`,
		`"url":"https://h.example/s/${file:part}/mcp"`,
		`"headers":{"X-Hook":"https://h.example/${file:part}"}`,
	} {
		s := c.Servers[i]
		assert.OK(t, s.Err)
		data := assert.Value(json.Marshal(s))(t)
		assert.Contains(t, string(data), want, "%s", s.Name)
		failed := fmt.Errorf("cannot use %s of %v", s.URL, s.Args)
		for what, got := range map[string]string{"JSON": string(data), "error": s.MaskError(failed)} {
			for _, hidden := range []string{secret, "pw7x", "pw 8!"} {
				assert.True(t, !strings.Contains(got, hidden) || s.Name == "default" && what == "error", "%s, %s: no secret is in %s", s.Name, what, got)
			}
		}
	}
	assert.Equal(t, fmt.Sprintf("%q", c.Servers[0].Secrets()), fmt.Sprintf("%q", []string{"pw%207%21", "pw%208%21", "pw+7%21", "pw+8%21", secret, "pw 8!"}))
	if got := c.Servers[3].MaskError(errors.New("in mode fast")); got != "in mode ****" { // all values of variables are
		t.Errorf("got %s, want the value of a variable masked", got)
	}
}

// TestSecretsSpareTheHost: what a host is called is in every error about it.
func TestSecretsSpareTheHost(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "host"), []byte("h.example"), 0o600))
	c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers":{"a":{"url":"https://${file:host}/mcp"}}}`), nil))(t)
	assert.Equal(t, len(c.Servers[0].Secrets()), 0)
	assert.Equal(t, len((&Server{URL: "https://h.example"}).Secrets()), 0, "made by hand")
}

// TestWritten: values are as they stand in the file, whatever references stand for.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "vars"), []byte("A=${FILE}\nB=file"), 0o600))
	const text = `{"mcpServers":{
		"local":{"command":"x","envFile":"vars","env":{"B":"${V}","C":"c","D":"x${V:-d}"}},
		"remote":{"url":"https://a.example","headers":{"H":"Bearer ${env:V}","I":"i"},"auth":{"clientId":"a","clientSecret":"${V}"}}}}`
	c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(text), &Options{Lookup: func(name string) (string, bool) { return "value", name == "V" }}))(t)
	for i, want := range []string{
		"map[A:${FILE} B:${V} C:c D:x${V:-d}] map[] ",
		"map[] map[H:Bearer ${env:V} I:i] ${V}",
	} {
		env, headers, clientSecret := c.Servers[i].written()
		assert.Equal(t, fmt.Sprint(plainly(env), plainly(headers), " ", clientSecret.Reveal()), want, "server %d", i)
	}
	made := &Server{Env: map[string]Secret{"A": "1"}}
	env, _, _ := made.written()
	assert.Equal(t, env["A"].Reveal(), "1", "made by hand")
}

func plainly(values map[string]Secret) map[string]string {
	plain := map[string]string{}
	for name, value := range values {
		plain[name] = value.Reveal()
	}
	return plain
}
