package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// lookup is the environment of the tests.
func lookup(name string) (string, bool) {
	value, ok := map[string]string{
		"API_TOKEN": "tok-123",
		"DSN":       "postgres://u:p@db/$API_TOKEN", // must not be expanded again
		"EMPTY":     "",
		"LINES":     "one\r\ntwo",
		"NUL":       "a\x00b",
		"_x1":       "under",
	}[name]
	return value, ok
}

func TestExpand(t *testing.T) {
	//report: Config files | spences10/my-pi#149, agentscope-ai/QwenPaw#1623 | a variable is not set, and an empty text, or its name, is sent as a secret | the entry is not used, and the error names the place and the variable; `${VAR:-default}` has a default
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		assert.OK(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("one", "line\n")
	write("two", "line\n\n")
	write("crlf", "line\r\n")
	write("cr", "line\r")
	write("ref", "${API_TOKEN}")
	write("empty", "")
	absolute := write("abs", "content")
	write("limit", strings.Repeat("x", maxFile))
	write("big", strings.Repeat("x", maxFile+1))
	noFile := "no such file or directory"
	if runtime.GOOS == "windows" {
		noFile = "The system cannot find the file specified."
	}
	longName := strings.Repeat("N", dialect.MaxVariable+1)
	const (
		unknown = "unknown reference ${…}: write ${VAR}, ${VAR:-default}, ${env:VAR}, ${file:path}, ${input:id} or ${keyring:name}; a literal ${ is written as ${DOLLAR:-$}{"
		bare    = "a $VAR names a variable that is not set: set it or write ${VAR:-default}; a literal $ before a letter is written as ${DOLLAR:-$}"
		unset   = "the variable NO is not set: set it or write ${NO:-default}"
	)
	for _, test := range []struct{ in, want, err string }{
		{in: "", want: ""},
		{in: "plain", want: "plain"},
		{in: "${API_TOKEN}", want: "tok-123"},
		{in: "a${API_TOKEN}b$API_TOKEN", want: "atok-123btok-123"},
		{in: "$API_TOKEN.x", want: "tok-123.x"},
		{in: "$_x1-", want: "under-"},
		{in: "${env:API_TOKEN}", want: "tok-123"},
		{in: "${env:NO:-d}", want: "d"},
		{in: "${NO:-}", want: ""},
		{in: "${NO:-a b:-c$d}", want: "a b:-c$d"},
		{in: "${EMPTY}", want: ""},
		{in: "${EMPTY:-d}", want: ""}, // set, although empty, as in Claude Code
		{in: "${API_TOKEN:-d}", want: "tok-123"},
		// Never twice:
		{in: "${DSN}", want: "postgres://u:p@db/$API_TOKEN"},
		{in: "${file:ref}", want: "${API_TOKEN}"},
		{in: "${NO:-$}{API_TOKEN}", want: "${API_TOKEN}"},
		{in: "${NO:-$}API_TOKEN", want: "$API_TOKEN"},
		// Literal dollars:
		{in: "$", want: "$"},
		{in: "$$", want: "$$"},
		{in: "$$API_TOKEN", want: "$$API_TOKEN"},
		{in: "$$$API_TOKEN", want: "$$tok-123"},
		{in: "$5 and 100$", want: "$5 and 100$"},
		{in: "^a$|$-$é", want: "^a$|$-$é"},
		{in: "}{$}", want: "}{$}"},
		// Files:
		{in: "${file:one}!", want: "line!"},
		{in: "${file:two}!", want: "line\n!"},
		{in: "${file:crlf}!", want: "line!"},
		{in: "${file:cr}!", want: "line\r!"},
		{in: "${file:empty}!", want: "!"},
		{in: "${file:" + absolute + "}", want: "content"},
		{in: "${file:limit}", want: strings.Repeat("x", maxFile)},
		{in: "${file:big}", err: `cannot read the file "big" of ${file:path}: it has more than 1048576 bytes`},
		{in: "${file:no\n}", err: `cannot read the file "no\n" of ${file:path}: ` + noFile},
		{in: "${file:.}", err: `cannot read the file "." of ${file:path}: it is not a regular file`},
		{in: "${file:}", err: "${file:path} has no path or one longer than 4096 bytes"},
		{in: "${file:" + strings.Repeat("x", dialect.MaxPath+1) + "}", err: "${file:path} has no path or one longer than 4096 bytes"},
		// Faults:
		{in: "${NO}", err: unset},
		{in: "x${env:NO}", err: unset},
		{in: "$NO", err: unset},
		{in: "Bearer $NO/x", err: unset},
		{in: "pa$word", err: bare},
		{in: "pa$NO", err: bare},
		{in: "$NO!x", err: bare},
		{in: "$" + longName, err: bare},
		{in: "${" + longName + "}", err: unknown},
		{in: "${", err: "a ${ is not closed: add }"},
		{in: "a ${API_TOKEN", err: "a ${ is not closed: add }"},
		{in: "${NO:-${API_TOKEN}}", err: "a ${ inside of ${} is not supported: set one variable to the whole value"},
		{in: "${}", err: unknown},
		{in: "${ API_TOKEN}", err: unknown},
		{in: "${API_TOKEN-x}", err: unknown},
		{in: "${API_TOKEN:x}", err: unknown},
		{in: "${5}", err: unknown},
		{in: "${command:x}", err: unknown},
		{in: "${input:id}", err: "the input id is not described by the file: add it to its \"inputs\", or set an environment variable and write ${env:VAR}"},
		{in: "${keyring:x}", err: "nothing answers ${keyring:name}: give Options.Secrets, such as keyringstore.Secrets, or write ${VAR} or ${file:path}"},
	} {
		p := &parser{dir: dir, opts: &Options{Lookup: lookup}, dialect: &dialect.Dialect{}, write: &dialect.Writing{}}
		x := &expander{entry: &entry{reading: p.reading(t.Context())}}
		got, err := x.expand(test.in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		assert.Equal(t, got, test.want, "%.60q", test.in)
		assert.Equal(t, text, test.err, "%.60q: error", test.in)
	}
}

// TestExpandBudget: small references to big values must not fill the memory.
func TestExpandBudget(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", maxExpanded/2)
	opts := &Options{Lookup: func(string) (string, bool) { return big, true }}
	c := assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"a": {"command": "x", "args": ["${B}", "${B}", "${B}"]}, "b": {"command": "x"}}}`), opts))(t)
	const want = "f:1:64: mcpServers.a.args[2]: the references of this file yield more than 16777216 bytes: use smaller values"
	err := c.Servers[0].Err
	assert.Equal(t, fmt.Sprint(err), want)
	assert.Equal(t, len(c.Servers[0].Args[1]), len(big), "what fits is refused")
	assert.OK(t, c.Servers[1].Err, "what fits is refused")
}

// TestExpandEverywhere: each field with references has them replaced, and no
// other.
func TestExpandEverywhere(t *testing.T) {
	//report: Config files | omnigent-ai/omnigent#4404, langchain-ai/deepagents#4681, openclaw/openclaw#71035, mastra-ai/mastra#18177, agentscope-ai/QwenPaw#1629, esengine/DeepSeek-Reasonix#2233 | references to variables are replaced in headers, or in env, and sent as they stand elsewhere | `${VAR}` and `${env:VAR}` are replaced in command, args, cwd, env, URL and headers, and `$VAR` in files of programs that replace it
	t.Setenv("MCPBELT_TEST", "v") // with the default Lookup
	c := assert.Value(Parse(t.Context(), filepath.Join("sub", "settings.json"), []byte(`{"mcpServers": {
		"a": {"command": "${MCPBELT_TEST}", "args": ["$MCPBELT_TEST"], "cwd": "${MCPBELT_TEST}/w", "env": {"$MCPBELT_TEST": "${env:MCPBELT_TEST}"}, "description": "$MCPBELT_TEST"},
		"b": {"url": "http://${MCPBELT_TEST}/$MCPBELT_TEST", "headers": {"$MCPBELT_TEST": "${MCPBELT_TEST}"}, "x": "${MCPBELT_TEST}"}}}`), nil))(t)
	a, b := c.Servers[0], c.Servers[1]
	cwd := assert.Value(filepath.Abs(filepath.Join("sub", "v", "w")))(t)
	assert.OK(t, a.Err)
	assert.Equal(t, [...]string{a.Command, a.Args[0], a.Cwd}, [...]string{"v", "v", cwd})
	assert.Equal(t, a.Env["$MCPBELT_TEST"], "v")
	assert.Equal(t, a.Description, "$MCPBELT_TEST")
	assert.OK(t, b.Err)
	assert.Equal(t, b.URL, "http://v/v")
	assert.Equal(t, b.Headers["$MCPBELT_TEST"], "v")
	assert.Equal(t, string(b.Extra["x"]), `"${MCPBELT_TEST}"`)
}
