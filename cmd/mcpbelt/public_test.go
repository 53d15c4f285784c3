//go:build unix

// Tests of internal/serve/public.go: serve as proxies and browsers reach it, by public reports.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

const initializing = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// publish starts serve at a free port, and returns what it prints and where it listens.
func publish(t *testing.T, listen string, args ...string) (s *served, at string) {
	t.Helper()
	l := assert.Value(net.Listen("tcp", listen))(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	host, _, _ := net.SplitHostPort(listen)
	assert.OK(t, l.Close())
	s = &served{t: t, running: newWorld(t, labServer).start(append([]string{"serve", "--listen", net.JoinHostPort(host, port), "--json"}, args...)...)}
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), s))
	return s, "127.0.0.1:" + port
}

// reach posts a message to an address, by way of a proxy that says what it says.
func (s *served) reach(at, path string, fields ...string) (int, http.Header) {
	s.t.Helper()
	req := assert.Value(http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+at+path, strings.NewReader(initializing)))(s.t)
	req.Header = http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for i := 0; i < len(fields); i += 2 {
		if req.Header.Set(fields[i], fields[i+1]); fields[i] == "Host" {
			req.Host = fields[i+1]
		}
	}
	res := assert.Value(http.DefaultClient.Do(req))(s.t)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode, res.Header
}

// Serve answers for the names that it was given, and for no others, whatever a proxy says.
func TestServeNames(t *testing.T) {
	for _, c := range []struct {
		name, flags, path, fields string
		want                      int
	}{
		//report: Gateway | smart-mcp-proxy/mcpproxy-go#898, PrefectHQ/fastmcp#4468, getzep/graphiti#1745, modelcontextprotocol/python-sdk#1798, cbcoutinho/nextcloud-mcp-server#373 | a reverse proxy passes the public Host, which a guard against DNS rebinding refuses | `serve --public-url`, or `--host`, answers for it; without them 403
		{"a public name", "--public-url https://belt.example", "/mcp", "Host belt.example", 200},
		{"a further name", "--host belt.example --host other.example", "/mcp", "Host other.example", 200},
		{"no name", "", "/mcp", "Host belt.example", 403},
		{"another name", "--public-url https://belt.example", "/mcp", "Host evil.example", 403},
		{"its own name", "--public-url https://belt.example", "/mcp", "", 200},
		//report: Gateway | ClickHouse/mcp-clickhouse#230, superlinked/sie#275, framework/the-framework#986 | X-Forwarded-Host is believed, whoever writes it | it is not read; the public URL is said on the command line
		{"forwarded", "--public-url https://belt.example", "/mcp", "Host evil.example X-Forwarded-Host belt.example", 403},
		//report: Gateway | pipefy/ai-toolkit#303, jeff-nasseri/mikrotik-mcp#88 | nginx writes its own name of the upstream as the Host | that is this machine's; the origin of the public URL is one of its own pages
		{"the upstream's name", "--public-url https://belt.example", "/mcp", "Origin https://belt.example", 200},
		{"another origin", "--public-url https://belt.example", "/mcp", "Origin https://evil.example", 403},
		{"a further origin", "--origin https://app.example", "/mcp", "Origin https://app.example", 200},
		//report: Gateway | obot-platform/mcp-oauth-proxy#6 | a load balancer routes by a path, and leaves it in place | the path of the public URL is taken away, and may be so before
		{"below a path", "--public-url https://belt.example/belt", "/belt/mcp", "Host belt.example", 200},
		{"a path that was taken away", "--public-url https://belt.example/belt", "/mcp", "Host belt.example", 200},
		{"beside the path", "--public-url https://belt.example/belt", "/belts/mcp", "Host belt.example", 404},
	} {
		s, at := publish(t, "127.0.0.1:0", strings.Fields(c.flags)...)
		status, _ := s.reach(at, c.path, strings.Fields(c.fields)...)
		assert.Equal(t, status, c.want, "%s", c.name)
		if _, base, ok := strings.Cut(c.flags, "--public-url "); ok {
			assert.Equal(t, s.URL, base+"/mcp", "%s: what is printed", c.name)
		}
	}
	w := newWorld(t, "")
	for flags, says := range map[string]string{
		"--no-key --host x.example": "without a key", "--no-key --public-url https://x.example": "without a key", "--public-url ftp://x": "takes an http or https URL",
		"--origin x.example": "scheme and host", "--stdio --host x": "leave out --stdio", "--admin --public-url https://x.example/y": "root of its host",
	} {
		out, err := w.command(append([]string{"serve"}, strings.Fields(flags)...)...).CombinedOutput()
		assert.Fails(t, err, "%s", flags)
		assert.Contains(t, string(out), says, "%s", flags)
	}
}

// What serve prints can be typed, also where it listens on all addresses.
func TestServePrintsWhatWorks(t *testing.T) {
	//report: Gateway | jeff-nasseri/mikrotik-mcp#88 | a server listens on all addresses, and refuses the names of them | the URL that is printed works as it stands
	s, _ := publish(t, "0.0.0.0:0", "--public")
	u := assert.Value(url.Parse(s.URL))(t)
	status, _ := s.reach(u.Host, u.Path)
	assert.Equal(t, status, 200, "%s", s.URL)
}

// The metadata of tokens has the public URL, whatever the proxy says.
func TestServeMetadata(t *testing.T) {
	//report: Gateway | agentgateway/agentgateway#1639, andrea-magni/MARS#203, mesh/mesh-mcp#20, tuist/tuist#9663 | TLS ends in a proxy, and the metadata of the protected resource has http and the port of the machine | with `--public-url` the challenge and the metadata have that URL, also below a path
	as := authtest.NewServer(t, nil)
	for base, metadata := range map[string]string{
		"https://belt.example": "https://belt.example/.well-known/oauth-protected-resource/mcp", "https://belt.example/b": "https://belt.example/.well-known/oauth-protected-resource/b/mcp",
	} {
		s, at := publish(t, "127.0.0.1:0", "--issuer", as.Issuer, "--public-url", base)
		s.Key = "wrong"
		status, header := s.reach(at, "/mcp", "Host", "belt.example", "X-Forwarded-Proto", "http", "X-Forwarded-Host", "evil.example")
		assert.Equal(t, status, 401, "%s", base)
		assert.Contains(t, header.Get("WWW-Authenticate"), `resource_metadata="`+metadata+`"`, "%s", base)
		req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+strings.TrimPrefix(metadata, "https://belt.example"), nil))(t)
		req.Host = "belt.example"
		res := assert.Value(http.DefaultClient.Do(req))(t)
		body := string(assert.Value(io.ReadAll(res.Body))(t))
		_ = res.Body.Close()
		assert.Contains(t, body, `"resource":"`+base+`/mcp"`, "%s", base)
	}
}

// The blocks of docs/gateway.md work in the proxies that they are for.
func TestProxiesOfDocs(t *testing.T) {
	docs := string(assert.Value(os.ReadFile("../../docs/gateway.md"))(t))
	block := func(language string) string {
		_, rest, _ := strings.Cut(docs, "```"+language+"\n")
		text, _, _ := strings.Cut(rest, "```")
		return text
	}
	for language, names := range map[string][]string{
		"nginx": {"http://127.0.0.1:7411;"}, "caddy": {"belt.example", "127.0.0.1:7411"}, "yaml": {"Host(`belt.example`)", "http://127.0.0.1:7411", "flushInterval"},
	} {
		for _, name := range names {
			assert.Contains(t, block(language), name, "the %s block", language)
		}
	}
	//report: Gateway | traefik/traefik#13820, traefik/traefik#10991 | Traefik ends every request after 60 s by default, a stream too | the page about the gateway says by which setting it does not
	assert.Contains(t, docs, "respondingTimeouts.readTimeout: 0")
	//report: Gateway | markmhendrickson/neotoma#1486, QwenLM/qwen-code#10835 | a proxy buffers streams, so answers come late or not at all | the blocks for nginx and Caddy in docs/gateway.md were run with both: sessions, answers and streams pass
	for program, run := range map[string]func(dir, to, at string) *exec.Cmd{
		"nginx": func(dir, to, at string) *exec.Cmd {
			server := strings.ReplaceAll(block("nginx"), "127.0.0.1:7411", to)
			conf := fmt.Sprintf("daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}\nhttp { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s; server { listen %[2]s; %[3]s } }", dir, at, server)
			assert.OK(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600))
			return exec.Command("nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
		},
		"caddy": func(dir, to, at string) *exec.Cmd {
			site := strings.NewReplacer("belt.example", "http://:"+at[strings.LastIndexByte(at, ':')+1:], "127.0.0.1:7411", to).Replace(block("caddy"))
			assert.OK(t, os.WriteFile(filepath.Join(dir, "Caddyfile"), []byte("{\nadmin off\nauto_https off\n}\n"+site), 0o600))
			cmd := exec.Command("caddy", "run", "--config", filepath.Join(dir, "Caddyfile"), "--adapter", "caddyfile")
			cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
			return cmd
		},
	} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed: apt-get install %s", program, program)
			}
			s, to := publish(t, "127.0.0.1:0", "--public-url", "https://belt.example")
			l := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
			at := l.Addr().String()
			assert.OK(t, l.Close())
			cmd := run(t.TempDir(), to, at)
			assert.OK(t, cmd.Start())
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			hosttest.Eventually(t, program+" listens", func() bool {
				conn, err := net.Dial("tcp", at)
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			})
			status, header := s.reach(at, "/mcp", "Host", "belt.example")
			assert.Equal(t, status, 200, "the status")
			session := header.Get("Mcp-Session-Id")
			req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)))(t)
			req.Host = "belt.example"
			req.Header = http.Header{"Authorization": {"Bearer " + s.Key}, "Mcp-Session-Id": {session}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			res := assert.Value(http.DefaultClient.Do(req))(t)
			body := string(assert.Value(io.ReadAll(res.Body))(t))
			_ = res.Body.Close()
			assert.Contains(t, body, `"tools"`, "the list")
		})
	}
}

// While calls under way are finished, who comes is told that the gateway ends.
func TestServeTellsThatItEnds(t *testing.T) {
	w := newWorld(t, labServer)
	s := &served{t: t, running: w.start("serve", "--listen", "127.0.0.1:0", "--json")}
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), s))
	at := assert.Value(url.Parse(s.URL))(t).Host
	call := w.start("call", s.URL, "lab__hang", "text="+filepath.Join(w.dir, "go"), "--key", s.Key)
	w.awaitFile("mark", "called")
	assert.OK(t, s.Process.Signal(os.Interrupt))
	status := 0
	for status != http.StatusServiceUnavailable && t.Context().Err() == nil {
		status, _ = s.reach(at, "/mcp")
	}
	w.write("go", "")
	call.await("waited")
	assert.OK(t, call.Wait())
}
