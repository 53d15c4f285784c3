// Tests of env.go and system_other.go: what a server gets of the environment.

package transport_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
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
		env := transport.BaseEnv("")
		assert.Equal(t, slices.Contains(env, "HTTPS_PROXY="+value), passes, "HTTPS_PROXY=%s: passed on", value)
		if !passes {
			assert.Lacks(t, strings.Join(env, "\n"), value, "HTTPS_PROXY=%s", value)
		}
		for name, value := range given {
			assert.True(t, slices.Contains(env, name+"="+value), "%s=%s: passed on", name, value)
		}
	}
}

// What says where the daemon is comes along to docker, however it is named, and to nothing else.
func TestProgramEnv(t *testing.T) {
	//report: Processes | docker/mcp-gateway#578 | docker is started with PATH alone, and does not find the daemon that DOCKER_HOST names | docker and podman get the variables that say where their daemon is
	t.Setenv("DOCKER_HOST", "ssh://me@there")
	for path, passes := range map[string]bool{
		"docker": true, "/usr/local/bin/docker": true, `C:\Program Files\Docker\docker.EXE`: true, "podman": true, "docker-mcp": false, "npx": false, "/docker/run": false, "": false,
	} {
		assert.Equal(t, slices.Contains(transport.BaseEnv(path), "DOCKER_HOST=ssh://me@there"), passes, "%s", path)
	}
}
