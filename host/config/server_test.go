package config

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func one(t *testing.T, entry string) *Server {
	t.Helper()
	c := assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"s": `+entry+`}}`), &Options{Lookup: lookup}))(t)
	return c.Servers[0]
}

func TestHash(t *testing.T) {
	const local = `"command": "x", "args": ["1", "2"], "env": {"A": "1", "B": "2"}, "cwd": "/w"`
	const remote = `"url": "https://a", "headers": {"A": "1", "B": "2"}`
	base := one(t, "{"+local+"}").Hash()
	if len(base) != 64 {
		t.Errorf("Hash = %q", base)
	}
	for _, same := range []string{
		`{"cwd": "/w", "env": {"B": "2", "A": "${NO:-1}"}, "args": ["1", "2"], "command": "x"}`,
		"{ // a comment\n" + local + ", }",
		`{` + local + `, "enabled": true, "disabled": false, "type": "stdio", "trust": false, "timeout": 0, "alwaysAllow": ["a"]}`,
	} {
		if got := one(t, same).Hash(); got != base {
			t.Errorf("%s: another hash", same)
		}
	}
	if one(t, `{"command":"x","tools":{"deny":["a","b"]}}`).Hash() != one(t, `{"command":"x","tools":{"deny":["b","a"]}}`).Hash() {
		t.Error("the order of denied tools changes the hash")
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
		if before, ok := seen[hash]; ok {
			t.Errorf("%s and %s have the same hash", other, before)
		}
		seen[hash] = other
	}
	c, err := Parse(t.Context(), "f", []byte(`{"mcpServers": {"s2": {`+local+`}}}`), nil)
	if err != nil || c.Servers[0].Hash() == base {
		t.Errorf("the name does not change the hash (%v)", err)
	}
}

// TestHashIsStable: the hash is the same in each run of each build.
func TestHashIsStable(t *testing.T) {
	s := one(t, `{"command": "x", "args": ["1"], "env": {"A": "1"}, "tools": {"deny": ["d"]}, "oauth": {}}`)
	const want = "9559d3a04e44a1a319174c4a7bd2d5bc4c7f2a143fc03cfb3cb64ee2355dbc7b"
	assert.Equal(t, s.Hash(), want, "Hash =")
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
	asJSON := assert.Value(json.Marshal(h))(t)
	if want := `{"Token":"[redacted]","Map":{"k":"[redacted]"},"List":["[redacted]"]}`; string(asJSON) != want {
		t.Errorf("JSON %s, want %s", asJSON, want)
	}
	asXML := assert.Value(xml.Marshal(h.Token))(t)
	out.Write(asXML)
	for _, leak := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%s leaked:\n%s", leak, out.String())
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("nothing was printed")
	}
}
