// Tests of transport.go: routes, certificates, sockets and the watchdog.

package host_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/session"
)

// A testCA is a private certificate authority, with its files.
type testCA struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newTestCA(t *testing.T) *testCA {
	t.Helper()
	ca := &testCA{t: t, dir: t.TempDir()}
	ca.cert, ca.key = ca.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return ca
}

// issue makes a certificate, and the files NAME.pem and NAME.key.
func (ca *testCA) issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	ca.t.Helper()
	key := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(ca.t)
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := ca.cert, ca.key
	if parent == nil {
		parent, signer = template, key
	}
	der := assert.Value(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer))(ca.t)
	cert := assert.Value(x509.ParseCertificate(der))(ca.t)
	raw := assert.Value(x509.MarshalPKCS8PrivateKey(key))(ca.t)
	for file, block := range map[string]*pem.Block{
		".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: raw},
	} {
		assert.OK(ca.t, os.WriteFile(filepath.Join(ca.dir, name+file), pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// serve runs an MCP server with a certificate of the authority, which counts the requests
// with a certificate of a client.
func (ca *testCA) serve(clients tls.ClientAuthType) (address string, shown *atomic.Int64) {
	ca.t.Helper()
	cert, key := ca.issue("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	server := sdk.NewServer(&sdk.Implementation{Name: "private"}, nil)
	mcpHandler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	shown = new(atomic.Int64)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown.Add(int64(len(r.TLS.PeerCertificates)))
		mcpHandler.ServeHTTP(w, r)
	}))
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, ClientAuth: clients, ClientCAs: pool}
	srv.StartTLS()
	ca.t.Cleanup(srv.Close)
	return srv.URL, shown
}

// parsedEntry returns the entry with these keys of a file in a folder.
func parsedEntry(t *testing.T, dir, keys string) *config.Server {
	t.Helper()
	c := assert.Value(config.Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers":{"s":{"type":"http","connectTimeoutSeconds":600,`+keys+`}}}`), nil))(t)
	assert.OK(t, c.Servers[0].Err)
	return c.Servers[0]
}

// outcomeOf starts a server and tests it, and returns what both say.
func outcomeOf(t *testing.T, e *config.Server) (host.Status, error) {
	t.Helper()
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	assert.Value(h.Apply(watchdog(t), &config.Config{Servers: []*config.Server{e}}))(t)
	until(t, h, "s", "a result", func(s host.Status) bool { return s.Stage == host.StageReady || s.Err != nil })
	seen := status(t, h, "s")
	report := assert.Value(doctor.Test(watchdog(t), h, e))(t)
	assert.Equal(t, report.Err == nil, seen.Err == nil, "%v from the test and %v from the server: good", report.Err, seen.Err)
	return seen, seen.Err
}

func TestPrivateCertificates(t *testing.T) {
	t.Parallel()
	ca := newTestCA(t)
	ca.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	open, _ := ca.serve(tls.NoClientCert)
	closed, shown := ca.serve(tls.RequireAndVerifyClientCert)
	for _, test := range []struct {
		name, url, tls string
		works          bool
		warnings       int
	}{
		{"no authority", open, `null`, false, 0},
		{"the authority", open, `{"caFile":"ca.pem"}`, true, 0},
		{"another file", open, `{"caFile":"server.key"}`, false, 0},
		{"no file", open, `{"caFile":"none.pem"}`, false, 0},
		{"not checked", open, `{"insecure":true}`, true, 1},
		{"no client certificate", closed, `{"caFile":"ca.pem"}`, false, 0},
		{"a client certificate", closed, `{"caFile":"ca.pem","certFile":"client.pem","keyFile":"client.key"}`, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, err := outcomeOf(t, parsedEntry(t, ca.dir, `"url":"`+test.url+`","tls":`+test.tls))
			assert.Equal(t, err == nil, test.works, "it works (%v)", err)
			assert.Equal(t, len(status.Warnings), test.warnings, "warnings")
		})
	}
	assert.False(t, shown.Load() == 0, "no certificate of a client at the server, want one")
}

// A connectProxy tunnels to where it is asked to, and notes that.
type connectProxy struct {
	url string

	mu   sync.Mutex
	to   []string
	auth []string
}

func newConnectProxy(t *testing.T) *connectProxy {
	t.Helper()
	listener := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &connectProxy{url: "http://" + listener.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.tunnel(near) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); wg.Wait() })
	return p
}

// tunnel serves one connection until either end closes it.
func (p *connectProxy) tunnel(near net.Conn) {
	defer func() { _ = near.Close() }()
	r, err := http.ReadRequest(bufio.NewReader(near))
	if err != nil {
		return
	}
	p.mu.Lock()
	p.to, p.auth = append(p.to, r.Method+" "+r.Host), append(p.auth, r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	far, err := net.Dial("tcp", r.Host)
	if err != nil || r.Method != http.MethodConnect {
		_, _ = io.WriteString(near, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
	_, _ = io.Copy(far, near)
	_ = far.Close()
	back.Wait()
}

func TestProxyOfAnEntry(t *testing.T) {
	ca := newTestCA(t)
	address, _ := ca.serve(tls.NoClientCert)
	proxy := newConnectProxy(t)
	at := strings.Replace(proxy.url, "http://", "http://user:pass-word-1@", 1)
	e := parsedEntry(t, ca.dir, `"url":"`+address+`","proxy":"`+at+`","tls":{"caFile":"ca.pem"}`)
	assert.Value(outcomeOf(t, e))(t)
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	assert.Contains(t, strings.Join(proxy.to, "\n"), "CONNECT "+strings.TrimPrefix(address, "https://"), "at the proxy")
	assert.False(t, strings.Join(proxy.auth, "") == "", "no Proxy-Authorization")
	for what, text := range map[string]string{"the launch": e.Launch().String(), "the record": e.Masked().String()} {
		assert.Lacks(t, text, "pass-word-1", "proxy's password in %s", what)
	}
}

// IronClaw's entry of a server behind a Unix socket runs, and one that is not there says so.
func TestServerBehindASocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "mcp") // t.TempDir may be too long for a socket
	assert.OK(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "s.sock")
	listener := assert.Value(net.Listen("unix", path))(t)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server := sdk.NewServer(&sdk.Implementation{Name: "socket"}, nil)
			addTool(server, "ping", func(context.Context) (string, error) { return "pong", nil })
			session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: conn, Writer: conn}, nil)
			if err != nil {
				return
			}
			defer func() { _ = session.Close() }()
		}
	}()
	defer func() { _ = listener.Close(); <-served }()
	c := assert.Value(config.Parse(t.Context(), "mcp-servers.json", []byte(`{"schema_version":1,"servers":[
		{"name":"there","url":"","transport":{"transport":"unix","socket_path":"`+path+`"}},
		{"name":"absent","transport":{"transport":"unix","socket_path":"`+path+`.none"},"url":""}]}`), nil))(t)
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	assert.Value(h.Apply(watchdog(t), c))(t)
	until(t, h, "there", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Value(h.Registry().Call(watchdog(t), "there__ping", nil))(t)
	for _, s := range c.Servers {
		report := assert.Value(doctor.Test(watchdog(t), h, s))(t)
		assert.Equal(t, report.Err == nil, s.Name == "there", "%s: the test ok (%v)", s.Name, report.Err)
		refused := slices.ContainsFunc(report.Hints, func(hint doctor.Hint) bool { return hint.Code == "connection_refused" })
		assert.Equal(t, refused, s.Name == "absent", "%s: the hint %s", s.Name, "connection_refused")
	}
}

// watchdogs returns the ids of this process's children that are watchdogs.
func watchdogs(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("the system does not tell who the children of a process are")
	}
	var found []string
	for _, path := range lists {
		data, _ := os.ReadFile(path) // a thread may have ended
		for _, pid := range strings.Fields(string(data)) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if bytes.Contains(line, []byte("\x00mcpbelt-watchdog\x00")) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// One watchdog serves all servers of a host, from the first to Close.
func TestOneWatchdog(t *testing.T) {
	h := assert.Value(host.Open(watchdog(t), write(t, "one", child(t, "echo"), "two", child(t, "echo")), patient(nil)))(t)
	all := watchdogs(t)
	assert.Equal(t, len(all), 1, "watchdogs")
	assert.OK(t, h.Disable(watchdog(t), "one"))
	assert.Equal(t, strings.Join(watchdogs(t), " "), strings.Join(all, " "), "watchdogs")
	assert.OK(t, h.Close())
	assert.Equal(t, len(watchdogs(t)), 0, "watchdogs")
}

// A program's own transport is named by the type of an entry or by the scheme of its URL; without
// Transports these are mistakes, as before.
func TestTransportsOfTheProgram(t *testing.T) {
	path := write(t, "typed", `{"type":"frame","frame":"a:1"}`, "addressed", `{"url":"tcp://b:2"}`, "run", `{"type":"frame","command":"c"}`, "wrong", `{"type":"fram"}`)
	var mu sync.Mutex
	asked := map[string]string{}
	pipe := inPipe(mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{"tools/list": mcptest.Result(`{"tools":[]}`)}).Serve)
	own := func(key session.Key, e *config.Server) (mcp.Transport, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[e.Name] = fmt.Sprint(e.Transport, " ", e.URL, e.Command, string(e.Extra["frame"]))
		return pipe(key, e)
	}
	h := open(t, path, &host.Options{StateDir: host.NoState, Transport: own, Config: &config.Options{Transports: []string{"frame", "tcp"}}})
	assert.Equal(t, fmt.Sprint(asked), `map[addressed:tcp tcp://b:2 run:frame c typed:frame "a:1"]`)
	for name, stage := range map[string]host.Stage{"typed": host.StageReady, "addressed": host.StageReady, "run": host.StageReady, "wrong": host.StageInvalid} {
		assert.Equal(t, status(t, h, name).Stage, stage, "%s", name)
	}
	h = open(t, path, &host.Options{StateDir: host.NoState, Transport: own})
	for name, mistake := range map[string]string{"typed": "unknown transport", "addressed": "must start with https:// or http://"} {
		assert.Contains(t, fmt.Sprint(status(t, h, name).Err), mistake, "%s", name)
	}
}

// An entry that is made in Go needs a name and where its server is, and nothing else.
func TestEntryMadeInGo(t *testing.T) {
	h := host.New(&host.Options{StateDir: host.NoState})
	t.Cleanup(func() { assert.OK(t, h.Close()) })
	report := assert.Value(h.Apply(watchdog(t), &config.Config{Servers: []*config.Server{
		{Name: "lab", Command: assert.Value(os.Executable())(t), Env: map[string]config.Secret{hosttest.ServerMode: "lab", "GORACE": "atexit_sleep_ms=0"}},
		{Name: "off", Command: "x", Disabled: true},
	}}))(t)
	assert.Equal(t, fmt.Sprint(report.Started, report.Stopped), "[lab] []")
	assert.Value(call(t, h, "lab__echo", `{"text":"a"}`))(t)
	assert.Equal(t, [...]any{status(t, h, "lab").Transport, status(t, h, "off").Stage}, [...]any{config.TransportStdio, host.StageDisabled})
}
