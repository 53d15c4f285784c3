package mask_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMask(t *testing.T) {
	const secret = "sk-0123456789abcd"
	cases := [][2]string{
		{"", ""}, {"a", "****"}, {"hunter22", "****"}, {"hunter222", "hu****r222"}, {secret, "sk-****abcd"},
		{"ab-defghijkl", "ab-****ijkl"}, {"пароль-длинный", "па****нный"}, {"пароль12", "****"},
		{"\xff\xfe2345678", "****"}, {"ab\xff\xfe345678", "ab****5678"},

		{"Bearer " + secret, "Bearer sk-****abcd"}, {"bearer  " + secret, "bearer  sk-****abcd"},
		{"Basic dXNlcjpwYXNz", "Basic dX****YXNz"}, {"Bearer ${TOKEN}", "Bearer ${TOKEN}"},
		{"Bearer x", "Bearer ****"}, {"correct horse battery", "co****tery"},

		{"${TOKEN}", "${TOKEN}"},
		{"${env:TOKEN}", "${env:TOKEN}"},
		{"${input:key}", "${input:key}"},
		{"${keyring:work/github}", "${keyring:work/github}"},
		{"${file:/run/secrets/key}", "${file:/run/secrets/key}"},
		{"${A}${B}", "${A}${B}"},
		{"${USER}:${PASS}", "${USER}:${PASS}"},
		{"${TOKEN:-" + secret + "}", "${TOKEN:-sk-****abcd}"},
		{"${env:TOKEN:-secret}", "${env:TOKEN:-****}"},
		{"$TOKEN", "$TOKEN"}, {"$ecretPassword", "$e****word"}, {"$", "****"},
		{"${not closed, secret", "${****cret"}, {"${!secret!}", "${****et!}"}, {"${input:a\nsecret}", "${****ret}"},
		{"prefix-" + secret + "${A}", "pr****abcd${A}"},
		{"${A}short", "${A}****"},

		{"https://example.com/mcp", "https://example.com/mcp"},
		{"https://me:pw@example.com/", "https://****:****@example.com/"},
		{"https://0123456789abcd@example.com/", "https://01****abcd@example.com/"},
		{"https://h/?key=" + secret + "&n=1", "https://h/?key=sk-****abcd&n=1"},
		{"https://h/?%6bey=short&n=1", "https://h/?%6bey=****&n=1"},
		{"https://h/?x=abcdefghij0123456789", "https://h/?x=ab****6789"},
		{"https://h/?abcdefghij0123456789", "https://h/?ab****6789"},
		{"https://h/s/abcdefghij0123456789/mcp", "https://h/s/ab****6789/mcp"},
		{"https://h/s/6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0/mcp", "https://h/s/6f****e1f0/mcp"},
		{"https://h/#access_token=abc", "https://h/#access_token=****"},
		{"https://h/@scope/package", "https://h/@scope/package"},
		{"https://u:p/w@h/", "https://****:****@h/"},
		{"postgres://u:12/x?y#z@db:5432/main?sslmode=off", "postgres://****:****@db:5432/main?sslmode=off"},
		{"https://${HOST}:${PORT}/${KEY}?key=${KEY}", "https://${HOST}:${PORT}/${KEY}?key=${KEY}"},
		{"https://not a url " + secret, "ht****abcd"},
		{"://secret-secret", ":/****cret"},
	}
	for _, c := range cases {
		got := mask.String(c[0])
		assert.Equal(t, got, c[1], "Mask(%q) =", c[0])
		assert.True(t, utf8.ValidString(got), "%q, made of %q, is UTF-8", got, c[0])
	}
}

func TestMaskArgs(t *testing.T) {
	const secret = "sk-0123456789abcd"
	github := "ghp_" + strings.Repeat("a1", 18)
	cases := [][2][]string{
		{nil, nil},
		{{"-y", "@scope/server", "/home/me"}, {"-y", "@scope/server", "/home/me"}},
		{{"--token", secret}, {"--token", "sk-****abcd"}},
		{{"--api-key", "short", "--apiKey", "x", "-api_key", "y"}, {"--api-key", "****", "--apiKey", "****", "-api_key", "****"}},
		{{"--token=" + secret}, {"--token=sk-****abcd"}},
		{{"--auth", "--token", secret}, {"--auth", "****", "sk-****abcd"}},
		{{"--key-file", "/etc/key", "--author", "me"}, {"--key-file", "/etc/key", "--author", "me"}},
		{{"--token=a", secret + "z"}, {"--token=****", secret + "z"}},
		{{"-e", "GITHUB_TOKEN", "-e", "MODE=production"}, {"-e", "GITHUB_TOKEN", "-e", "MODE=pr****tion"}},
		{{"--env=MODE=production"}, {"--env=MODE=pr****tion"}},
		{{"--header", "X-Api-Key: " + secret}, {"--header", "X-Api-Key: sk-****abcd"}},
		{{"--header", "Authorization:${AUTH}"}, {"--header", "Authorization:${AUTH}"}},
		{{"--header=Authorization:Bearer " + secret}, {"--header=Authorization:Bearer sk-****abcd"}},
		{{"-H", secret}, {"-H", "sk-****abcd"}},
		{{"-u", "me:password1"}, {"-u", "me:pa****ord1"}},
		{{"API_KEY=" + secret, "LEVEL=high"}, {"API_KEY=sk-****abcd", "LEVEL=high"}},
		{{"Authorization: Bearer " + secret}, {"Authorization: Bearer sk-****abcd"}},
		{{"https://h/?key=" + secret}, {"https://h/?key=sk-****abcd"}},
		{{"--url=https://a:b@h/"}, {"--url=https://****:****@h/"}},
		{{"push " + github}, {"push [redacted: GitHub token]"}},
		{{"abcdefghij0123456789"}, {"ab****6789"}},
		{{"image@sha256:" + strings.Repeat("a1", 32)}, {"image@sha256:" + strings.Repeat("a1", 32)}},
		{{"--config", `{"apiKey":"` + secret + `","n":12345678901234567890,"list":[{"token":1}]}`},
			{"--config", `{"apiKey":"sk-****abcd","list":[{"token":"****"}],"n":12345678901234567890}`}},
		{{`{"apiKey":"` + secret}, {`{"apiKey":"` + secret}},
	}
	for _, c := range cases {
		assert.Equal(t, fmt.Sprintf("%q", mask.Args(c[0])), fmt.Sprintf("%q", c[1]))
	}
}

// Any text can be cut, and nothing of it is lost.
func TestCutURL(t *testing.T) {
	for _, s := range []string{"", "://", "a", "host/path?query#fragment", "https://h:1/p?q=a#f", "postgres://u:p@h/d"} {
		u := mask.CutURL(s)
		got := u.Scheme + u.User + map[bool]string{true: "@"}[u.HasUser] + u.Host + u.Path + u.Query + u.Fragment
		assert.Equal(t, got, s)
	}
}

// What is long and of beginnings only is masked as fast as anything else.
func TestMaskOfHostileText(t *testing.T) {
	size := assert.Cases(8<<10, 256<<10)
	for _, part := range []string{"${", "$", "$A", "${A:-", "://", "@", "?a=", "/", "Bearer ", "{", "[", `{"a":`, "-", "ghp_"} {
		s := strings.Repeat(part, size/len(part))
		mask.String(s)
		mask.String("https://" + s)
		mask.Args([]string{s, "--x=" + s})
	}
}

func FuzzMask(f *testing.F) {
	f.Add("Bearer ${A:-b}", "https://u:p@h/?key=v#f")
	f.Fuzz(func(t *testing.T, secret, around string) {
		got := mask.String(secret)
		assert.True(t, utf8.ValidString(got) || !utf8.ValidString(secret), "%q, made of %q, is UTF-8", got, secret)
		assert.Equal(t, len(mask.Args([]string{secret, around})), 2)
	})
}
