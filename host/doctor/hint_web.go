package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

// hintPatience bounds the question whether an address speaks TLS.
const hintPatience = 3 * time.Second

// ofWeb looks at a remote server.
func (t *trouble) ofWeb(ctx context.Context) {
	if t.entry.Transport == config.TransportUnix {
		t.ofSocket()
		return
	}
	u, err := url.Parse(t.entry.URL)
	if err != nil || u.Host == "" {
		return
	}
	if t.ofProxy(u) {
		return
	}
	t.ofLogin()
	t.ofRoad(u)
	t.ofTLS(ctx, u)
	t.ofRedirect()
	t.ofStatus(u)
}

// ofSocket tells why a Unix socket cannot be connected to.
func (t *trouble) ofSocket() {
	if errors.Is(t.err, fs.ErrNotExist) || errors.Is(t.err, syscall.ECONNREFUSED) {
		t.hint(HintConnectionRefused, fmt.Sprintf("No server listens on the socket %s: start the server, or correct the path.", t.entry.Socket()))
	}
}

// ofProxy tells of troubles that a proxy has, or is. It reports whether there is one.
func (t *trouble) ofProxy(u *url.URL) bool {
	proxy := usesProxy(t.entry)
	if proxy == nil {
		return false
	}
	advice := fmt.Sprintf(" Requests to %s go through the proxy %s, which the variables HTTP_PROXY and HTTPS_PROXY name. Correct them, or add %s to NO_PROXY if it can be reached without.", u.Host, proxy, u.Hostname())
	if t.entry.Proxy != "" {
		advice = fmt.Sprintf(" Requests to %s go through the proxy %s, which the entry names: correct \"proxy\" there.", u.Host, proxy)
	}
	var op *net.OpError
	for _, a := range t.answers {
		if a.proxy || a.status == http.StatusProxyAuthRequired {
			t.hint(HintProxy, fmt.Sprintf("The proxy answered with HTTP status %d.", a.status)+advice)
			return true
		}
	}
	if errors.As(t.err, &op) && op.Op == "proxyconnect" {
		t.hint(HintProxy, "There is no connection to the proxy."+advice)
		return true
	}
	return false
}

// ofLogin tells of a user who is not let in.
func (t *trouble) ofLogin() {
	var status *transport.StatusError
	switch {
	case wantsLogin(t.err):
		t.hint(HintLoginRequired, "The server wants the user to log in. Begin a login, and have them open its address in a browser.")
	case !errors.As(t.err, &status):
	case status.Code == http.StatusUnauthorized && t.sendsCredentials():
		t.hint(HintCredentialsRefused, "The server does not accept the credentials in the headers of the entry (HTTP status 401): they may have ended, be those of another server, or lack the word Bearer. Set new ones.")
	case status.Code == http.StatusUnauthorized:
		t.hint(HintLoginRequired, "The server lets no one in without credentials (HTTP status 401). Log in, if the server has a login for that, or add a header such as Authorization to \"headers\" of the entry.")
	case status.Code == http.StatusForbidden:
		t.hint(HintForbidden, "The server knows who asks, or asks from where, and does not allow it (HTTP status 403). Its owner has to give the user more rights, or the credentials more scopes; some servers also refuse the host.Host or Origin of requests that come through a tunnel.")
	}
}

// sendsCredentials reports whether the entry has headers that are to let it in.
func (t *trouble) sendsCredentials() bool {
	for name := range t.entry.Headers {
		switch name := strings.ToLower(name); {
		case name == "authorization", name == "cookie", strings.Contains(name, "key"), strings.Contains(name, "token"):
			return true
		}
	}
	return false
}

// ofRoad tells why there is no way to the server.
func (t *trouble) ofRoad(u *url.URL) {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(t.err, &dns) && dns.IsNotFound:
		t.hint(HintDNS, fmt.Sprintf("The name %q has no address. Correct \"url\" in the entry; if it is a name of an inner network, connect to that first.", u.Hostname()))
	case errors.As(t.err, &dns):
		t.hint(HintDNS, fmt.Sprintf("No DNS server could be asked for the address of %q. Look at the network, and at the DNS servers of this machine.", u.Hostname()))
	case errors.Is(t.err, syscall.ECONNREFUSED):
		text := fmt.Sprintf("Nothing listens at %s.", u.Host)
		if isLoopback(u.Hostname()) {
			text += " Start the server, and look at which port it says that it uses; in a container, this machine is not \"localhost\"."
		}
		t.hint(HintConnectionRefused, text+" Correct \"url\" in the entry if the port is another.")
	case errors.Is(t.err, syscall.ENETUNREACH), errors.Is(t.err, syscall.EHOSTUNREACH),
		errors.As(t.err, &op) && op.Op == "dial" && op.Timeout():
		t.hint(HintConnectionRefused, fmt.Sprintf("The machine at %s does not answer: it is off, in a network that cannot be reached from here, or behind a firewall.", u.Host))
	case strings.Contains(t.err.Error(), "malformed HTTP"): // of net/http, which has no type for it
		t.hint(HintWrongPath, fmt.Sprintf("What listens at %s does not speak HTTP. Correct \"url\" in the entry: the port may be that of another program.", u.Host))
	case errors.Is(t.err, syscall.ECONNRESET), errors.Is(t.err, syscall.EPIPE):
		t.hint(HintServerError, fmt.Sprintf("The server at %s has cut the connection without an answer. Look at the log of the server, and at what stands between.", u.Host))
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ofTLS tells why the connection is not safe, or why the scheme is the wrong one.
func (t *trouble) ofTLS(ctx context.Context, u *url.URL) {
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	host := u.Hostname()
	switch {
	case errors.As(t.err, &authority):
		t.hint(HintTLS, fmt.Sprintf("The certificate of %s is signed by no authority that this machine trusts. If it is that of a company or your own, add its authority to the certificates of this machine, or name its file in SSL_CERT_FILE; if not, another machine may stand between.", host))
	case errors.As(t.err, &invalid) && invalid.Reason == x509.Expired:
		t.hint(HintTLS, fmt.Sprintf("The certificate of %s is not valid today. Look whether the clock of this machine is right; if it is, the server's owner has to renew the certificate.", host))
	case errors.As(t.err, &name):
		t.hint(HintTLS, fmt.Sprintf("The certificate is not for %s, but for %s. Write the name that it is for in \"url\" of the entry.", host, certificateNames(name.Certificate)))
	case errors.As(t.err, &record) && string(record.RecordHeader[:]) == "HTTP/", errors.Is(t.err, http.ErrSchemeMismatch):
		t.hint(HintTLS, fmt.Sprintf("The server at %s does not speak TLS. Write \"http://\" in \"url\" of the entry if no one else can see its network, or the port at which it speaks TLS.", u.Host))
	case errors.As(t.err, &record), errors.As(t.err, &alert), errors.As(t.err, &verify), errors.As(t.err, &invalid):
		t.hint(HintTLS, fmt.Sprintf("There is no agreement on TLS with %s: it may be no TLS server, want a certificate of the client, or speak only old versions.", u.Host))
	case u.Scheme == "http" && t.speaksTLS(ctx, u):
		t.hint(HintTLS, fmt.Sprintf("The server at %s speaks TLS. Write \"https://\" in \"url\" of the entry.", u.Host))
	}
}

func certificateNames(c *x509.Certificate) string {
	const most = 5
	var names []string
	if c != nil {
		names = append(names, c.DNSNames...)
		for _, ip := range c.IPAddresses {
			names = append(names, ip.String())
		}
	}
	if len(names) == 0 {
		return "no name"
	}
	return strings.Join(names[:min(len(names), most)], ", ")
}

// speaksTLS asks the server at the address of a plain URL whether it speaks TLS. A server
// that does answers plain requests with an error, or with nothing that can be read.
func (t *trouble) speaksTLS(ctx context.Context, u *url.URL) bool {
	if !slices.ContainsFunc(t.answers, func(a webAnswer) bool { return a.status == http.StatusBadRequest }) && len(t.answers) > 0 ||
		errors.Is(t.err, syscall.ECONNREFUSED) || ctx.Err() != nil || usesProxy(t.entry) != nil {
		return false
	}
	var dns *net.DNSError
	if errors.As(t.err, &dns) {
		return false
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	ctx, stop := context.WithTimeout(ctx, hintPatience)
	defer stop()
	// Nothing is sent but a greeting, so it does not matter who answers.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// ofRedirect tells of a server that has moved.
func (t *trouble) ofRedirect() {
	var redirect *transport.RedirectError
	if errors.As(t.err, &redirect) {
		t.hint(HintWrongPath, fmt.Sprintf("The server sends all requests to %s (HTTP status %d), which is not followed, since the credentials are for the configured address alone. Write the new address in \"url\" of the entry, if it is right. An address that is redirected to a login page wants a login in another way.", redirect.To, redirect.Code))
	}
}

// ofStatus tells what a status means that is no answer.
func (t *trouble) ofStatus(u *url.URL) {
	var status *transport.StatusError
	failed := errors.As(t.err, &status)
	code := 0
	if failed {
		code = status.Code
	}
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden: // told of as a login
	case code == http.StatusTooManyRequests:
		text := "The server wants to be asked less often (HTTP status 429)."
		if status.RetryAfter > 0 {
			text += fmt.Sprintf(" It may be asked again in %v.", status.RetryAfter)
		}
		t.hint(HintServerError, text+" Wait; if it goes on, look at the limits of the account.")
	case code >= 500: // gateways say so in a web page
		t.hint(HintServerError, fmt.Sprintf("The server fails, or what stands before it (HTTP status %d). Look at its log or its status page, and try again later.", code))
	case t.answersKind("text/html"):
		t.hint(HintWebPage, fmt.Sprintf("A web page answers at %s, and no MCP server. Look up the address of the server's MCP endpoint, which often ends with /mcp or /sse, and write it in \"url\" of the entry.", u.Host+t.shownPath()))
	case code == http.StatusNotFound, code == http.StatusGone:
		t.hint(HintWrongPath, fmt.Sprintf("There is nothing at the path %q (HTTP status %d). Look up the address of the server's MCP endpoint, which often ends with /mcp or /sse.", t.shownPath(), code))
	}
	if !slices.ContainsFunc(t.list, func(h Hint) bool { return h.Code == HintTLS }) {
		t.ofOtherTransport(status)
	}
}

// shownPath returns the path of the entry's URL as it may be shown.
func (t *trouble) shownPath() string {
	_, rest, _ := strings.Cut(t.entry.Masked().URL, "://")
	rest = rest[:strings.IndexAny(rest+"?", "?#")]
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// ofOtherTransport tells of a server that speaks the other kind of HTTP.
func (t *trouble) ofOtherTransport(status *transport.StatusError) {
	refused := status != nil && (status.Code == http.StatusNotFound || status.Code == http.StatusMethodNotAllowed ||
		status.Code == http.StatusBadRequest || status.Code == http.StatusNotAcceptable || status.Code == http.StatusUnsupportedMediaType)
	switch t.entry.Transport {
	case config.TransportHTTP:
		if refused {
			t.hint(HintWrongPath, fmt.Sprintf("The server does not take requests in the way of streamable HTTP at this address (HTTP status %d). If it is an old server, which only knows HTTP with server-sent events, write \"transport\": \"sse\", or \"auto\" to have it found out.", status.Code))
		}
	case config.TransportSSE:
		if refused || status == nil && len(t.answers) > 0 && !t.answersKind("text/event-stream") {
			t.hint(HintWrongPath, "The server sends no event stream at this address: it does not speak HTTP with server-sent events. Write \"transport\": \"http\", or \"auto\" to have it found out.")
		}
	case config.TransportAuto:
		if refused {
			t.hint(HintWrongPath, fmt.Sprintf("Neither streamable HTTP nor HTTP with server-sent events is spoken at this address (HTTP status %d). Look up the address of the server's MCP endpoint.", status.Code))
		}
	}
	if status != nil && len(t.list) == 0 {
		t.hint(HintWrongPath, fmt.Sprintf("The server refused the request with HTTP status %d %s, which is no answer of an MCP server. Look up its address and which transport it speaks.", status.Code, http.StatusText(status.Code)))
	}
}

func (t *trouble) answersKind(kind string) bool {
	return slices.ContainsFunc(t.answers, func(a webAnswer) bool { return a.kind == kind })
}
