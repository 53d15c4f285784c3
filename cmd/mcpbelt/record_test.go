//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/testserver"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A plantedSecret is a secret and the place in which it is planted.
type plantedSecret struct{ where, text string }

// plantSecrets returns secrets in the forms of their issuers, made up for each test, and
// such without a form.
func plantSecrets() []plantedSecret {
	random := func(alphabet string, n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = alphabet[rand.IntN(len(alphabet))]
		}
		return string(text)
	}
	const digits, upper, lower = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	alnum := func(n int) string { return "a1B" + random(digits+upper+lower, n-3) }
	hex := func(n int) string { return "1a" + random(digits+"abcdef", n-2) }
	base64Lines := func(n int) string {
		var lines []string
		for range n {
			lines = append(lines, alnum(64))
		}
		return strings.Join(lines, "\n")
	}
	planted := []plantedSecret{
		{"env", "correct horse " + alnum(8)}, {"env", alnum(40)}, {"env", "line one " + alnum(12) + "\nline two"},
		{"flag", alnum(24)}, {"flag", alnum(32)}, {"header", "Bearer " + alnum(12)}, {"header", "three words " + alnum(9)}, {"member", alnum(20)}, {"member", "two words " + alnum(6)},
		{"reference", "four plain words " + alnum(5)}, {"query", "five words " + alnum(7)},
	}
	for _, text := range []string{
		"ghp_" + alnum(36), "github_pat_" + alnum(22) + "_" + alnum(59), "glpat-" + alnum(20), "xoxb-1234567890-1234567890-" + alnum(24),
		"AIza" + alnum(35), "ya29." + alnum(60), "sk_live_" + alnum(24), "sk-ant-api03-" + alnum(95), "sk-proj-" + alnum(64), "sk-" + alnum(48),
		"AKIA" + "2" + random(upper, 15), "npm_" + alnum(36), "hf_" + alnum(34), "dckr_pat_" + alnum(27), "gsk_" + alnum(52), "ntn_" + alnum(46),
		"lin_api_" + alnum(40), "r8_" + alnum(37), "tvly-" + alnum(32), "figd_" + alnum(40), "SG." + alnum(22) + "." + alnum(43), "eyJhbGciOiJI" + alnum(8) + ".eyJ" + alnum(30) + "." + alnum(43),
	} {
		planted = append(planted, plantedSecret{"text", text})
	}
	key := base64Lines(4)
	return append(planted,
		plantedSecret{"-----BEGIN RSA PRIVATE KEY-----\n@\n-----END RSA PRIVATE KEY-----", key},
		plantedSecret{"-----BEGIN OPENSSH PRIVATE KEY-----\n@\n-----END OPENSSH PRIVATE KEY-----", base64Lines(3)},
		plantedSecret{"https://user:@\u0040example.com/a", alnum(16)}, plantedSecret{"https://example.com/a?api_key=@&n=1", alnum(16)},
		plantedSecret{"Authorization: Bearer @", alnum(30)}, plantedSecret{"X-Api-Key: @", hex(32)}, plantedSecret{"Cookie: session=@; a=b", alnum(30)})
}

// No secret of an entry, of arguments or of results is in a recording.
func TestRecordingHoldsNoSecret(t *testing.T) {
	planted := plantSecrets()
	if len(planted) < 30 {
		t.Fatalf("got %d secrets, want at least 30", len(planted))
	}
	handler := assert.Value(testserver.Handler([]string{"-features"}))(t)
	remote := httptest.NewServer(handler)
	defer remote.Close()
	env, headers := map[string]string{serverMode: "-features"}, map[string]string{}
	flags := []string{}
	members := map[string]string{}
	variable := ""
	query := url.Values{}
	texts := map[string][]string{} // by the server whose entry has the secret, empty: by either
	note := func(server, text string) { texts[server] = append(texts[server], text) }
	for i, p := range planted {
		switch p.where {
		case "env":
			env[fmt.Sprint("PLANTED_TOKEN_", i)] = p.text
			note("lab", "it is "+p.text+", of course") // a server can repeat what it knows
		case "flag":
			flags = append(flags, "--token", p.text)
			note("lab", p.text)
		case "header":
			headers[[]string{"Authorization", "X-Planted-Key"}[len(headers)]] = p.text
			note("remote", strings.TrimPrefix(p.text, "Bearer "))
		case "reference": // with a name that is not that of a secret
			env["GREETING"] = "${PLANTED_TOKEN}"
			variable = "PLANTED_TOKEN=" + p.text
			note("lab", "hello, "+p.text)
		case "query":
			query.Set("api_key", p.text)
			note("remote", p.text+" and "+url.QueryEscape(p.text))
		case "member":
			members[[]string{"password", "api_key"}[len(members)]] = p.text
		case "text":
			note("", "the key "+p.text+" works")
		default:
			before, after, _ := strings.Cut(p.where, "@")
			note("", before+p.text+after)
		}
	}
	w := newWorld(t, "")
	program := filepath.Join(w.dir, "mcpbelt")
	assert.OK(t, os.Symlink(w.program, program))
	w.writeJSON("home/.config/mcpbelt/mcp.json", map[string]any{"mcpServers": map[string]any{
		"lab":    map[string]any{"command": w.program, "args": flags, "env": env},
		"remote": map[string]any{"type": "http", "url": remote.URL + "/mcp?" + query.Encode(), "headers": headers},
	}})
	for _, server := range []string{"lab", "remote"} {
		all := slices.Concat(texts[""], texts[server])
		w.writeJSON("args.json", map[string]any{"names": all, "things": map[string]any{"inner": members}, "text": strings.Join(all, "\n")})
		result := w.run("call", "arguments", "@args.json", "--yes", "--", "env", variable, program, "record", "out.json", server)
		data := assert.Value(os.ReadFile(filepath.Join(w.dir, "out.json")))(t)
		for _, p := range planted {
			for line := range strings.SplitSeq(strings.TrimPrefix(p.text, "Bearer "), "\n") {
				assert.Lacks(t, string(data), line, "%s, %s", server, p.where)
			}
		}
		assert.Contains(t, result, texts[""][0], "%s", server)
	}
}

// writeJSON writes a value into a file of the world.
func (w *world) writeJSON(name string, value any) {
	w.t.Helper()
	data := assert.Value(json.Marshal(value))(w.t)
	w.write(name, string(data))
}
