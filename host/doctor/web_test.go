package doctor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// remote is the entry of a server at an address.
func remote(t *testing.T, url, transport string) *config.Server {
	t.Helper()
	return probed(t, fmt.Sprintf(`{"url": %q, "transport": %q}`, url, transport))
}

// served serves what a handler does.
func served(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// statusOf answers everything with one status and body.
func statusOf(code int, body string, fields ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

func TestTestOfARemoteServer(t *testing.T) {
	web := served(t, site(newServer("s")))
	old := served(t, sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newServer("s") }, nil))
	h := newHost(t, nil)
	for _, e := range []*config.Server{remote(t, web.URL, "http"), remote(t, web.URL, "auto"), remote(t, old.URL, "sse"), remote(t, old.URL, "auto")} {
		r := tested(t, h, e)
		assert.OK(t, r.Err, "%s at %s", e.Transport, e.URL)
		assert.Equal(t, fmt.Sprint(stagesOf(r), len(r.Tools), len(r.Hints)), "resolved connected initialized listed1 0", "%s at %s", e.Transport, e.URL)
	}
}

// A remote server that does not work says why.
func TestTestOfBadRemoteServers(t *testing.T) {
	plain := served(t, site(newServer("s")))
	old := served(t, sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newServer("s") }, nil))
	secure := httptest.NewUnstartedServer(site(newServer("s")))
	secure.Config.ErrorLog = discardLog()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gone := deadport.URL(t)
	cut := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}))
	greeting := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the client may not get to read
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "SSH-2.0-Server\r\n")
		_ = conn.Close()
	}))
	page := statusOf(200, "<html>Welcome", "Content-Type", "text/html; charset=utf-8")
	rpc := func(text string) http.Handler { return statusOf(200, text, "Content-Type", "application/json") }
	key := func(e *config.Server) *config.Server {
		e.Headers = map[string]config.Secret{"Authorization": "Bearer hunter2secret"}
		return e
	}
	for name, c := range map[string]struct {
		entry       *config.Server
		hints, text string
	}{
		"no such name":        {remote(t, "http://no-such-host.invalid/mcp", "http"), "dns", "no-such-host.invalid"},
		"nobody listens":      {remote(t, gone, "http"), "connection_refused", "Start the server"},
		"nobody listens, sse": {remote(t, gone, "sse"), "connection_refused", ""},
		"cut":                 {remote(t, cut.URL, "http"), "server_error", ""},
		"unknown authority":   {remote(t, secure.URL, "http"), "tls", "SSL_CERT_FILE"},
		"https to plain":      {remote(t, "https"+strings.TrimPrefix(plain.URL, "http"), "http"), "tls", "http://"},
		"http to TLS":         {remote(t, "http"+strings.TrimPrefix(secure.URL, "https"), "http"), "wrong_path", "https"},
		"401":                 {remote(t, served(t, statusOf(401, "")).URL, "http"), "login_required", "Log in"},
		"401 with a key":      {key(remote(t, served(t, statusOf(401, "")).URL, "http")), "credentials_refused", ""},
		"401, sse":            {remote(t, served(t, statusOf(401, "")).URL, "sse"), "login_required", ""},
		"403":                 {remote(t, served(t, statusOf(403, "")).URL, "http"), "forbidden", ""},
		"404":                 {remote(t, served(t, statusOf(404, "")).URL+"/nowhere", "http"), "wrong_path", "/nowhere"},
		"404, auto":           {remote(t, served(t, statusOf(404, "")).URL, "auto"), "wrong_path", ""},
		"405":                 {remote(t, served(t, statusOf(405, "")).URL, "http"), "wrong_path", `"auto"`},
		"418":                 {remote(t, served(t, statusOf(418, "")).URL, "http"), "wrong_path", "418"},
		"429":                 {remote(t, served(t, statusOf(429, "", "Retry-After", "7")).URL, "http"), "server_error", "7s"},
		"503":                 {remote(t, served(t, statusOf(503, "")).URL, "http"), "server_error", "503"},
		"502 page":            {remote(t, served(t, statusOf(502, "<html>", "Content-Type", "text/html")).URL, "http"), "server_error", "502"},
		"429 page":            {remote(t, served(t, statusOf(429, "<html>", "Content-Type", "text/html")).URL, "http"), "server_error", ""},
		"403 page":            {remote(t, served(t, statusOf(403, "<html>", "Content-Type", "text/html")).URL, "http"), "forbidden", ""},
		"404 page":            {remote(t, served(t, statusOf(404, "<html>", "Content-Type", "text/html")).URL, "http"), "web_page wrong_path", ""},
		"no HTTP":             {remote(t, greeting.URL, "http"), "wrong_path", "does not speak HTTP"},
		"302":                 {remote(t, served(t, statusOf(302, "", "Location", "https://login.example/x")).URL, "http"), "wrong_path", "https://login.example"},
		"a page":              {remote(t, served(t, page).URL, "http"), "web_page protocol", "/mcp"},
		"a page, auto":        {remote(t, served(t, page).URL, "auto"), "web_page", ""},
		"a page, sse":         {remote(t, served(t, page).URL, "sse"), "web_page wrong_path", ""},
		"sse under http":      {remote(t, old.URL, "http"), "wrong_path", `"auto"`},
		"http under sse":      {remote(t, plain.URL, "sse"), "wrong_path", `"auto"`},
		"no JSON-RPC":         {remote(t, served(t, rpc(`{"hello":1}`)).URL, "http"), "protocol", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.entry.ConnectTimeout = 0
			r := tested(t, newHost(t, nil), c.entry)
			assert.False(t, r.Success, "report")
			assert.Fails(t, r.Err, "report")
			got := hintsOf(r)
			if first, _, _ := strings.Cut(got, " "); got != c.hints && first != c.hints || strings.HasSuffix(name, "page") && got != c.hints {
				t.Fatalf("hints %v; error %v (%T)", r.Hints, r.Err, r.Err)
			}
			assert.Contains(t, r.Hints[0].Text, c.text, "hint")
			assert.Lacks(t, fmt.Sprint(r.Hints, r.Error), "hunter2", "a secret")
		})
	}
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// A certificate of another time or name is told from one of an unknown authority.
func TestTestOfBadCertificates(t *testing.T) {
	for name, c := range map[string]struct {
		host        string
		ends        time.Time
		hints, text string
	}{
		"expired":    {"127.0.0.1", time.Now().Add(-time.Hour), "tls", "clock"},
		"wrong name": {"mcp.example", time.Now().Add(time.Hour), "tls", "another name"},
	} {
		t.Run(name, func(t *testing.T) {
			certificate, pool := certify(t, c.host, c.ends)
			s := httptest.NewUnstartedServer(site(newServer("s")))
			s.Config.ErrorLog = discardLog()
			s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			s.StartTLS()
			defer s.Close()
			h := newHost(t, &host.Options{Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
				rt := transport.NewRoundTripper()
				rt.TLSClientConfig = &tls.Config{RootCAs: pool}
				t.Cleanup(rt.CloseIdleConnections)
				return &transport.HTTP{URL: e.URL, RoundTripper: rt}, nil
			}})
			r := tested(t, h, remote(t, s.URL, "http"))
			assert.Equal(t, hintsOf(r), c.hints, "hints")
			assert.Contains(t, r.Hints[0].Text, c.text, "hints")
			assert.Equal(t, r.Reached, "resolved", "the connection has TLS, or there is none: it came to")
		})
	}
}

// certify makes a certificate for a name, and a pool with its authority.
func certify(t *testing.T, name string, ends time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: ends.Add(-48 * time.Hour), NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der := assert.Value(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	parsed := assert.Value(x509.ParseCertificate(der))(t)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// A test uses the login there is, and begins none.
func TestTestUsesLogins(t *testing.T) {
	//report: Logins | NousResearch/hermes-agent#60313 | a look at the state of a server opens a login in the browser | a test uses the login there is, and begins none
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	c := &auth.Config{Server: "s", URL: rs.URL}
	m := assert.Value(session.NewManager(session.Memory(), &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return c, nil },
		RedirectURL: "http://127.0.0.1:1/callback",
	}))(t)
	defer func() { _ = m.Close() }()
	h := newHost(t, &host.Options{Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		return &transport.HTTP{URL: e.URL, OAuth: m.Handler(key)}, nil
	}})
	e := remote(t, rs.URL, "http")
	r := tested(t, h, e)

	assert.False(t, r.Success, "without a login")
	assert.As[*auth.LoginRequiredError](t, r.Err, "without a login")
	assert.Equal(t, hintsOf(r), "login_required", "without a login")
	assert.Equal(t, assert.Value(m.Status(t.Context(), session.Key{Server: "s"}))(t).Phase, session.LoggedOut, "the test began a login")
	begun := assert.Value(m.Login(t.Context(), session.Key{Server: "s"}))(t)
	callback, err := as.Approve(t.Context(), begun.URL)
	if err == nil {
		_, err = m.Complete(t.Context(), callback, nil)
	}
	assert.OK(t, err)
	r = tested(t, h, e)
	assert.True(t, r.Success, "with a login")
	assert.Equal(t, len(r.Tools), 2, "with a login")
	as.ExpireAll()
	assert.True(t, tested(t, h, e).Success, "with a token that has ended")
}

// A test changes nothing: neither the registry nor its ledger, nor what runs. What it
// says of the tools is what would become of them.
func TestTestTouchesNothing(t *testing.T) {
	s := newServer("s")
	accepted := ledger.New(nil)
	opts := inProcess(s)
	opts.Registry, opts.StateDir = registry.New(&registry.Options{Ledger: accepted}), t.TempDir()
	h := open(t, write(t, "s", `{"command": "x"}`), opts)
	s.AddTool(&sdk.Tool{Name: "clean", Description: "Cleans.\x1b[2K", InputSchema: map[string]any{"type": "object"}}, nil)
	s.AddTool(&sdk.Tool{Name: "late", InputSchema: map[string]any{"type": "object"}}, nil)
	s.AddTool(&sdk.Tool{Name: "unused", InputSchema: map[string]any{"type": "object"}}, nil)
	until(t, h, "s", "settled", func(s host.Status) bool { return s.Tools == 1 && s.Quarantined == 2 })
	before := fmt.Sprint(h.Registry().Snapshot().Version(), accepted.Entries(), statusOfAll(h))

	// The same entry, as far as the ledger is concerned, with a filter.
	r := tested(t, h, probed(t, `{"command": "x", "tools": {"deny": ["unused"], "rename": {"echo": "say"}}}`))
	assert.Equal(t, fmt.Sprint(h.Registry().Snapshot().Version(), accepted.Entries(), statusOfAll(h)), before, "before")
	var fates []string
	for _, tool := range r.Tools {
		fates = append(fates, tool.Name+" "+tool.RegisteredName+" "+tool.State)
	}
	want := "echo s__say listed, late s__late quarantined, unused  filtered, clean s__clean rejected"
	assert.Equal(t, strings.Join(fates, ", "), want, "tools")
	assert.True(t, r.Success, "tools")
	assert.Equal(t, hintsOf(r), "tools_rejected tools_quarantined", "hints")
	for _, tool := range r.Tools {
		one := len(tool.Findings) == 1 && tool.Findings[0].Token == "ansi_escape" && tool.Findings[0].Severity == gate.Block
		assert.True(t, tool.Name != "clean" || one, "findings %+v", tool.Findings)
	}
}

func statusOfAll(h *host.Host) string {
	var text string
	for _, s := range h.Servers() {
		text += fmt.Sprint(s.Name, s.Enabled, s.Tools, s.Quarantined, s.State.Phase, s.State.Connections, s.Err)
	}
	return text
}

// A user's own connection is tested for that user.
func TestTestOfAUser(t *testing.T) {
	var asked atomic.Value
	h := newHost(t, &host.Options{Transport: func(key session.Key, _ *config.Server) (mcp.Transport, error) {
		asked.Store(key)
		return &transport.Pipe{Serve: newServer("s").Run}, nil
	}})
	e := probed(t, `{"url": "http://127.0.0.1:1"}`)
	e.Identity = config.IdentityUser
	r := assert.Value(doctor.Test(session.WithUser(watchdog(t), "ann"), h, e))(t)
	assert.True(t, r.Success, "report")
	assert.Equal(t, stagesOf(r), "resolved connected initialized listed", "report")
	r = tested(t, h, e)
	assert.False(t, r.Success, "for nobody")
	assert.Equal(t, hintsOf(r), "login_required", "for nobody")
	assert.Equal(t, asked.Load().(session.Key), session.Key{User: "ann", Server: "s"}, "asked for")
}
