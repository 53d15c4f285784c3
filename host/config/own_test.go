package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestOwnKeyFaults has what is wrong in the sections of our own.
func TestOwnKeyFaults(t *testing.T) {
	const local, remote = `"command": "x", `, `"url": "https://a", `
	for _, test := range []struct{ in, want string }{
		{remote + `"auth": []`, "auth: must be an object, not an array"},
		{remote + `"auth": {"clientSecret": "x"}`, `auth: has a client secret without "clientId": add it`},
		{remote + `"auth": {"clientId": 1}`, "auth.clientId: must be a string, not a number: put it in double quotes"},
		{remote + `"auth": {"clientId": "a\nb"}`, "auth.clientId: holds a line break or a control character: remove it from the value or its variable"},
		{remote + `"auth": {"clientId": "${NOPE}"}`, "auth.clientId: the variable NOPE is not set: set it or write ${NOPE:-default}"},
		{remote + `"auth": {"scopes": ["a b"]}`, `auth.scopes: holds what cannot be a scope: use visible ASCII characters without space, " and \`},
		{remote + `"auth": {"issuer": "ftp://x"}`, "auth.issuer: must start with https:// or http://"},
		{remote + `"auth": {"redirectUrl": "http://example.com/x"}`, "auth.redirectUrl: must start with https://, unless it is on this machine: http://127.0.0.1:port/path"},
		{remote + `"auth": {"redirectUrl": "javascript:alert(1)"}`, "auth.redirectUrl: is not a URL to come back to: write it as https://host/path or http://127.0.0.1:port/path"},
		{remote + `"auth": {"redirectUrl": "app:/x"}`, "auth.redirectUrl: must start with https:// or with a scheme of the program's own that has a dot in it, such as com.example.app:/back"},
		{remote + `"identity": "me"`, "identity: unknown identity: write shared, user or header"},
		{local + `"identity": "header"`, "identity: a local server has no headers: write user for a process of each user, or shared"},
		{remote + `"identity": "header", "userHeader": "a b"`, "userHeader: is not the name of a header: use letters, digits and -"},
		{local + `"isolation": {}`, `isolation: has no "kind": write docker, landlock or none`},
		{local + `"isolation": {"kind": "Docker"}`, "isolation.kind: unknown kind of isolation: write docker, landlock or none"},
		{local + `"isolation": {"kind": "docker"}`, `isolation: has no "image" to run: add one, such as "node:22-slim"`},
		{local + `"isolation": {"kind": "docker", "image": "--privileged"}`, `isolation: has no "image" to run: add one, such as "node:22-slim"`},
		{local + `"isolation": {"kind": "landlock", "image": "a"}`, "isolation.image: is for the kind docker: remove it"},
		{local + `"isolation": {"kind": "landlock", "args": []}`, "isolation.args: is for the kind docker: remove it"},
		{local + `"isolation": {"kind": "none", "mounts": []}`, "isolation.mounts: is for the kinds docker and landlock: remove it"},
		{local + `"isolation": {"kind": "landlock", "netwrok": true}`, `isolation.netwrok: unknown key: write "kind", "image", "mounts", "network" or "args"`},
		{local + `"isolation": {"kind": "landlock", "mounts": [{"target": "x"}]}`, `isolation.mounts[0]: has no "path": write the folder of this machine
isolation.mounts[0].target: must be an absolute path in the container, such as /data`},
		{local + `"isolation": {"kind": "landlock", "mounts": [{"path": "/a", "writable": true}]}`, `isolation.mounts[0].writable: unknown key: write "path", "target" or "write"`},
		{local + `"limits": {"maxTool": 1}`, `limits.maxTool: unknown key: write "maxTools", "maxInFlight", "maxQueued" or "maxMessageBytes"`},
		{local + `"limits": {"maxTools": 1.5}`, "limits.maxTools: must be a whole number from -1 to 1048576"},
		{local + `"limits": {"maxTools": 1e999}`, "limits.maxTools: must be a whole number from -1 to 1048576"},
		{local + `"limits": {"maxQueued": -2}`, "limits.maxQueued: must be a whole number from -1 to 1048576"},
		{local + `"limits": {"maxMessageBytes": "1"}`, "limits.maxMessageBytes: must be a number, not a string: remove the quotes"},
		{local + `"builtin": 1`, "builtin: must be a boolean, not a number"},
		{local + `"idleTimeoutSeconds": -1`, "idleTimeoutSeconds: must not be negative: write 0 or leave it out for the default"},
	} {
		s := one(t, "{"+test.in+"}")
		got := ""
		if s.Err != nil {
			got = strings.ReplaceAll(s.Err.Error(), "mcpServers.s.", "")
			var lines []string
			for line := range strings.SplitSeq(got, "\n") {
				_, line, _ = strings.Cut(line, ": ")
				lines = append(lines, line)
			}
			got = strings.Join(lines, "\n")
		}
		assert.Equal(t, got, test.want, "%s", test.in)
	}
}

// TestProjectFilesSayLess: a file that somebody else wrote must not vouch for itself.
func TestProjectFilesSayLess(t *testing.T) {
	const in = `{"mcpServers": {"s": {"command": "x", "trust": true, "builtin": true}}}`
	for scope, believed := range map[Scope]bool{ScopeProject: false, ScopeRC: false, "other": false, ScopeUser: true, ScopeProgram: true} {
		c := assert.Value(Parse(t.Context(), "f", []byte(in), &Options{Scope: scope}))(t)
		s := c.Servers[0]
		if s.Trust != believed || s.Builtin != believed || len(c.Warnings) != 2 == !believed || s.Source.Scope != scope {
			t.Errorf("scope %q: trust %v, builtin %v, warnings %v", scope, s.Trust, s.Builtin, c.Warnings)
		}
	}
}

// An entry that was proposed needs approval alone, and nobody is asked for its sake before.
func TestProposed(t *testing.T) {
	const in = `{"mcpServers": {
		"before": {"command": "x", "trust": true, "args": ["${keyring:a}"]},
		"new": {"command": "x", "trust": true, "args": ["${keyring:a}"], "proposed": true},
		"after": {"command": "x", "trust": true, "args": ["${keyring:a}"], "proposed": false},
		"odd": {"command": "x", "proposed": "no"}}}`
	for scope, want := range map[Scope]Scope{ScopeUser: ScopeProposed, ScopeProgram: ScopeProposed, ScopeProject: ScopeProject} {
		secrets := NewSecrets()
		assert.OK(t, secrets.SetSecret(t.Context(), "a", "found"))
		c := assert.Value(Parse(t.Context(), "f", []byte(in), &Options{Scope: scope, Secrets: secrets}))(t)
		if s := c.Servers[1]; s.Source.Scope != want || s.Trust || s.Args[0] != "${keyring:a}" {
			t.Errorf("%s: got the scope %q, trust %t and %v, want %q, no trust and the reference", scope, s.Source.Scope, s.Trust, s.Args, want)
		}
		for _, i := range []int{0, 2} {
			if s := c.Servers[i]; s.Source.Scope != scope || scope != ScopeProject && (!s.Trust || s.Args[0] != "found") {
				t.Errorf("%s: got %s with the scope %q, trust %t and %v, want it as in any file", scope, s.Name, s.Source.Scope, s.Trust, s.Args)
			}
		}
		if c.Servers[3].Err == nil {
			t.Errorf("%s: got no error of a word in the place of true, want one", scope)
		}
		full := assert.Value(c.Servers[1].Answered(t.Context()))(t)
		if full.Args[0] != "found" || full.Trust || full.Source.Scope != want {
			t.Errorf("%s: got %v, trust %t and the scope %q after the approval, want the secret, no trust and %q", scope, full.Args, full.Trust, full.Source.Scope, want)
		}
	}
}

func TestEnvFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(".env", "\ufeff# comment\r\nA=1\r\nexport B = two # tail\nC=\"x\\ny # no\\\"\\q\" # yes\nD='$A\\n'\nE=\nF.G-h=a=b\nH=$A#b\n\nENV=file\n")
	write("bad.env", "A=1\nsecret-without-name\n")
	write("open.env", "A=\"secret\n")
	read := func(entry string) *Server {
		t.Helper()
		c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers": {"s": {"command": "x", `+entry+`}}}`), nil))(t)
		return c.Servers[0]
	}
	s := read(`"envFile": "${workspaceFolder}/.env", "env": {"ENV": "entry"}`)
	want := map[string]Secret{"A": "1", "B": "two", "C": "x\ny # no\"\\q", "D": `$A\n`, "E": "", "F.G-h": "a=b", "H": "$A#b", "ENV": "entry"}
	if s.Err != nil || !reflect.DeepEqual(s.Env, want) {
		for name, value := range s.Env {
			t.Logf("%s=%q", name, value.Reveal())
		}
		t.Errorf("env differs; %v", s.Err)
	}
	for file, want := range map[string]string{
		"bad.env":  "line 2 of the file of variables is not NAME=value",
		"open.env": "line 1 of the file of variables has a quote that is not closed: values stand on one line",
		"no.env":   "cannot read the file of variables: no such file or directory",
	} {
		s := read(`"envFile": "` + file + `"`)
		if s.Err == nil || !strings.HasSuffix(s.Err.Error(), "mcpServers.s.envFile: "+want) {
			t.Errorf("%s: %v", file, s.Err)
		}
	}
}
