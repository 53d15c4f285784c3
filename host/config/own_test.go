// Tests of key.go, auth.go, route.go, isolation.go and limits.go: the keys of our own.

package config

import (
	"fmt"
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
		{local + `"identity": "header"`, "identity: a server of the type stdio has no headers: write user for a process or connection of each user, or shared"},
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
		{local + `"limits": {"maxTool": 1}`, `limits.maxTool: unknown key: write "maxTools", "maxInFlight", "maxQueued", "maxMessageBytes" or "maxArgumentBytes"`},
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

// TestProjectFilesSayLess: a file that another person wrote must not vouch for itself.
func TestProjectFilesSayLess(t *testing.T) {
	const in = `{"mcpServers": {"s": {"command": "x", "trust": true, "builtin": true}}}`
	for scope, believed := range map[Scope]bool{ScopeProject: false, ScopeRC: false, "other": false, ScopeUser: true, ScopeProgram: true} {
		c := assert.Value(Parse(t.Context(), "f", []byte(in), &Options{Scope: scope}))(t)
		s := c.Servers[0]
		assert.Equal(t, [...]bool{s.Trust, s.Builtin}, [...]bool{believed, believed})
		assert.Equal(t, len(c.Warnings) != 2, believed, "it is believed without a warning")
		assert.Equal(t, s.Source.Scope, scope)
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
		s := c.Servers[1]
		assert.Equal(t, s.Source.Scope, want, "%s", scope)
		assert.False(t, s.Trust, "%s: trust", scope)
		assert.Equal(t, s.Args[0], "${keyring:a}", "%s", scope)
		for _, i := range []int{0, 2} {
			s := c.Servers[i]
			assert.True(t, s.Source.Scope == scope && (scope == ScopeProject || s.Trust && s.Args[0] == "found"),
				"%s: %s with the scope %q, trust %t and %v is as in any file", scope, s.Name, s.Source.Scope, s.Trust, s.Args)
		}
		assert.Fails(t, c.Servers[3].Err, "%s", scope)
		full := assert.Value(c.Servers[1].Answered(t.Context()))(t)
		assert.Equal(t, full.Args[0], "found", "%s", scope)
		assert.False(t, full.Trust, "%s: trust", scope)
		assert.Equal(t, full.Source.Scope, want, "%s", scope)
	}
}

func TestEnvFile(t *testing.T) {
	//report: Config files | langchain-ai/langchain-mcp-adapters#437 | variables come from a file with quotes, comments, `export` and CRLF | they are read as shells mean them; `env` wins
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
		"bad.env":  "line 2 of the file of variables is not NAME=value, or has a quote that is not closed: values stand on one line",
		"open.env": "line 1 of the file of variables is not NAME=value, or has a quote that is not closed: values stand on one line",
		"no.env":   "cannot read the file of variables: no such file or directory",
	} {
		s := read(`"envFile": "` + file + `"`)
		assert.Fails(t, s.Err, "%s", file)
		assert.True(t, strings.HasSuffix(s.Err.Error(), "mcpServers.s.envFile: "+want), "%s", file)
	}
}

// What an entry says of quarantine and ledger is read, and a project's file can only make
// it stricter.
func TestLedgerOfAnEntry(t *testing.T) {
	for _, c := range []struct {
		name, keys  string
		scope       Scope
		quarantined bool
		ledger      string
		warning     bool
		fault       string
	}{
		{"mcpproxy", `"quarantined": true`, ScopeUser, true, "", false, ""},
		{"nothing", `"quarantined": false`, ScopeUser, false, "", false, ""},
		{"trust", `"ledger": "trust"`, ScopeUser, false, ledgerTrust, false, ""},
		{"pin", `"ledger": "pin"`, ScopeUser, false, ledgerPin, false, ""},
		{"review", `"ledger": "review"`, ScopeUser, false, ledgerReview, false, ""},
		{"unknown", `"ledger": "none"`, ScopeUser, false, "", false, "write trust, pin or review"},
		{"project: quarantine", `"quarantined": true`, ScopeProject, true, "", false, ""},
		{"project: review", `"ledger": "review"`, ScopeProject, false, ledgerReview, false, ""},
		{"project: pin", `"ledger": "pin"`, ScopeProject, false, "", true, ""},
		{"project: trust", `"ledger": "trust"`, ScopeProject, false, "", true, ""},
	} {
		all := assert.Value(Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"s": {"command": "x", `+c.keys+`}}}`), &Options{Scope: c.scope}))(t)
		s := all.Servers[0]
		assert.Equal(t, [...]any{s.Quarantined, s.Ledger}, [...]any{c.quarantined, c.ledger}, "%s", c.name)
		assert.Equal(t, len(s.Warnings) > 0, c.warning, "%s: a warning", c.name)
		assert.True(t, (s.Err == nil) == (c.fault == "") && strings.Contains(fmt.Sprint(s.Err), c.fault), "%s: the error %v has %q", c.name, s.Err, c.fault)
	}
}

// What other programs say of logins counts, and what we say beside it.
func TestOAuthOfOthers(t *testing.T) {
	lookup := func(name string) (string, bool) { return "s3cret", name == "SECRET" }
	for _, c := range []struct {
		file, entry string
		want        *Auth
		warning     string // "" for none
	}{
		//report: Config files | anthropics/claude-code#83679, anthropics/claude-code#55067 | a block for Claude Code names scopes and the port to come back to, and no client | both are heeded: a client is registered with that port, and asks for these scopes alone
		{".mcp.json", `"oauth":{"scopes":"mcp:read","callbackPort":8207}`, &Auth{Scopes: []string{"mcp:read"}, RedirectURL: "http://localhost:8207/callback"}, ""},
		{"mcp.json", `"oauth":{"clientId":"c","callbackPort":8080,"scopes":"a b"}`, &Auth{ClientID: "c", RedirectURL: "http://localhost:8080/callback", Scopes: []string{"a", "b"}}, ""},
		//report: Config files | mastra-ai/mastra#19467 | the block that Slack gives to users of Claude Code has a client without a secret, and a port | the login begins as that client, and comes back to that port; no issuer has to be named
		{".mcp.json", `"oauth":{"clientId":"1601185624273.8899143856786","callbackPort":3118}`, &Auth{ClientID: "1601185624273.8899143856786", RedirectURL: "http://localhost:3118/callback"}, ""},
		{".mcp.json", `"oauth":{"clientId":"c"}`, &Auth{ClientID: "c", RedirectURL: "http://localhost/callback"}, ""},
		//report: Config files | Claude Code https://zuplo.com/learn/mcp/compatibility/clients/claude-code.md | an entry of Claude Code names the address of the metadata, so that nothing else is looked up | the issuer in that address is the only one that is taken; an address that has none is ignored with a warning
		{".mcp.json", `"oauth":{"authServerMetadataUrl":"https://as/.well-known/oauth-authorization-server/t"}`, &Auth{Issuer: "https://as/t"}, ""},
		{".mcp.json", `"oauth":{"authServerMetadataUrl":"https://as/t/.well-known/openid-configuration"}`, &Auth{Issuer: "https://as/t"}, ""},
		{".mcp.json", `"oauth":{"authServerMetadataUrl":"https://as/metadata.json"}`, nil, `a.oauth.authServerMetadataUrl: is ignored, as it does not say whose metadata it is: write the "issuer" that stands in it`},
		{".gemini/settings.json", `"oauth":{"enabled":true,"clientId":"c","clientSecret":"${SECRET}","scopes":["a"],"redirectUri":"http://localhost:7777/x","authorizationUrl":"https://x/a","tokenUrl":"https://x/t","registrationUrl":"https://x/r","audiences":["d","e"]}`,
			&Auth{ClientID: "c", ClientSecret: "s3cret", Scopes: []string{"a"}, RedirectURL: "http://localhost:7777/x", AuthorizationURL: "https://x/a", TokenURL: "https://x/t", RegistrationURL: "https://x/r", LoginParams: map[string]string{"audience": "d e"}},
			`a.oauth: "registrationUrl" has no effect beside "clientId"`},
		//report: Config files | Gemini CLI redirect URIs https://docs.zuora.com/zuora-ai/zuora-mcp-server/zuora-mcp-server/configure-zuora-remote-mcp-server/redirect-uris-by-mcp-client, microsoft/vscode#278512 | a client is registered with the address at which its program listens, which the file does not name | the browser comes back to that address: of Claude Code, Cursor, VS Code, Gemini CLI, OpenCode and Codex
		{".gemini/settings.json", `"oauth":{"clientId":"c"}`, &Auth{ClientID: "c", RedirectURL: "http://localhost:7777/oauth/callback"}, ""},
		{".gemini/settings.json", `"oauth":{"enabled":false}`, &Auth{Off: true}, ""},
		{".gemini/settings.json", `"oauth":{"tokenParamName":"t"}`, nil, "a.oauth.tokenParamName: unknown key, which is ignored"},
		{".gemini/settings.json", `"authProviderType":"google_credentials"`, nil, `a.authProviderType: is not supported and ignored: get a token by another program, and put it in "headers", with ${file:path} or ${VAR}`},
		{".cursor/mcp.json", `"auth":{"CLIENT_ID":"c","CLIENT_SECRET":"${SECRET}","scopes":["a"]}`, &Auth{ClientID: "c", ClientSecret: "s3cret", Scopes: []string{"a"}, RedirectURL: "http://localhost:8787/callback"}, ""},
		{".cursor/mcp.json", `"auth":{"clientId":"c"}`, &Auth{ClientID: "c"}, ""},
		{"mcp.json", `"oauth":{"client_id":"c"}`, &Auth{ClientID: "c"}, ""},
		//report: Config files | OpenAI Codex https://www.developersdigest.tech/mcp-servers/clients/openai-codex-cli | Codex has a callback_url without a port, and a callback_port | the browser comes back to the address with that port
		{"mcp.json", `"oauth":{"client_id":"c","callback_url":"http://127.0.0.1/callback","callback_port":9}`, &Auth{ClientID: "c", RedirectURL: "http://127.0.0.1:9/callback"}, ""},
		{"mcp.json", `"oauth":{"clientId":"c","redirectUri":"http://127.0.0.1/x","callbackPort":9}`, &Auth{ClientID: "c", RedirectURL: "http://127.0.0.1:9/x"}, ""},
		{"mcp.json", `"oauth":{"redirectUri":"http://127.0.0.1:8/x","callbackPort":9}`, &Auth{RedirectURL: "http://127.0.0.1:8/x"}, `a.oauth: "callbackPort" has no effect beside the URL that the browser comes back to`},
		{"mcp.json", `"oauth":{"clientId":"c","scopes":"a"},"auth":{"clientId":"ours","issuer":"https://as"}`, &Auth{ClientID: "ours", Issuer: "https://as", Scopes: []string{"a"}}, `a.auth: "clientId" in it counts, and not that of "oauth": remove one of them`},
		//report: Config files | microsoft/vscode#308648, microsoft/vscode#257415 | oauth has a client id alone, and what else the provider needs has no key there | "auth" beside it adds the rest, and both count
		{"mcp.json", `"oauth":{"clientId":"c","callbackPort":3118},"auth":{"issuer":"https://as"}`, &Auth{ClientID: "c", Issuer: "https://as", RedirectURL: "http://localhost:3118/callback"}, ""},
		{"mcp.json", `"oauth":true`, nil, ""},
		//report: Config files | OpenCode https://opencode.ai/docs/mcp-servers/ | OpenCode has "oauth": false for a server that wants a key and no login | no login begins there, and the error says that the entry switches logins off
		{"mcp.json", `"oauth":false`, &Auth{Off: true}, ""},
		{"mcp.json", `"oauth":false,"auth":{"clientId":"c"}`, &Auth{Off: true, ClientID: "c"}, "a.auth: has no effect: logins are switched off beside it"},
		{"mcp.json", `"oauth":{"clientId":"c"},"headers":{"authorization":"Bearer x"}`, &Auth{ClientID: "c"}, "a.oauth: has no effect: its entry has an Authorization header of its own, which is sent instead: remove that to log in"},
	} {
		data := []byte(`{"mcpServers":{"a":{"url":"https://x/",` + c.entry + `}}}`)
		all := assert.Value(Parse(t.Context(), c.file, data, &Options{Lookup: lookup}))(t)
		s := all.Servers[0]
		assert.OK(t, s.Err, "%s", c.entry)
		assert.Equal(t, fmt.Sprintf("%+v", s.Auth), fmt.Sprintf("%+v", c.want), "%s: what is read", c.entry)
		assert.Equal(t, strings.Contains(c.entry, `"oauth"`), s.Extra["oauth"] != nil, "%s: it stays in Extra", c.entry)
		got := ""
		for _, w := range all.Warnings {
			_, got, _ = strings.Cut(w.Error(), "mcpServers.")
		}
		assert.Equal(t, got, c.warning, "%s: the warning", c.entry)
	}
	c := assert.Value(Parse(t.Context(), "mcp.json", []byte(`{"mcpServers":{"a":{"url":"https://x/","oauth":{"clientId":"c","callbackPort":0}},"b":{"command":"c","oauth":{"clientId":"c"}}}}`), nil))(t)
	assert.Fails(t, c.Servers[0].Err)
	assert.Equal(t, c.Warnings[0].Error(), "mcp.json:1:102: mcpServers.b.oauth: has no effect: it is a local process")
	// A record does not say it twice: it stays in Extra.
	c = assert.Value(Parse(t.Context(), "mcp.json", []byte(`{"mcpServers":{"a":{"url":"https://x/","oauth":{"clientId":"c"}}}}`), &Options{AsWritten: true}))(t)
	assert.True(t, c.Servers[0].Auth == nil, "c.Servers[0].Auth == nil")
	assert.True(t, c.Servers[0].Extra["oauth"] != nil)
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
		c := assert.Value(Parse(t.Context(), "f.json", []byte(`{"mcpServers":{"s":{"url":"https://a.example",`+keys+`}}}`), nil))(t)
		assert.Contains(t, fmt.Sprint(c.Servers[0].Err), want, "%s", keys)
	}
}
