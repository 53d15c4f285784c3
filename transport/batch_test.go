package transport_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// On Windows cmd.exe reads the command line of a batch file: what it would not pass on
// as it stands is refused.
func TestCheckBatch(t *testing.T) {
	for _, test := range []struct {
		path string
		args []string
		want string // in the error; empty: none
	}{
		{path: `C:\node\node.exe`, args: []string{`a"&calc&"`, "%PATH%"}},
		{path: `C:\Windows\System32\MORE.COM`, args: []string{"a&b"}},
		{path: `tools\run`, args: []string{"a&b"}, want: `argument 1 has '&'`}, // .cmd is added later
		{path: `C:\x\run.cmd::$DATA`, args: []string{"a&b"}, want: `argument 1 has '&'`},
		{path: `C:\Program Files (x86)\nodejs\npx.cmd`, args: []string{"-y", "@scope/server-files@1.2.3", "--root=C:\\Users\\ann\\My Files", "", "https://example.com/mcp?a=b#c", "ü"}},
		{path: `C:\x\run.bat`, args: []string{"a b", "c\td", "a;b,c=d", "~$'*+/_[]{}`@"}},
		{path: `npx.cmd`, args: []string{"ok", `"`}, want: `argument 2 has '"'`},
		{path: `npx.cmd`, args: []string{"%PATH%"}, want: `argument 1 has '%'`},
		{path: `npx.cmd`, args: []string{"!PATH!"}, want: `argument 1 has '!'`},
		{path: `npx.cmd`, args: []string{"a&calc"}, want: `argument 1 has '&'`},
		{path: `npx.cmd`, args: []string{"a b&calc"}, want: `argument 1 has '&'`},
		{path: `npx.cmd`, args: []string{"a|b"}, want: `argument 1 has '|'`},
		{path: `npx.cmd`, args: []string{"a<b"}, want: `argument 1 has '<'`},
		{path: `npx.cmd`, args: []string{"a>b"}, want: `argument 1 has '>'`},
		{path: `npx.cmd`, args: []string{"server@^1.0"}, want: `argument 1 has '^'`},
		{path: `npx.cmd`, args: []string{"(a"}, want: `argument 1 has '('`},
		{path: `npx.cmd`, args: []string{"a)"}, want: `argument 1 has ')'`},
		{path: `npx.cmd`, args: []string{"a\nb"}, want: `argument 1 has '\n'`},
		{path: `npx.cmd`, args: []string{"a\rb"}, want: `argument 1 has '\r'`},
		{path: `npx.cmd`, args: []string{"a\x1ab"}, want: `argument 1 has '\x1a'`},
		{path: `NPX.CMD`, args: []string{"%A%"}, want: `argument 1 has '%'`},
		{path: `run.Bat`, args: []string{"%A%"}, want: `argument 1 has '%'`},
		{path: `run.bat. .`, args: []string{"%A%"}, want: `argument 1 has '%'`},
		{path: `C:\a&b\run.bat`, want: `the path has '&'`},
		{path: `C:\%A%\run.bat`, want: `the path has '%'`},
	} {
		if err := transport.CheckBatch(test.path, test.args); test.want == "" {
			assert.OK(t, err, "%s %q", test.path, test.args)
		} else if err == nil {
			t.Errorf("%s %q: got no error, want %s", test.path, test.args, test.want)
		} else {
			assert.Contains(t, err.Error(), test.want, "%s %q", test.path, test.args)
		}
	}
	// The error does not show the argument, which may be a secret.
	assert.Lacks(t, fmt.Sprint(transport.CheckBatch("npx.cmd", []string{"--token=s3cret%"})), "s3cret")
}
