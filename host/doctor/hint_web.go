package doctor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

// ofWeb looks at a remote server.
func (t *trouble) ofWeb() {
	if t.entry.Transport == config.TransportUnix {
		if errors.Is(t.err, fs.ErrNotExist) || errors.Is(t.err, syscall.ECONNREFUSED) {
			t.hint(hintConnectionRefused, fmt.Sprintf("No server listens on the socket %s: start the server, or correct the path.", t.entry.Socket()))
		}
		return
	}
	u, err := url.Parse(t.entry.URL)
	if err != nil || u.Host == "" || t.ofProxy(u) {
		return
	}
	t.ofRoute(u)
	t.ofTLS(u)
	t.ofStatus(u)
}

// ofProxy tells of troubles that a proxy has, or is. It reports whether there is one.
func (t *trouble) ofProxy(u *url.URL) bool {
	proxy := usesProxy(t.entry)
	var op *net.OpError
	refused := slices.ContainsFunc(t.answers, func(a webAnswer) bool { return a.proxy || a.status == http.StatusProxyAuthRequired })
	if proxy == nil || !refused && !(errors.As(t.err, &op) && op.Op == "proxyconnect") {
		return false
	}
	t.hint(hintProxy, fmt.Sprintf("Requests to %s go through the proxy %s, and it does not let them through. It is named by \"proxy\" in the entry, or by the variables HTTP_PROXY and HTTPS_PROXY: correct that, or add %s to NO_PROXY if it can be reached without.", u.Host, proxy, u.Hostname()))
	return true
}

// ofRoute tells why there is no way to the server.
func (t *trouble) ofRoute(u *url.URL) {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(t.err, &dns) && dns.IsNotFound:
		t.hint(hintDNS, fmt.Sprintf("The name %q has no address. Correct \"url\" in the entry; if it is a name of an inner network, connect to that first.", u.Hostname()))
	case errors.As(t.err, &dns):
		t.hint(hintDNS, fmt.Sprintf("No DNS server could be asked for the address of %q. Look at the network, and at the DNS servers of this machine.", u.Hostname()))
	case errors.Is(t.err, syscall.ECONNREFUSED):
		t.hint(hintConnectionRefused, fmt.Sprintf("Nothing listens at %s. Start the server, and look at which port it says that it uses; in a container, this machine is not \"localhost\". Correct \"url\" in the entry if the port is another.", u.Host))
	case errors.Is(t.err, syscall.ENETUNREACH), errors.Is(t.err, syscall.EHOSTUNREACH),
		errors.As(t.err, &op) && op.Op == "dial" && op.Timeout():
		t.hint(hintConnectionRefused, fmt.Sprintf("The machine at %s does not answer: it is off, in a network that cannot be reached from here, or behind a firewall.", u.Host))
	case strings.Contains(t.err.Error(), "malformed HTTP"): // of net/http, which has no type for it
		t.hint(hintWrongPath, fmt.Sprintf("What listens at %s does not speak HTTP, or speaks TLS. Correct \"url\" in the entry: the port may be that of another program, or it has to begin with \"https://\".", u.Host))
	case errors.Is(t.err, syscall.ECONNRESET), errors.Is(t.err, syscall.EPIPE):
		t.hint(hintServerError, fmt.Sprintf("The server at %s has cut the connection without an answer. Look at the log of the server, and at what stands between.", u.Host))
	}
}

// ofTLS tells why the connection is not safe, or why the scheme is the wrong one.
func (t *trouble) ofTLS(u *url.URL) {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(t.err, &verify):
		t.hint(hintTLS, fmt.Sprintf("The certificate of %s is not accepted: %v. If it is signed by the authority of a company or your own, add that to the certificates of this machine, or name its file in SSL_CERT_FILE; if it is not valid today, look at the clock of this machine; if it is for another name, write that in \"url\" of the entry.", u.Hostname(), verify.Err))
	case errors.As(t.err, &record) && string(record.RecordHeader[:]) == "HTTP/", errors.Is(t.err, http.ErrSchemeMismatch):
		t.hint(hintTLS, fmt.Sprintf("The server at %s does not speak TLS. Write \"http://\" in \"url\" of the entry if no one else can see its network, or the port at which it speaks TLS.", u.Host))
	case errors.As(t.err, &record), errors.As(t.err, new(tls.AlertError)):
		t.hint(hintTLS, fmt.Sprintf("There is no agreement on TLS with %s: it may be no TLS server, want a certificate of the client, or speak only old versions.", u.Host))
	}
}

// ofStatus tells what a status means that is no answer, and of a login that is needed.
func (t *trouble) ofStatus(u *url.URL) {
	if redirect, ok := errors.AsType[*transport.RedirectError](t.err); ok {
		t.hint(hintWrongPath, fmt.Sprintf("The server sends all requests to %s (HTTP status %d), which is not followed, since the credentials are for the configured address alone. Write the new address in \"url\" of the entry, if it is right. An address that is redirected to a login page wants a login in another way.", redirect.To, redirect.Code))
	}
	code := 0
	var status *transport.StatusError
	if errors.As(t.err, &status) {
		code = status.Code
	}
	var required *auth.LoginRequiredError
	switch {
	case errors.As(t.err, &required) && required.Reason != "":
		t.hint(hintLoginRequired, fmt.Sprintf("The server wants the user to log in (%s). Begin a login, and have them open its address in a browser.", required.Reason))
		return
	case wantsLogin(t.err):
		t.hint(hintLoginRequired, "The server wants the user to log in. Begin a login, and have them open its address in a browser.")
		return
	case wantsToken(t.err):
		t.hint(hintCredentialsRefused, "The server lets no one in without credentials (HTTP status 401), and offers no login. It may want a token: write the header that its documentation names, such as Authorization, in \"headers\" of the entry.")
		return
	case errors.As(t.err, new(*auth.RegistrationError)), errors.As(t.err, new(*auth.IssuerMismatchError)):
		t.hint(hintLoginRequired, "The server wants the user to log in, and no login can begin: "+t.err.Error())
		return
	case code == http.StatusUnauthorized && len(t.entry.Headers) > 0:
		t.hint(hintCredentialsRefused, "The server does not accept the credentials in the headers of the entry (HTTP status 401): they may have ended, be those of another server, or lack the word Bearer. Set new ones.")
		return
	case code == http.StatusUnauthorized:
		t.hint(hintLoginRequired, "The server lets no one in without credentials (HTTP status 401). Log in, if the server has a login for that, or add a header such as Authorization to \"headers\" of the entry.")
		return
	case code == http.StatusForbidden:
		t.hint(hintForbidden, "The server knows who asks, or asks from where, and does not allow it (HTTP status 403). Its owner has to give the user more rights, or the credentials more scopes; some servers also refuse the Host or Origin of requests that come through a tunnel.")
		return
	case code == http.StatusTooManyRequests, code >= 500: // gateways say so in a web page
		t.hint(hintServerError, fmt.Sprintf("The server fails, or wants to be asked less often: %v. Try again later; if it goes on, look at its log, its status page, or the limits of the account.", status))
		return
	case t.answersKind("text/html"), isWebPage(t.err):
		t.hint(hintWebPage, fmt.Sprintf("A web page answers at %s, and no MCP server. Look up the address of the server's MCP endpoint, which often ends with /mcp or /sse, and write it in \"url\" of the entry.", u.Host+t.shownPath()))
	}
	noEvents := t.entry.Transport == config.TransportSSE && len(t.answers) > 0 && !t.answersKind("text/event-stream")
	if status != nil || noEvents {
		t.hint(hintWrongPath, fmt.Sprintf("No MCP server answers at the path %q by the transport %q (HTTP status %d). Look up the address of the server's MCP endpoint, which often ends with /mcp or /sse, and whether it begins with https; or write \"transport\": \"auto\" to have the transport found out.", t.shownPath(), t.entry.Transport, code))
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

// isWebPage reports whether an error is that of an address at which a web page is.
func isWebPage(err error) bool {
	var page interface{ WebPage() bool }
	return errors.As(err, &page) && page.WebPage()
}

func (t *trouble) answersKind(kind string) bool {
	return slices.ContainsFunc(t.answers, func(a webAnswer) bool { return a.kind == kind })
}
