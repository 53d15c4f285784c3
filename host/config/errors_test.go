// Tests of error.go, entry.go and config.go: faults of files and entries, and their bounds.

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// TestFileErrors has the faults that make a whole file useless.
func TestFileErrors(t *testing.T) {
	//report: Config files | anthropics/claude-code#55966 | a file is said to be no valid JSON, and not where | the error has the line, the column and what was expected there
	for _, test := range []struct{ in, want string }{
		{"[]", `f.json:1:1: the file must hold an object such as {"mcpServers": {}}, not an array`},
		{"{}", `f.json:1:1: the file has no "mcpServers" object: put the servers in {"mcpServers": {}}`},
		{`{"a": 1, "mcpServer": {}}`, `f.json:1:10: mcpServer: the file has no "mcpServers": rename this key to it`},
		{`{"mcpservers": {}}`, `f.json:1:2: mcpservers: the file has no "mcpServers": rename this key to it`},
		{`{"mcp_servers": {}}`, `f.json:1:2: mcp_servers: the file has no "mcpServers": rename this key to it`},
		{`{"mcpServers": null}`, `f.json:1:16: mcpServers: must be an object with one member per server, such as {"files": {"command": "npx"}}, not null`},
		{"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"a\": {\"command\": \"y\"}\n}}", `f.json:3:3: mcpServers.a: duplicate key, first on line 2: remove one`},
		{"{\"mcpServers\": {\n  \"a\": {\"env\": {\"T\": \"1\", \"T\": \"2\"}}}}", `f.json:2:27: mcpServers.a.env.T: duplicate key, first on line 2: remove one`},
		{"{\"mcpServers\": {\n  \"a\": {\"command\" \"x\"}}}", `f.json:2:19: mcpServers.a.command: expected ':' after the key, found '"'`},
		{"{\"mcpServers\": {", `f.json:1:16: mcpServers: the object is not closed: add }`},
		{"{\"mcpServers\": {}}\n}", `f.json:2:1: unexpected '}' after the end of the document: remove it`},
	} {
		_, err := Parse(t.Context(), "f.json", []byte(test.in), nil)
		if err == nil || err.Error() != test.want {
			t.Errorf("Parse(t.Context(), %q):\n got %v\nwant %s", test.in, err, test.want)
			continue
		}
		typed := assert.As[*Error](t, err, "%q", test.in)
		assert.Equal(t, typed.File, "f.json", "%q", test.in)
		assert.True(t, typed.Line != 0, "%q: it has a line", test.in)
	}
}

// TestEntryErrors has the faults that put one server out of use. Each entry
// stands on line 2, behind `"s": `, that is from column 6 on.
func TestEntryErrors(t *testing.T) {
	//report: Config files | anthropics/claude-code#39039, affaan-m/ECC#1003, aaronsb/obsidian-mcp-plugin#124 | one entry that cannot be used takes all others with it, or is skipped without a word | the others are used, and the error names file, line, column and key, and the cure
	long := strings.Repeat("x", 200)
	for _, test := range []struct{ in, want string }{
		{`"npx"`, `2:6: mcpServers.s: must be an object such as {"command": "npx", "args": []}, not a string`},
		{`null`, `2:6: mcpServers.s: must be an object such as {"command": "npx", "args": []}, not null`},
		{`{}`, `2:1: mcpServers.s: has neither "command" nor "url": add "command" for a local server or "url" for a remote one`},
		{`{"command": null}`, `2:1: mcpServers.s: has neither "command" nor "url": add "command" for a local server or "url" for a remote one`},
		{`{"agrs": []}`, `2:1: mcpServers.s: has neither "command" nor "url": add "command" for a local server or "url" for a remote one`},
		{`{"command": "x", "url": "https://a"}`, `2:23: mcpServers.s.url: the entry has "command" too: remove one of them`},
		{`{"url": "https://a", "serverUrl": "https://a"}`, `2:27: mcpServers.s.serverUrl: the entry has "url" too: remove one of them`},
		{`{"command": ""}`, `2:18: mcpServers.s.command: is empty: write the program to run`},
		{`{"command": " ${EMPTY} "}`, `2:18: mcpServers.s.command: is empty: write the program to run`},
		{`{"command": ["npx"]}`, `2:18: mcpServers.s.command: must be a string, not an array`},
		{`{"command": "a\u0000b"}`, `2:18: mcpServers.s.command: holds a NUL byte: remove it`},
		{`{"command": "x", "args": "-y"}`, `2:31: mcpServers.s.args: must be an array, not a string: put it in [ ]`},
		{`{"command": "x", "args": ["-p", 8080]}`, `2:38: mcpServers.s.args[1]: must be a string, not a number: put it in double quotes`},
		{`{"command": "x", "env": ["A=1"]}`, `2:30: mcpServers.s.env: must be an object, not an array`},
		{`{"command": "x", "env": {"PORT": 80}}`, `2:39: mcpServers.s.env.PORT: must be a string, not a number: put it in double quotes`},
		{`{"command": "x", "env": {"A=B": "1"}}`, `2:31: mcpServers.s.env."A=B": is not the name of a variable: it is empty or holds = or a control character`},
		{`{"command": "x", "env": {"": "1"}}`, `2:31: mcpServers.s.env."": is not the name of a variable: it is empty or holds = or a control character`},
		{`{"command": "x", "env": {"A\nB": "1"}}`, `2:31: mcpServers.s.env."A\nB": is not the name of a variable: it is empty or holds = or a control character`},
		{`{"command": "x", "env": {"A\u007f": "1"}}`, `2:31: mcpServers.s.env."A\x7f": is not the name of a variable: it is empty or holds = or a control character`},
		{`{"command": "x", "env": {"A": "${NUL}"}}`, `2:36: mcpServers.s.env.A: holds a NUL byte: remove it`},
		{`{"command": "x", "cwd": 1}`, `2:30: mcpServers.s.cwd: must be a string, not a number: put it in double quotes`},
		{`{"command": "x", "type": "http"}`, `2:7: mcpServers.s.command: the transport http has no command: use "url", or the type "stdio"`},
		{`{"url": "https://a", "type": "stdio"}`, `2:7: mcpServers.s.url: the transport stdio has no URL: use "command", or the type "http"`},
		{`{"url": "https://a", "type": "websocket"}`, `2:35: mcpServers.s.type: unknown transport: write stdio, http, streamable-http, sse, auto or unix`},
		{`{"url": "https://a", "type": "http", "transport": "sse"}`, `2:43: mcpServers.s.transport: differs from "type": remove one of them`},
		{`{"url": "https://a", "transport": {"type": "http"}}`, `2:40: mcpServers.s.transport: must be a string, not an object`},
		{`{"httpUrl": "https://a", "type": "sse"}`, `2:7: mcpServers.s.httpUrl: is for the type "http" but the type is "sse": use "url"`},
		{`{"url": ""}`, `2:14: mcpServers.s.url: is empty: write the server's http or https URL`},
		{`{"url": "ftp://a/b"}`, `2:14: mcpServers.s.url: must start with https:// or http://`},
		{`{"url": "localhost:80"}`, `2:14: mcpServers.s.url: must start with https:// or http://`},
		{`{"url": "127.0.0.1:80/mcp"}`, `2:14: mcpServers.s.url: must start with https:// or http://`},
		{`{"url": "https://"}`, `2:14: mcpServers.s.url: has no host: write it as https://host/path`},
		{`{"url": "https://:443/x"}`, `2:14: mcpServers.s.url: has no host: write it as https://host/path`},
		{`{"url": "https://me:hunter2@a/"}`, `2:14: mcpServers.s.url: has a user name in it: put the credentials in "headers", as Authorization`},
		{`{"url": "https://a:hunter2/"}`, `2:14: mcpServers.s.url: is not a URL: write it as https://host/path`},
		{`{"url": "https://a/${LINES}"}`, `2:14: mcpServers.s.url: holds a space, a line break or a control character: remove it or write it as %XX`},
		{`{"url": "https://a", "headers": {"X Y": "1"}}`, `2:39: mcpServers.s.headers."X Y": is not the name of a header: use letters, digits and -`},
		{`{"url": "https://a", "headers": {"": "1"}}`, `2:39: mcpServers.s.headers."": is not the name of a header: use letters, digits and -`},
		{`{"url": "https://a", "headers": {"X": "${LINES}"}}`, `2:44: mcpServers.s.headers.X: holds a line break or a control character: remove it from the value or its variable`},
		{`{"url": "https://a", "headers": {"X": "a\u0000"}}`, `2:44: mcpServers.s.headers.X: holds a line break or a control character: remove it from the value or its variable`},
		{`{"url": "https://a", "headers": {"x-a": "1", "X-A": "2"}}`, `2:51: mcpServers.s.headers.X-A: is the same header as x-a: remove one of them`},
		{`{"url": "https://a", "headers": {"X": true}}`, `2:44: mcpServers.s.headers.X: must be a string, not a boolean: put it in double quotes`},
		{`{"url": "https://a", "headers": "X: 1"}`, `2:38: mcpServers.s.headers: must be an object, not a string`},
		{`{"command": "x", "timeout": -1}`, `2:34: mcpServers.s.timeout: must not be negative: write 0 or leave it out for the default`},
		{`{"command": "x", "timeout": "5000"}`, `2:34: mcpServers.s.timeout: must be a number, not a string: remove the quotes`},
		{`{"command": "x", "readTimeoutSeconds": 1e400}`, `2:45: mcpServers.s.readTimeoutSeconds: is more than a year: write a smaller number`},
		{`{"command": "x", "connectTimeoutSeconds": 31536001}`, `2:48: mcpServers.s.connectTimeoutSeconds: is more than a year: write a smaller number`},
		{`{"command": "x", "trust": "true"}`, `2:32: mcpServers.s.trust: must be a boolean, not a string: remove the quotes`},
		{`{"command": "x", "enabled": true, "disabled": true}`, `2:40: mcpServers.s.disabled: says the opposite of "enabled": remove one of them`},
		{`{"command": "x", "description": 5}`, `2:38: mcpServers.s.description: must be a string, not a number: put it in double quotes`},
		{`{"command": "x", "tools": [1]}`, `2:33: mcpServers.s.tools[0]: must be a string, not a number: put it in double quotes`},
		{`{"command": "x", "tools": "*"}`, `2:32: mcpServers.s.tools: must be an object, not a string`},
		{`{"command": "x", "tools": {"denny": ["a"]}}`, `2:33: mcpServers.s.tools.denny: unknown key: write "allow", "deny", "rename" or "skipOutputCheck"`},
		{`{"command": "x", "tools": {"deny": "a"}}`, `2:41: mcpServers.s.tools.deny: must be an array, not a string: put it in [ ]`},
		{`{"command": "x", "tools": {"rename": {"a": "b c"}}}`, `2:49: mcpServers.s.tools.rename.a: is not a name for a tool: use 1 to 128 characters of A-Z, a-z, 0-9, ., _ and -`},
		{`{"command": "x", "tools": {"rename": {"a": ""}}}`, `2:49: mcpServers.s.tools.rename.a: is not a name for a tool: use 1 to 128 characters of A-Z, a-z, 0-9, ., _ and -`},
		{`{"command": "x", "tools": {"rename": {"a": "` + long + `"}}}`, `2:49: mcpServers.s.tools.rename.a: is not a name for a tool: use 1 to 128 characters of A-Z, a-z, 0-9, ., _ and -`},
		{`{"command": "x", "tools": {"rename": {"a": "c", "b": "c"}}}`, `2:59: mcpServers.s.tools.rename.b: is the new name of a too: choose another`},
		{`{"command": "x", "includeTools": [1]}`, `2:40: mcpServers.s.includeTools[0]: must be a string, not a number: put it in double quotes`},
		{`{"command": "x", "args": ["${MISSING}"]}`, `2:32: mcpServers.s.args[0]: the variable MISSING is not set: set it or write ${MISSING:-default}`},
	} {
		in := "{\"mcpServers\": {\n\"s\": " + test.in + ",\n\"good\": {\"command\": \"x\"}}}"
		c, err := Parse(t.Context(), "f.json", []byte(in), &Options{Lookup: lookup})
		assert.OK(t, err, "%.80s: the whole file failed", test.in)
		assert.Equal(t, fmt.Sprint(c.Servers[0].Err), "f.json:"+test.want, "%.80s", test.in)
		good := c.Servers[1]
		assert.Equal(t, [...]any{len(c.Servers), good.Name, good.Err, !good.Disabled}, [...]any{2, "good", nil, true}, "%.80s: the good server", test.in)
	}
}

func TestSeveralFaultsInFileOrder(t *testing.T) {
	c := assert.Value(Parse(t.Context(), "f.json", []byte(`{"mcpServers": {"s": {
		"timeout": -1,
		"env": {"A": 1, "B": 2},
		"command": "${NO}"}}}`), &Options{Lookup: lookup}))(t)
	const want = `f.json:2:14: mcpServers.s.timeout: must not be negative: write 0 or leave it out for the default
f.json:3:16: mcpServers.s.env.A: must be a string, not a number: put it in double quotes
f.json:3:24: mcpServers.s.env.B: must be a string, not a number: put it in double quotes
f.json:4:14: mcpServers.s.command: the variable NO is not set: set it or write ${NO:-default}`
	assert.Equal(t, fmt.Sprint(c.Servers[0].Err), want)
	assert.Equal(t, assert.As[*UnsetVariableError](t, c.Servers[0].Err).Name, "NO")
	assert.Equal(t, assert.As[*Error](t, c.Servers[0].Err).Key, "mcpServers.s.timeout")
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`"command": "x", "header": {}`, `header: unknown key: did you mean "headers"?`},
		{`"comand": "x", "command": "x"`, `comand: unknown key: did you mean "command"?`},
		{`"command": "x", "agrs": []`, `agrs: unknown key: did you mean "args"?`},
		{`"command": "x", "cmd": "x"`, `cmd: unknown key: did you mean "command"?`},
		{`"command": "x", "Env": {}`, `Env: unknown key: did you mean "env"?`},
		{`"command": "x", "disabled_tools": []`, `disabled_tools: unknown key: did you mean "disabledTools"?`},
		{`"command": "x", "read_timeout_seconds": 1`, `read_timeout_seconds: unknown key: did you mean "readTimeoutSeconds"?`},
		{`"command": "x", "discription": ""`, `discription: unknown key: did you mean "description"?`},
		{`"url": "https://a", "envFile": ".env"`, `envFile: has no effect on a remote server`},
		{`"command": "x", "auth": {}`, `auth: has no effect on a local server`},
		{`"url": "https://a", "isolation": {"kind": "docker"}`, `isolation: has no effect on a remote server`},
		{`"url": "https://a", "userHeader": "X"`, `userHeader: has no effect without "identity": "header"`},
		{`"url": "https://a", "auth": {"clientID": "x", "use_pkce": false}`, `auth.clientID: unknown key, which is ignored: did you mean "clientId"?
auth.use_pkce: is ignored: PKCE is always used`},
		{`"url": "https://a", "headersHelper": "x"`, `headersHelper: headersHelper is not supported and ignored: put the headers in "headers", with ${file:path} or ${VAR}`},
		{`"command": "x", "headers": {"A": "1"}`, `headers: has no effect on a local server`},
		{`"url": "https://a", "env": {"A": "1"}`, `env: has no effect on a remote server`},
		{`"command": "npx -y thing"`, `command: has spaces but is run as one program, not by a shell: put the words after the first in "args"`},
		{`"command": "x", "timeout": 999`, `timeout: is in milliseconds; less than 1000 is ignored: write "readTimeoutSeconds"`},
		{`"cmd": 1, "command": "x", "headers": {"A": "1"}, "timeout": 1`, `cmd: unknown key: did you mean "command"?
headers: has no effect on a local server
timeout: is in milliseconds; less than 1000 is ignored: write "readTimeoutSeconds"`},
		// No mistakes:
		{`"command": "C:\\Program Files\\x.exe"`, ""},
		{`"command": "x", "timeout": 1000`, ""},
		{`"command": "x", "name": "n", "icon": "i", "note": "", "id": 1, "host": "h", "version": 1`, ""},
		{`"command": "x", "auth": null, "oauth": {}, "limits": {}`, ""},
		{`"command": "x", "alwaysAllow": ["a"], "autoApprove": true`, ""},
		{`"command": "x", "commend": null`, ""},
		{`"url": "https://a", "env": {}, "args": [], "cwd": ""`, ""},
	} {
		c, err := Parse(t.Context(), "f", []byte(`{"mcpServers": {"s": {`+test.in+`}}}`), nil)
		assert.OK(t, err, "%s", test.in)
		assert.OK(t, c.Servers[0].Err, "%s", test.in)
		var got []string
		for _, w := range c.Warnings {
			got = append(got, strings.TrimPrefix(w.Key, "mcpServers.s.")+": "+w.Err.Error())
			assert.Equal(t, [...]any{w.File, w.Line}, [...]any{"f", 1}, "%s", test.in)
			assert.True(t, w.Column >= 23, "%s: it stands in the entry", test.in)
		}
		assert.Equal(t, strings.Join(got, "\n"), test.want, "%s", test.in)
	}
}

// TestManyKeys: hints are for people, who do not misspell a thousand keys.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&keys, `"%dcwd": 1, `, i%10+i*100)
	}
	c := assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"s": {`+keys.String()+`"command": "x", "comand": 1}}}`), nil))(t)
	assert.Equal(t, len(c.Servers[0].Extra), 1001)
	assert.True(t, len(c.Warnings) <= 100, "there are few warnings")
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no.json")
	_, err := Load(t.Context(), missing, nil)
	assert.Is(t, err, fs.ErrNotExist)
	assert.Fails(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), missing+": cannot read the config file: "))
	assert.Equal(t, strings.Count(err.Error(), missing), 1)

	assert.Contains(t, fmt.Sprint(assert.Err(Load(t.Context(), t.TempDir(), nil))), "cannot read the config file: ")

	big := filepath.Join(t.TempDir(), "big.json")
	f := assert.Value(os.Create(big))(t)
	assert.OK(t, errors.Join(f.Truncate(jsonc.MaxSize+1), f.Close()))
	_, err = Load(t.Context(), big, nil)
	want := big + ":1:1: the file has 16777217 bytes, more than the limit of 16777216"
	assert.Equal(t, fmt.Sprint(err), want)
}

// TestNoLeaks breaks things around secrets and looks for them in all texts.
func TestNoLeaks(t *testing.T) {
	secrets := map[string]string{"A": "hunter2-env", "B": "hunter2-line\nhunter2", "C": "hunter2:// x"}
	look := func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }
	in := `{"mcpServers": {"s": {
		"command": "${A}", "args": ["${A}", "--key=hunter2", "hunter2${", "hunter2$word", "${hunter2!}"],
		"env": {"X": "hunter2$Ab9", "Y": "${NOT:?hunter2}", "Z": "pa$HUNTER2", "W": "${A}"},
		"headers": {"H": "${B}", "I": "hunter2\u0007", "J": "${A}"}
	}, "t": {"url": "${C}", "oauth": {"clientSecret": "hunter2"}}
	, "u": {"url": "https://hunter2:x@a"}, "v": {"url": "https://a:hunter2"}, "w": {"url": "https://a/hunter2?k=hunter2"}
	, "x": {"command": "x", "timeout": "hunter2", "type": "hunter2", "enabled": "hunter2"}}}`
	c, err := Parse(t.Context(), ".gemini/settings.json", []byte(in), &Options{Lookup: look}) // which replaces $VAR too
	assert.OK(t, err)
	var all strings.Builder
	for _, s := range c.Servers {
		fmt.Fprintln(&all, s.Err)
		if s.Name == "s" {
			s.Command = "npx" // the name of the program is shown
		}
		fmt.Fprintf(&all, "%v %+v %#v %s %q %d %v\n", s, s, s, s, s, s, *s)
		fmt.Fprintf(&all, "%v %+v %#v %s %x %q %v\n", s.Env, s.Env, s.Env, s.Env, s.Env, s.Headers, s.LogValue())
	}
	fmt.Fprintln(&all, c.Warnings)
	assert.Lacks(t, strings.ToLower(all.String()), "hunter2")
	assert.Equal(t, strings.Count(fmt.Sprint(c.Servers[0].Err), "\n"), 7, "line breaks in %v", c.Servers[0].Err)
}

// Warnings stand at the entries that they are about.
func TestWarningsOfAnEntry(t *testing.T) {
	c := assert.Value(Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {
		"a": {"command": "x"},
		"b": {"evn": {}, "command": "x", "userHeader": "X-User"}}, "input": []}`), nil))(t)
	assert.Equal(t, len(c.Servers[0].Warnings), 0, "a: warnings")
	var keys []string
	for _, w := range c.Servers[1].Warnings {
		assert.True(t, slices.Contains(c.Warnings, w), "%v is among those of the file", w)
		keys = append(keys, w.Key)
	}
	assert.Equal(t, fmt.Sprintf("%q", keys), `["mcpServers.b.evn" "mcpServers.b.userHeader"]`, "b")
}

// What a hostile file has a million of is told a hundred times, and looked up a
// thousand times.
func TestBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600))
	list := func(item string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, item, i)
		}
		return b.String()
	}
	looks := 0
	for name, test := range map[string]struct {
		text             string
		faults, warnings int
		says             string
	}{
		"faults":   {`{"mcpServers":{"a":{"command":"c","args":[` + list("%d,", 1000) + `]}}}`, maxFaults + 1, 0, "more faults than these 100"},
		"pairs":    {`{"mcpServers":{"a":{"command":"c","env":{` + list(`"A%d":"${NONE}",`, 1000) + `}}}}`, maxFaults + 1, 0, "more faults"},
		"warnings": {`{"mcpServers":{` + list(`"a%d":{"command":"c","cmd":1},`, 1000) + `}}`, 0, maxFaults + 1, "more warnings than these 100"},
		"files":    {`{"mcpServers":{"a":{"command":"c","args":[` + strings.Repeat(`"${file:f}",`, maxLooked+1) + `]}}}`, 1, 0, "use fewer"},
		"few":      {`{"mcpServers":{"a":{"command":"c","args":[` + strings.Repeat(`"${file:f}",`, maxLooked) + `]}}}`, 0, 0, ""},
		"keyring":  {`{"mcpServers":{"a":{"command":"c","args":[` + list(`"${keyring:k%d}",`, maxLooked+7) + `]}}}`, 7, 0, "use fewer"},
	} {
		looks = 0
		c, err := Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(test.text), &Options{
			Lookup: func(string) (string, bool) { return "", false }, Secrets: all{&looks}})
		assert.OK(t, err, "%s", name)
		var text strings.Builder
		faults := entryErrors(c.Servers[0].Err)
		for _, err := range append(faults, c.Warnings...) {
			text.WriteString(err.Error() + "\n")
		}
		assert.Equal(t, [...]int{len(faults), len(c.Warnings)}, [...]int{test.faults, test.warnings}, "%s", name)
		assert.Contains(t, text.String(), test.says, "%s", name)
		assert.True(t, looks <= maxLooked, "%s: the looks are bounded", name)
	}
}

// all has every secret.
type all struct{ looks *int }

func (a all) Secret(context.Context, string) (Secret, bool, error) {
	*a.looks++
	return "s", true, nil
}

func (a all) SetSecret(context.Context, string, Secret) error { return nil }

// entryErrors returns the errors that [Server.Err] joins.
func entryErrors(err error) []*Error {
	var all []*Error
	var one *Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			all = append(all, entryErrors(err)...)
		}
	} else if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}
