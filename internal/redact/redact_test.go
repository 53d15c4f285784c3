package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// letters is a text of n letters and digits without a meaning. The secrets of
// these tests are put together, so that no search for leaks finds one.
func letters(n int) string { return strings.Repeat("aB3dE5gH7jK9mN1pQ2", n/18+1)[:n] }

func pem(label string) string {
	return "-----BEGIN " + label + "-----\n" + strings.Repeat(letters(64)+"\n", 3) + "-----END " + label + "-----"
}

func jwt() string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"none"}`) + "." + part(`{"sub":"someone"}`) + "." + letters(43)
}

// secrets are texts with the part that must go, and what it is.
func secrets() []struct{ before, secret, after, kind string } {
	list := []struct{ before, secret, after, kind string }{
		{"", "ghp_" + letters(36), "", "GitHub token"},
		{"push with ", "github_pat_" + letters(22) + "_" + letters(59), ".", "GitHub token"},
		{`{"token":"`, "gho_" + letters(36), `"}`, "GitHub token"},
		{"", "glpat-" + letters(20), ".", "GitLab token"},
		{"", "glpat-" + letters(27) + ".01." + letters(9), ". Next", "GitLab token"},
		{"slack ", "xoxb-123456789012-123456789012-" + letters(24), "", "Slack token"},
		{"https://", "hooks.slack.com/services/T0001/B0001/" + letters(24), "", "Slack webhook"},
		{"key=", "AIza" + letters(35), "&x=1", "Google key"},
		{"", "ya29." + letters(60), "", "Google token"},
		{"", "GOCSPX-" + letters(28), "", "Google secret"},
		{"", "sk_live_" + letters(24), "", "Stripe key"},
		{"", "whsec_" + letters(32), "", "Stripe key"},
		{"", "sk-ant-api03-" + letters(80), "", "Anthropic key"},
		{"", "sk-proj-" + letters(60), "", "OpenAI key"},
		{"", "sk-" + letters(48), "", "API key"},
		{"", "SG." + letters(22) + "." + letters(43), "", "SendGrid key"},
		{"id ", "AKIA" + strings.Repeat("A1B2", 4), " of", "AWS key"},
		{"aws_secret_access_key = ", letters(40), "\n", "AWS secret key"},
		{`"SecretAccessKey": "`, letters(40), `"`, "AWS secret key"},
		{"x ", jwt(), " y", "JWT"},
		{"the key:\n", pem("PRIVATE KEY"), "\nend", "private key"},
		{"", pem("RSA PRIVATE KEY"), "", "private key"},
		{"", pem("OPENSSH PRIVATE KEY"), "", "private key"},
		{"", pem("PGP PRIVATE KEY BLOCK"), "", "private key"},
		{"", strings.ReplaceAll(pem("EC PRIVATE KEY"), "\n", `\n`), "", "private key"},
		{"", "-----BEGIN PRIVATE KEY-----\n" + letters(64) + "\n" + letters(20), "... was cut", "private key"},
		{"", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + letters(64), "", "private key"},
		{"Authorization: Bearer ", letters(32), "\r\n", "bearer token"},
		{"authorization: bearer ", "abc.def-1234_567~8/+==", "", "bearer token"},
		{"Authorization: Basic ", base64.StdEncoding.EncodeToString([]byte("ann:open sesame")), "", "basic credentials"},
		{"postgres://", "ann:p@ss:w", "@db.example.com:5432/x?a=b", "URL credentials"},
		{`https:\/\/`, "ann:secret", `@example.com\/x`, "URL credentials"},
		{`line\n`, "ghp_" + letters(36), `\n`, "GitHub token"},
		{"a%3D", "ghp_" + letters(36), "", "GitHub token"},
		{`a\u003d`, "ghp_" + letters(36), "", "GitHub token"},
		{"\x1b[1;31m", "ghp_" + letters(36), "\x1b[0m", "GitHub token"},
		{"", "hf_" + letters(34), "", "Hugging Face token"},
		{"", "npm_" + letters(36), "", "npm token"},
	}
	return list
}

// mixed is a text of n bytes out of an alphabet, the same each time.
func mixed(n int, alphabet string) string {
	source := rand.New(rand.NewPCG(uint64(n), uint64(len(alphabet))))
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[source.IntN(len(alphabet))]
	}
	return string(text)
}

const (
	digits = "0123456789"
	hexes  = digits + "abcdef"
	uppers = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	words  = uppers + "abcdefghijklmnopqrstuvwxyz" + "_-"
)

// The keys of services that have MCP servers are found.
func TestServiceSecretsGo(t *testing.T) {
	r := redact.New(nil)
	for _, s := range []struct{ secret, kind string }{
		{"ntn_" + mixed(11, digits) + letters(35), "Notion token"},
		{"secret_" + letters(43), "Notion token"},
		{"lin_api_" + letters(40), "Linear key"},
		{"lin_oauth_" + mixed(64, hexes), "Linear key"},
		{"ATATT3xFfGF0" + mixed(170, words) + "=" + mixed(8, uppers), "Atlassian token"},
		{"figd_" + mixed(40, words), "Figma token"},
		{"hvs." + letters(24), "Vault token"},
		{"hvs.CAESI" + mixed(86, words), "Vault token"},
		{"hvb.AAAAAQ" + mixed(140, words), "Vault token"},
		{"dapi" + mixed(32, hexes), "Databricks token"},
		{"sbp_" + mixed(40, hexes), "Supabase key"},
		{"sb_secret_" + letters(22) + "_" + letters(8), "Supabase key"},
		{"pplx-" + letters(48), "Perplexity key"}, {"r8_" + letters(37), "Replicate token"},
		{"tvly-" + letters(32), "Tavily key"}, {"tvly-dev-" + letters(32), "Tavily key"},
		{"glsa_" + letters(32) + "_" + mixed(8, hexes), "Grafana token"},
		{"glc_" + base64.StdEncoding.EncodeToString([]byte(`{"o":"12","n":"name","k":"`+letters(24)+`"}`)), "Grafana token"},
		{"PMAK-" + mixed(24, hexes) + "-" + mixed(34, hexes), "Postman key"},
		{"sntryu_" + mixed(64, hexes), "Sentry token"},
		{"sntrys_" + base64.StdEncoding.EncodeToString([]byte(`{"iat":1.5,"url":"https://sentry.example"}`)) + "_" + letters(43), "Sentry token"},
		{"lsv2_pt_" + mixed(32, hexes) + "_" + mixed(10, hexes), "LangSmith key"},
		{"NRAK-" + mixed(27, uppers), "New Relic key"},
		{mixed(36, hexes) + "NRAL", "New Relic key"},
		{mixed(10, digits) + ":AA" + mixed(33, words), "Telegram token"},
		{"bot" + mixed(10, digits) + ":AA" + mixed(33, words), "Telegram token"}, // in addresses
		{"pat" + letters(14) + "." + mixed(64, hexes), "Airtable token"},
		{letters(14) + ".atlasv1." + mixed(67, words[:62]), "Terraform token"},
		{"a1b8Q~" + letters(34), "Azure secret"},
		{"BSA" + letters(28), "Brave key"},
		{"SSWS " + "00" + mixed(40, words), "Okta token"},
	} {
		for _, c := range [][2]string{{"", ""}, {"the key is ", ", and no other"}, {`{"key":"`, `"}`}, {"KEY=", "\n"}, {"https://example.com/?key=", "&x=1"}} {
			want := c[0] + "[redacted: " + s.kind + "]" + c[1]
			assert.Equal(t, r.Text(c[0]+s.secret+c[1]), want, "%q", c[0]+s.secret+c[1])
		}
		inside := "x" + s.secret
		assert.True(t, r.Text(inside) == inside || strings.Contains(s.secret, ":AA"), "%q begins in the middle of a word: %q", inside, r.Text(inside))
	}
}

// No text of the tools of many servers is taken for a secret.
func TestNoFalseAlarms(t *testing.T) {
	r := redact.New(nil)
	seen := 0
	for _, server := range toolcorpus.Servers() {
		for _, tool := range server.Tools {
			raw := assert.Value(json.Marshal(tool))(t)
			seen += len(raw)
			assert.Equal(t, string(r.JSON(raw)), string(raw), "%s %s", server.Name, tool.Name)
			assert.Equal(t, r.Text(string(raw)), string(raw), "%s %s", server.Name, tool.Name)
		}
	}
	for _, d := range toolcorpus.Documents() {
		text := fmt.Sprintf("%+v", d)
		assert.Equal(t, r.Text(text), text)
	}
	assert.True(t, seen >= 100<<10, "%d bytes of tools are a corpus", seen)
}

func TestSecretsGo(t *testing.T) {
	r := redact.New(nil)
	for _, s := range secrets() {
		want := s.before + "[redacted: " + s.kind + "]" + s.after
		assert.Equal(t, r.Text(s.before+s.secret+s.after), want, "%q became", s.before+s.secret+s.after)
	}
}

// harmless are texts that look a little like secrets and must stay.
func harmless() []string {
	image := make([]byte, 256<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(image)
	return []string{
		"6f1c2d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f",
		"d41d8cd98f00b204e9800998ecf8427e",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"data:image/png;base64," + base64.StdEncoding.EncodeToString(image),
		base64.URLEncoding.EncodeToString(image),
		"The bearer of this letter, and bearer authentication with internationalization",
		"Basic authentication is a Basic instructional",
		"https://example.com/a@b:c", "ssh://git@github.com/a/b", "http://localhost:8080/?q=a:b@c",
		"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
		"task-force-of-the-disk-manufacturers-association-1234567890",
		"-----BEGIN CERTIFICATE-----\n" + letters(64) + "\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\n" + letters(64) + "\n-----END PUBLIC KEY-----",
		"eyJ is how JSON begins in base64", "eyJhbGciOiJub25lIn0.something.else",
		"pk_live_" + letters(24), // a publishable key is meant for everybody
		"AKIAN is a name", "SG.Some.Long.Package.Name.That.Goes.On.And.On.And.On.And.On.And.On.Until.It.Ends",
		"the secret_access_key is 40 bytes long", "npm_config_registry_of_some_very_long_name_of_it",
		"ntn_your_integration_token_of_some_length_goes_right_here", "secret_manager_of_the_whole_organization_of_the_user",
		"the 12:AAB hour of the day, and 1234567:AAPL is what was bought", "dapi is an API of debuggers, dapi-1234", "pk_12345_rows",
		"pattern.of.something", "patent." + strings.Repeat("ab12", 16), "re_quest_of_12345678", "hvs.tech/some-page-about-heating-and-ventilation",
		"tvly-your-tavily-api-key-goes-here", "figd_name_of_a_figure_description_in_a_paper", "sha256~abc", "r8_register_of_an_old_processor_with_8_bits",
		"glsa_" + letters(20), "dapi" + mixed(32, hexes) + "xyz", mixed(36, hexes) + "NRALS", "API-VERSION-OF-THE-SERVER", "fc-" + letters(40), "sk_learn_1.2", "v1.0-rc1", "AccountKey=",
		"", "\x00\xff\xfe", "://", "-----BEGIN ", "Bearer ", "ghp_",
	}
}

func TestHarmlessTextStays(t *testing.T) {
	r := redact.New(nil)
	for _, text := range harmless() {
		assert.Equal(t, r.Text(text), text)
	}
}

func TestPatterns(t *testing.T) {
	r := redact.New(map[string]*regexp.Regexp{
		"badge": regexp.MustCompile(`badge (\d+)`), "nothing": regexp.MustCompile(`x*`),
		"long": regexp.MustCompile(`12345 and ghp_\w+`), "none": nil,
	})
	token := "ghp_" + letters(36)
	assert.Equal(t, r.Text("badge 12345 and "+token+"!"), "badge [redacted: badge]!")
	assert.Equal(t, r.Text("none"), "none")
}

func TestJSON(t *testing.T) {
	r := redact.New(nil)
	token := "ghp_" + letters(36)
	for _, c := range []struct{ in, want string }{
		{`{"a" : 1.50, "b":[ "` + token + `" ,"caf\u00e9"], "c":{"d":"x ` + token + ` y"}}`,
			`{"a" : 1.50, "b":[ "[redacted: GitHub token]" ,"caf\u00e9"], "c":{"d":"x [redacted: GitHub token] y"}}`},
		{`{"` + token + `":1,"` + token[:39] + `Z":2}`, `{"[redacted: GitHub token]":1,"[redacted: GitHub token] 2":2}`},
		{`"\u0067hp_` + token[4:] + `<\n"`, `"[redacted: GitHub token]<\n"`},
		{`{"SecretAccessKey":"` + letters(40) + `"}`, `{"SecretAccessKey":"[redacted: AWS secret key]"}`},
		{`{"aws_secret_access_key" : "` + letters(40) + `","b":"` + letters(40) + `"}`, `{"aws_secret_access_key" : "[redacted: AWS secret key]","b":"` + letters(40) + `"}`},
		{`{"a":"` + token, `{"a":"[redacted: GitHub token]`}, // no JSON
	} {
		assert.Equal(t, string(r.JSON([]byte(c.in))), c.want, "%s became", c.in)
	}
	in := []byte(`{"a":["\"",{"b":"c\\"}]}`)
	got := r.JSON(in)
	assert.True(t, &got[0] == &in[0], "JSON without secrets is not copied")
}

// A text of nothing but beginnings is read as fast as any other: the work grows
// with the length. With work that grows with its square, this would take until the
// tests are broken off.
func TestBeginningsAlone(t *testing.T) {
	r := redact.New(nil)
	size := assert.Cases(3<<10, 256<<10)
	for _, part := range []string{
		"eyJ", "eyJ.", "eyJaaaaaaaaaa.eyJ", "://", "http://a:", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "Bearer ", "Bearer a",
		"SG.", "SG.a", "ya29.", "sk-", "sk-ant-", "ghp_", " ghp_", "xoxe.", "glpat-.", "Basic ", "Basic YTpi", "aws_secret_access_key=",
		"1234567:AA", ":AA", "a1b8Q~", "8Q~.", "hvs.", "hvs.hvs.a", "lsv2_pt_", "1234567890abcd.atlasv1.", "NRAL", "sntrys_/", "SSWS ", "pat.", "dp.pt.",
		"\x1b[31m", "%3Dghp_", `\u003dsk-`, "hooks.slack.com/services/", `"`, `\"`, "A:\n",
	} {
		text := strings.Repeat(part, size/len(part))
		r.Text(text)
		r.JSON([]byte(text))
		r.JSON([]byte(`["` + strings.ReplaceAll(strings.ReplaceAll(text, `"`, `\"`), "\n", `\n`) + `"]`))
	}
}

func FuzzText(f *testing.F) {
	for _, s := range secrets() {
		f.Add(s.before + s.secret + s.after)
	}
	f.Add(`{"a":"\ud800","b":[1,"x"]}`)
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, text string) {
		once := r.Text(text)
		if once != text && !strings.Contains(once, "[redacted: ") {
			t.Fatalf("%q became %q", text, once)
		}
		value := r.JSON([]byte(text))
		if json.Valid([]byte(text)) {
			assert.True(t, json.Valid(value), "%q, made of %q, is JSON", value, text)
		}
		// A secret is found between any words, and they stay.
		token := "ghp_" + letters(36)
		quiet := strings.Map(func(c rune) rune {
			if c == ' ' || 'a' <= c && c <= 'c' {
				return c
			}
			return -1
		}, text)
		assert.Equal(t, r.Text(quiet+" "+token+" "+quiet), quiet+" [redacted: GitHub token] "+quiet)
	})
}

func BenchmarkText(b *testing.B) {
	r := redact.New(nil)
	prose := strings.Repeat("The quick brown fox; it jumps over https://example.com/dogs and `skips` on. ", 14000)
	data, _ := json.Marshal(map[string]any{"rows": strings.Split(prose, " ")})
	b.Run(fmt.Sprintf("%dKB", len(prose)>>10), func(b *testing.B) {
		b.SetBytes(int64(len(prose)))
		b.ReportAllocs()
		for b.Loop() {
			r.Text(prose)
		}
	})
	image := make([]byte, 768<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(image)
	encoded := base64.StdEncoding.EncodeToString(image)
	b.Run("base64", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		for b.Loop() {
			r.Text(encoded)
		}
	})
	b.Run("json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			r.JSON(data)
		}
	})
}

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		text, shown string
		want        []string
	}{
		{"--quiet", "--quiet", nil},
		{"", "", nil},
		{"s3cret-value", "****", []string{"s3cret-value", "s3cret-value"}},
		{"API_KEY=s3cret=", "API_KEY=****", []string{"API_KEY=s3cret=", "s3cret=", "s3cret"}},
		{"Authorization: Bearer s3cret", "Authorization: Bearer ****", []string{"Authorization: Bearer s3cret", "Bearer s3cret", "s3cret"}},
		{"pg://me:s3cret@host/db", "pg://****:****@host/db", []string{"pg://me:s3cret@host/db", "me", "s3cret"}},
		{`{"key":"s3cret"}`, `{"key":"****"}`, []string{`{"key":"s3cret"}`, "s3cret"}},
	} {
		assert.Equal(t, fmt.Sprintf("%q", redact.Hidden(c.text, c.shown)), fmt.Sprintf("%q", c.want), "%q %q", c.text, c.shown)
	}
}
