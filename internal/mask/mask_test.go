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
		{"", ""}, {"a", "****"}, {"hunter22", "****"}, {"hunter222", "****"}, {"fifteen letters", "****"}, {"sixteen letters!", "****ers!"}, {secret, "****abcd"},
		{"ab-defghijklmnopqrstuvwxyz01", "ab-****yz01"}, {"ab-defghijklmnopqrstuvwxyz0", "ab****xyz0"}, {"пароль-длинный-и", "****ый-и"}, {"пароль12", "****"},
		{"\xff\xfe2345678", "****"}, {"ab\xff\xfe345678", "****"},

		{"Bearer " + secret, "Bearer ****abcd"}, {"bearer  " + secret, "bearer  ****abcd"},
		{"Basic dXNlcjpwYXNz", "Basic ****"}, {"Bearer ${TOKEN}", "Bearer ${TOKEN}"},
		{"Bearer x", "Bearer ****"}, {"correct horse battery", "c****tery"},

		{"${TOKEN}", "${TOKEN}"},
		{"${env:TOKEN}", "${env:TOKEN}"},
		{"${input:key}", "${input:key}"},
		{"${keyring:work/github}", "${keyring:work/github}"},
		{"${file:/run/secrets/key}", "${file:/run/secrets/key}"},
		{"${A}${B}", "${A}${B}"},
		{"${USER}:${PASS}", "${USER}:${PASS}"},
		{"${TOKEN:-" + secret + "}", "${TOKEN:-****abcd}"},
		{"${env:TOKEN:-secret}", "${env:TOKEN:-****}"},
		{"$TOKEN", "$TOKEN"}, {"$ecretPassword", "****"}, {"$", "****"},
		{"${not closed, secret", "$****cret"}, {"${!secret!}", "****"}, {"${input:a\nsecret}", "****ret}"},
		{"prefix-" + secret + "${A}", "pr****abcd${A}"},
		{"${A}short", "${A}****"},

		{"https://example.com/mcp", "https://example.com/mcp"},
		{"https://me:pw@example.com/", "https://****:****@example.com/"},
		{"https://0123456789abcd@example.com/", "https://****@example.com/"},
		{"https://h/?key=" + secret + "&n=1", "https://h/?key=****abcd&n=1"},
		{"https://h/?%6bey=short&n=1", "https://h/?%6bey=****&n=1"},
		{"https://h/?x=abcdefghij0123456789", "https://h/?x=a****6789"},
		{"https://h/?abcdefghij0123456789", "https://h/?a****6789"},
		{"https://h/s/abcdefghij0123456789/mcp", "https://h/s/a****6789/mcp"},
		{"https://h/s/6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0/mcp", "https://h/s/6f****e1f0/mcp"},
		{"https://h/token/short/mcp", "https://h/token/****/mcp"},
		{"https://h/api-key/short", "https://h/api-key/****"},
		{"https://h/secret/${KEY}?n=1", "https://h/secret/${KEY}?n=1"},
		{"https://h/oauth/token/mcp", "https://h/oauth/token/mcp"},
		{"https://h/auth/callback/session/new", "https://h/auth/callback/session/new"},
		{"https://h/s/a8Fk29xQ/mcp", "https://h/s/****/mcp"},
		{"https://h/?x=a8Fk29xQ", "https://h/?x=****"},
		{"https://h/v1beta2/2025-11-25/mcp", "https://h/v1beta2/2025-11-25/mcp"},
		{"https://h/#access_token=abc", "https://h/#access_token=****"},
		{"https://h/@scope/package", "https://h/@scope/package"},
		{"https://u:p/w@h/", "https://****:****@h/"},
		{"postgres://u:12/x?y#z@db:5432/main?sslmode=off", "postgres://****:****@db:5432/main?sslmode=off"},
		{"https://${HOST}:${PORT}/${KEY}?key=${KEY}", "https://${HOST}:${PORT}/${KEY}?key=${KEY}"},
		{"https://not a url " + secret, "ht****abcd"},
		{"://secret-secret", "****cret"},
	}
	for _, c := range cases {
		got := mask.String(c[0])
		assert.Equal(t, got, c[1], "Mask(%q) =", c[0])
		assert.True(t, utf8.ValidString(got), "%q, made of %q, is UTF-8", got, c[0])
		assert.Equal(t, mask.String(got), got, "the mask of a mask")
	}
}

// TestNamed: what is a secret neither by the name of its key nor by its form is shown.
func TestNamed(t *testing.T) {
	for _, c := range [][3]string{
		//report: Config files | smart-mcp-proxy/mcpproxy-go#872 | a listing of servers that masks either nothing or all hides which folder, level or reference an entry has | paths, levels, options and references with their defaults are shown as written, in `list`, `get`, the page and errors alike
		{"MEMORY_FILE_PATH", "${userHome}/notes/memory.json", ""},
		{"ROOT", "${workspaceFolder}", ""},
		{"ROOT", "${DATA:-/srv/data}/x", ""},
		{"LOG_LEVEL", "${LEVEL:-debug}", ""},
		{"LEVEL", "none", ""}, {"TZ", "Europe/Berlin", ""}, {"PORT", "8080", ""}, {"LIST", "a,b=c d", ""},
		{"FLAGS", "--max-old-space-size=4096 -v", ""}, {"IMAGE", "ghcr.io/a/b:v1.2.3", ""}, {"PATH", "/usr/key:/usr/bin", ""},
		{"X-Api-Version", "2022-06-28", ""}, {"type", "stdio", ""}, {"", "stdio", ""},
		{"HOST", "https://h.example/${REGION:-eu}/x", ""}, {"CONFIG", `{"level":1,"mode":"fast"}`, ""},

		//report: Config files | anthropics/claude-code#87838, openai/codex#5524 | a command that shows an entry prints its keys and tokens | what a key calls a secret is masked whatever it looks like, and what looks like one whatever it is called
		{"API_KEY", "hunter2", "****"}, {"API_KEY", "/etc/hunter2", "****"}, {"API_KEY", "${API_KEY:-none}", "${API_KEY:-****}"},
		{"ID", "${API_KEY:-hunter2}", "${API_KEY:-****}"}, {"ID", "${env:TOKEN:-hunter2}", "${env:TOKEN:-****}"},
		{"ID", "${OTHER:-sk-0123456789abcdef01234}", "${OTHER:-sk****1234}"},
		{"HOST", "https://h.example/${TOKEN:-hunter2}/x", "https://h.example/${TOKEN:-****}/x"},
		{"HOST", "https://u:${P:-hunter2}@h.example", "https://****:${P:-****}@h.example"},
		//report: Config files | anthropics/claude-code#64043 | a database's address stands with user and password in a variable whose name says nothing of that | user and password of the address are masked, and host and database are shown
		{"DATABASE_URI", "postgresql://alice:s3cret@db.example/prod", "postgresql://****:****@db.example/prod"},
		{"ID", "Bearer hunter2", "Bearer ****"}, {"ID", "Bearer ${X:-hunter2}", "Bearer ${X:-****}"},
		{"AWS", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY", "wJ****EKEY"},
		{"ID", "a8Fk29xQ", "****"}, {"ID", "team/a8Fk29xQ", "****"}, {"ID", "/srv/0123456789abcdefghij", "/s****ghij"},
		{"ID", "6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "6f****e1f0"},
		{"CONNECTION", "Server=db;User Id=sa;Password=hunter2;", "Se****er2;"}, {"LINE", "--port 1 --token hunter2", "--****ter2"},
		{"LINE", "token: hunter2", "****"}, {"LINE", "password=hunter2", "****ter2"}, {"ICON", "sk-0123456789abcd", "****abcd"},
		{"CONFIG", `{"apiKey":"hunter2","env":{"MODE":"fast","auth":{"x":["hunter2",7]}}}`, `{"apiKey":"****","env":{"MODE":"fast","auth":{"x":["****","****"]}}}`},
		{"PRIVATE", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----", "---****----"},
	} {
		want := c[2]
		if want == "" {
			want = c[1]
		}
		got := mask.Named(c[0], c[1])
		assert.Equal(t, got, want, "%s of %s", c[0], c[1])
		assert.Equal(t, mask.Named(c[0], got), got, "the mask of a mask")
	}
}

func TestMaskArgs(t *testing.T) {
	const secret = "sk-0123456789abcd"
	github := "ghp_" + strings.Repeat("a1", 18)
	cases := [][2][]string{
		{nil, nil},
		{{"-y", "@scope/server", "/home/me"}, {"-y", "@scope/server", "/home/me"}},
		{{"--token", secret}, {"--token", "****abcd"}},
		{{"--api-key", "short", "--apiKey", "x", "-api_key", "y"}, {"--api-key", "****", "--apiKey", "****", "-api_key", "****"}},
		{{"--token=" + secret}, {"--token=****abcd"}},
		{{"--auth", "--token", secret}, {"--auth", "****", "****abcd"}},
		{{"--key-file", "/etc/key", "--author", "me"}, {"--key-file", "/etc/key", "--author", "me"}},
		{{"--token=a", secret + "z"}, {"--token=****", secret + "z"}},
		{{"-e", "GITHUB_TOKEN", "-e", "MODE=production"}, {"-e", "GITHUB_TOKEN", "-e", "MODE=production"}},
		{{"--env=TOKEN=production"}, {"--env=TOKEN=****"}},
		{{"${MODE:-production}", "${TOKEN:-production}", "--token", "${MODE:-production}"}, {"${MODE:-production}", "${TOKEN:-****}", "--token", "${MODE:-****}"}},
		{{"--header", "X-Api-Key: " + secret}, {"--header", "X-Api-Key: ****abcd"}},
		{{"--header", "Authorization:${AUTH}"}, {"--header", "Authorization:${AUTH}"}},
		{{"--header=Authorization:Bearer " + secret}, {"--header=Authorization:Bearer ****abcd"}},
		{{"-p", "hunter2", "-phunter2", "-p=hunter2"}, {"-p", "****", "-p****", "-p=****"}},
		{{"-p", "8080", "-p", "127.0.0.1:80:8080", "-p8080", "-p", "@scope/server", "-print"}, {"-p", "8080", "-p", "127.0.0.1:80:8080", "-p8080", "-p", "@scope/server", "-print"}},
		{{"-p", "${PASSWORD}", "-p", "1234567890123456"}, {"-p", "${PASSWORD}", "-p", "****3456"}},
		{{"--key", "abc", "--password=abc", "--pass", "abc"}, {"--key", "****", "--password=****", "--pass", "****"}},
		{{"-H", secret}, {"-H", "****abcd"}},
		{{"-u", "me:password1"}, {"-u", "me:****"}},
		{{"API_KEY=" + secret, "LEVEL=high"}, {"API_KEY=****abcd", "LEVEL=high"}},
		{{"Authorization: Bearer " + secret}, {"Authorization: Bearer ****abcd"}},
		{{"https://h/?key=" + secret}, {"https://h/?key=****abcd"}},
		{{"--url=https://a:b@h/"}, {"--url=https://****:****@h/"}},
		{{"push " + github}, {"push [redacted: GitHub token]"}},
		{{"abcdefghij0123456789"}, {"a****6789"}},
		{{"image@sha256:" + strings.Repeat("a1", 32)}, {"image@sha256:" + strings.Repeat("a1", 32)}},
		{{"--config", `{"apiKey":"` + secret + `","n":12345678901234567890,"list":[{"token":1}]}`},
			{"--config", `{"apiKey":"****abcd","list":[{"token":"****"}],"n":12345678901234567890}`}},
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
