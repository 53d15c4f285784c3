package consent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		want string
		l    consent.Launch
	}{
		{`/usr/bin/npx -y notes`, consent.Launch{Path: "/usr/bin/npx", Args: []string{"-y", "notes"}}},
		{`cd /p && KEY='${KEY}' NODE_OPTIONS='--require ./x' TOKEN='****' /usr/bin/npx`, consent.Launch{Path: "/usr/bin/npx", Dir: "/p",
			Env: []string{"KEY=${KEY}", "NODE_OPTIONS=--require ./x", "TOKEN=tok-01234"}}},
		{"/bin/x\n# server notes\n# identity: each user\n# tools: only read",
			consent.Launch{Server: "notes", Path: "/bin/x", Identity: "each user", Tools: "only read"}},
		{"/bin/x\n# server notes\n# tools accepted: 1 by \"ann\"", consent.Launch{Server: "notes", Path: "/bin/x", Accepted: `1 by "ann"`}},
		{`connect by http to https://a.example/, with the tools accepted '1 by "ann"'`, consent.Launch{Transport: "http", URL: "https://a.example/", Accepted: `1 by "ann"`}},
		{`/bin/echo '' 'a b' 'it'\''s' '$HOME' ';rm' '#x' '*'`, consent.Launch{Path: "/bin/echo", Args: []string{"", "a b", "it's", "$HOME", ";rm", "#x", "*"}}},
		{`/bin/echo $'a\nb' $'\x1b[2K' $'\xe2\x80\xae' $'\xff' $'\xe2\x80\x8b' $'\xf3\xa0\x81\x81' $'\xc2\xa0'`, consent.Launch{Path: "/bin/echo", Args: []string{"a\nb", "\x1b[2K", "\u202e", "\xff", "\u200b", "\U000e0041", "\u00a0"}}},
		{`/bin/echo 'größe 日本'`, consent.Launch{Path: "/bin/echo", Args: []string{"größe 日本"}}},
		{`/bin/echo $'it\'s\\\x00'`, consent.Launch{Path: "/bin/echo", Args: []string{"it's\\\x00"}}},
		{`MODE=v env 'a b=' '1=2' /bin/x`, consent.Launch{Path: "/bin/x", Env: []string{"MODE=v", "a b", "1=2"}}},
		{"'if'\n# confined by docker, image \"x\"", consent.Launch{Path: "if", Isolation: `docker, image "x"`}},
		{"cd /p && /bin/x\n# reads env.K: ${keyring:k}\n# $'reads env.L: ${file:\\xe2\\x80\\xae}'",
			consent.Launch{Path: "/bin/x", Dir: "/p", References: []string{"env.K: ${keyring:k}", "env.L: ${file:\u202e}"}}},
		{`connect by http to https://a.example/, which reads 'headers.X: ${env:KEY}'`,
			consent.Launch{Transport: "http", URL: "https://a.example/", References: []string{"headers.X: ${env:KEY}"}}},
		{`cd -- -p && /bin/x`, consent.Launch{Path: "/bin/x", Dir: "-p"}},
		{`connect by http to 'https://example.com/mcp?key=a&b=c', with the headers 'Authorization: Bearer ${T}' 'X-Key: ****', with the login 'issuer "x"'`,
			consent.Launch{Transport: "http", URL: "https://example.com/mcp?key=a&b=c", Headers: []string{"Authorization: Bearer ${T}", "X-Key: k"},
				Login: `issuer "x"`}},
		{`connect server notes by http to https://a.example/, with the client's secret '****', with the identity 'each user', with the tools 'not "x"'`,
			consent.Launch{Server: "notes", Transport: "http", URL: "https://a.example/", ClientSecret: "${A:-secret}", Identity: "each user", Tools: `not "x"`}},
		{`connect by http to https://a.example/, with the client's secret '${A}'`, consent.Launch{Transport: "http", URL: "https://a.example/", ClientSecret: "${A}"}},
		{`connect by http to $'https://\xd0\xb0pple.com/'`, consent.Launch{Transport: "http", URL: "https://аpple.com/"}},
	} {
		assert.Equal(t, c.l.String(), c.want, "shown")
	}
}

// Nothing is cut, however long it is.
func TestStringIsWhole(t *testing.T) {
	l := consent.Launch{Path: "/bin/sh", Args: []string{"-c", strings.Repeat(" ", 1<<20) + "evil"}}
	assert.True(t, strings.HasSuffix(l.String(), " evil'"), "the end is shown")
	assert.True(t, len(l.String()) >= 1<<20, "all is shown")
}

// What a shell makes of the text is what would be started.
func TestStringCanBePasted(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	dir := filepath.Join(t.TempDir(), "it's a $dir\x1b\u202e")
	assert.OK(t, os.Mkdir(dir, 0o700))
	printf, err := exec.LookPath("printf")
	if err != nil {
		t.Skip("there is no printf")
	}
	for _, arg := range hostileTexts() {
		l := consent.Launch{Path: printf, Args: []string{"%s|", arg, "end"}, Dir: dir, Env: []string{"LC_ALL=C"}, Isolation: arg}
		assert.Equal(t, string(assert.Value(exec.Command(bash, "-c", l.String()).Output())(t)), arg+"|end|")
	}
}

func hostileTexts() []string {
	return []string{
		"", " ", "'", `"`, `\`, "\\'", "$(id)", "`id`", "!!", "~", "-n", "a\nb", "\r", "\t", "\x1b]0;x\x07", "\x7f", "\u0085", "\u202eabc\u202c",
		"\u200b", "\ufeff", "\U000e0061", "\xff\xfe", "\xc3", "é", "日本", "\ufffd", "a\u0301", "{a,b}", "*", "=x", "\u2028", "\x1b5", "\xe2\x80", "\u00adf0",
	}
}

func FuzzString(f *testing.F) {
	for _, text := range hostileTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range []consent.Launch{
			{Path: text, Args: []string{text}, Dir: text, Env: []string{text, "A=" + text}, Isolation: text, Server: text, Identity: text, Tools: text},
			{Transport: text, URL: "https://" + text, Headers: []string{text, "A: " + text}, Login: text, ClientSecret: text, Server: text, Identity: text, Tools: text},
		} {
			shown := strings.Split(l.String(), "\n")
			for at, line := range shown {
				if comment := strings.HasPrefix(line, "# "); comment != (at > 0) {
					t.Fatalf("%q: line %d of %q", text, at, shown)
				}
			}
			for _, r := range strings.Join(shown, "") {
				if r != ' ' && !unicode.IsPrint(r) || r == 0x2800 || unicode.Is(unicode.Variation_Selector, r) {
					t.Fatalf("%q shows %U", text, r)
				}
			}
		}
	})
}
