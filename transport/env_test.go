package transport_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// A server gets what it needs to reach the network and to speak the user's language,
// but no password of a proxy.
func TestBaseEnv(t *testing.T) {
	for _, name := range transport.BaseEnvNames() {
		if strings.HasSuffix(strings.ToUpper(name), "PROXY") {
			t.Setenv(name, "")
		}
	}
	given := map[string]string{
		"HTTP_PROXY": "http://proxy.example:3128", "NO_PROXY": "localhost,.example", "LANG": "de_DE.UTF-8", "LC_ALL": "C",
		"SSL_CERT_FILE": "/etc/ssl/ours.pem", "NODE_EXTRA_CA_CERTS": "/etc/ssl/ours.pem", "TZ": "Europe/Berlin", "TMPDIR": t.TempDir(),
	}
	for name, value := range given {
		t.Setenv(name, value)
	}
	for value, passes := range map[string]bool{
		"http://proxy.example:3128":           true,
		"proxy.example:3128":                  true,
		"":                                    true,
		"http://ann:hunter2@proxy.example":    false,
		"ann:hunter2@proxy.example:3128":      false,
		"http://t0ken@proxy.example":          false,
		"socks5h://ann:hunter2@[::1]:1080/":   false,
		"http://ann:hunter%402@proxy.example": false,
		"http:\\\\ann:hunter2@proxy.example":  false,
		"() { evil; }":                        false,
	} {
		t.Setenv("HTTPS_PROXY", value)
		env := transport.BaseEnv()
		assert.Equal(t, slices.Contains(env, "HTTPS_PROXY="+value), passes, "HTTPS_PROXY=%s: passed on", value)
		if !passes && strings.Contains(strings.Join(env, "\n"), value) {
			t.Errorf("HTTPS_PROXY=%s: got its value in %q, want it nowhere", value, env)
		}
		for name, value := range given {
			if got := slices.Contains(env, name+"="+value); !got {
				t.Errorf("%s=%s: passed on: got %v, want true", name, value, got)
			}
		}
	}
}

// A proxy that is given to a server is not outdone by one of this process in other
// letters.
func TestCommandProxy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names have one spelling there")
	}
	t.Setenv("http_proxy", "http://ours.example")
	t.Setenv("HTTP_PROXY", "http://ours.example")
	t.Setenv("https_proxy", "http://ours.example")
	recipe := transporttest.Child("read", "env", "serve")
	recipe.Env = append(recipe.Env, "HTTP_PROXY=http://given.example")
	raw := assert.Value(ask(t, dial(t, recipe)))(t)
	var env, proxies []string
	assert.OK(t, json.Unmarshal([]byte(raw), &env))
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); name == "http_proxy" || name == "HTTP_PROXY" || name == "https_proxy" {
			proxies = append(proxies, entry)
		}
	}
	slices.Sort(proxies)
	if want := []string{"HTTP_PROXY=http://given.example", "https_proxy=http://ours.example"}; !slices.Equal(proxies, want) {
		t.Errorf("got %q, want %q", proxies, want)
	}
}
