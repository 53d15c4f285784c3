// Tests of endpoint.go, dial_linux.go, challenge.go, callback.go and errors.go: addresses, redirects, and what HTTP says of failures.

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/transport"
)

// redirects returns a server that redirects from /old, and the address of that.
func redirects(t *testing.T, s *script, code int, to func(r *http.Request) string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/new", s)
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to(r), code) })
	return listen(t, mux) + "/old"
}

func TestHTTPRedirects(t *testing.T) {
	//report: Transports | modelcontextprotocol/python-sdk#732, anomalyco/opencode#6247, opensearch-project/opensearch-mcp-server-py#271, PrefectHQ/fastmcp#1867, sigbit/mcp-auth-proxy#115 | a server of Starlette sends /mcp on to /mcp/ with status 307 | followed within the origin, with method, body and fields
	//report: Transports | modelcontextprotocol/modelcontextprotocol#2755 | a proxy sends http on to https with status 301, which would turn a post into a GET | not followed; the error says where it leads and to configure that URL
	var leaked atomic.Int32
	other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, target := range []string{"/new", other + "/?key=s3cret"} {
			t.Run(fmt.Sprintf("%d to %.4s", code, target), func(t *testing.T) {
				s := &script{}
				url := redirects(t, s, code, func(*http.Request) string { return target })
				l := dial(t, &transport.HTTP{URL: url, Header: http.Header{"Authorization": {"Bearer s3cret"}}})
				if target == "/new" && code >= 307 {
					wantResult(t, l, okResult)
					assert.Equal(t, s.last().Header.Get("Authorization"), "Bearer s3cret", "Authorization")
					return
				}
				want := mcp.NotSent
				if code == 303 {
					want = mcp.Unknown
				}
				err := wantFailure(t, l, want)
				assert.Equal(t, assert.As[*transport.RedirectError](t, err).Code, code, "code")
				assert.Lacks(t, err.Error(), "s3cret", "text of the error")
			})
		}
	}
	assert.Equal(t, leaked.Load(), 0, "requests to the other origin")
}

// A redirect does not bring credentials of its own.
func TestHTTPRedirectWithCredentials(t *testing.T) {
	s := &script{}
	url := redirects(t, s, 307, func(r *http.Request) string { return "http://user:s3cret@" + r.Host + "/new" })
	err := wantFailure(t, dial(t, &transport.HTTP{URL: url}), mcp.NotSent)
	assert.As[*transport.RedirectError](t, err)
	assert.Lacks(t, err.Error(), "s3cret", "text of the error")
	assert.Equal(t, len(s.requests("")), 0, "requests")
}

func TestHTTPRedirectLoop(t *testing.T) {
	var n atomic.Int32
	url := redirects(t, nil, 307, func(*http.Request) string { n.Add(1); return "/old" })
	wantFailure(t, dial(t, &transport.HTTP{URL: url}), mcp.NotSent)
	assert.True(t, n.Load() <= 5, "at most 5 requests: %d", n.Load())
}

// A wrong option is refused without quoting it: it may hold a secret. A wrong URL is
// refused with what to write instead.
func TestHTTPOptions(t *testing.T) {
	const noScheme, noHost, noURL = "must start with https:// or http://", "has no host: write it as https://host/path", "is not a URL: write it as https://host/path"
	header := func(name, value string) http.Header { return http.Header{name: {value}} }
	for _, c := range []struct {
		url    string
		header http.Header
		want   string
	}{
		{"", nil, "URL: " + noScheme},
		{"server/s3cret", nil, "URL: " + noScheme},
		{"host:1/mcp", nil, "URL: " + noScheme},
		{"127.0.0.1:1/mcp", nil, "URL: " + noScheme},
		{"ftp://server/?s3cret", nil, "URL: " + noScheme},
		{"http:///s3cret", nil, "URL: " + noHost},
		{"https:/mcp", nil, "URL: " + noHost},
		{"https://:443/mcp", nil, "URL: " + noHost},
		{"http://[::1/s3cret", nil, "URL: " + noURL},
		{"HTTPS://host:no/mcp", nil, "URL: " + noURL},
		{"http://user:s3cret@server/", nil, "URL: holds a user or password: put them in an Authorization header"},
		{"http://server/", header("X", "s3cret\r\nY: 1"), "Header: "},
		{"http://server/", header("X", "s3cret\x00"), "Header: "},
		{"http://server/", header("X Y", "s3cret"), "Header: "},
		{"http://server/", header("", "s3cret"), "Header: "},
	} {
		for _, tr := range []mcp.Transport{
			&transport.HTTP{URL: c.url, Header: c.header}, &transport.HTTP{Variant: transport.SSE, URL: c.url, Header: c.header}, &transport.HTTP{Variant: transport.Auto, URL: c.url, Header: c.header},
		} {
			_, err := tr.Connect(t.Context())
			assert.As[*transport.OptionError](t, err, c.url)
			assert.Contains(t, err.Error(), "."+c.want, "%q", c.url)
			assert.Lacks(t, err.Error(), "s3cret")
			wantOutcome(t, err, mcp.NotSent)
		}
	}
}

func TestHTTPDialRefused(t *testing.T) {
	l := dial(t, &transport.HTTP{URL: deadport.URL(t) + "/mcp?key=s3cret"})
	assert.Lacks(t, wantFailure(t, l, mcp.NotSent).Error(), "s3cret", "text of the error")
	assert.Fails(t, l.Info().Err, "the connection")
}

// What a round tripper has sent is told by what it has read of the body.
func TestHTTPRoundTripperFails(t *testing.T) {
	for read, want := range []mcp.Outcome{mcp.NotSent, mcp.Unknown} {
		l := dial(t, &transport.HTTP{URL: "http://server.invalid", RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
			if read > 0 {
				_, _ = r.Body.Read(make([]byte, read))
			}
			return nil, errors.New("lost")
		})})
		wantFailure(t, l, want)
		assert.OK(t, l.Info().Err, "connection")
	}
}

// A server that changes the protocol keeps the connection, and no context ends what
// would be read from it.
func TestSwitchedProtocols(t *testing.T) {
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Type: application/json\r\n\r\n{")
		_, _ = io.Copy(io.Discard, conn) // until the client hangs up
	}))
	for _, tr := range []mcp.Transport{&transport.HTTP{URL: url}, &transport.HTTP{Variant: transport.SSE, URL: url}, &transport.HTTP{Variant: transport.Auto, URL: url}} {
		wantNotReady(t, tr, "status 101")
	}
}

// Whatever a server writes beside its answers, requests that follow each other share one
// socket.
func TestHTTPOneSocket(t *testing.T) {
	const rest = "what is not read\n"
	refuse := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, rest, http.StatusMethodNotAllowed) }
	for name, s := range map[string]*script{
		"listening stream refused": {get: refuse},
		"notification answered": {get: refuse, noted: func(p *post) {
			p.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(p, rest)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var sockets atomic.Int32
			server := httptest.NewUnstartedServer(s)
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					sockets.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			l := shake(t, &transport.HTTP{URL: server.URL})
			for range 3 {
				assert.OK(t, l.Write(bounded(t), &jsonrpc.Request{Method: "notifications/x"}))
				wantResult(t, l, okResult)
			}
			assert.Equal(t, sockets.Load(), 1, "sockets")
		})
	}
}

// What a server says of a login is short, has no control characters, and nothing that was
// sent to it, or that looks like a secret.
func TestChallengeIsShown(t *testing.T) {
	const key = "hunter2!"
	github := "ghp_" + strings.Repeat("a1", 18)
	for _, code := range []int{401, 403} {
		url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="docs", error_description="`+r.Header.Get("Authorization")+" "+r.Header.Get("X-Key")+" "+
				r.URL.Query().Get("key")+" "+github+"\u202e\u200b\t"+strings.Repeat("long ", 1000)+`"`)
			w.WriteHeader(code)
		}))
		header := http.Header{"Authorization": {"Bearer " + key + "a"}, "X-Key": {key + "x"}}
		_, err := ask(t, dial(t, &transport.HTTP{URL: url + "/mcp?key=" + key + "q", Header: header}))
		got := assert.As[*transport.StatusError](t, err).Challenge
		assert.Equal(t, got[:min(len(got), 19)], `Bearer realm="docs"`, "%d: beginning of the challenge", code)
		assert.Lacks(t, got, key, "%d: the challenge", code)
		assert.Lacks(t, got, github, "%d: the challenge", code)
		assert.True(t, len(got) <= 600, "%d: the challenge of %d bytes is short", code, len(got))
		wantVisible(t, got)
	}
}

// wantVisible fails the test if a text has runes that cannot be seen.
func wantVisible(t *testing.T, text string) {
	t.Helper()
	i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) || r == 0x3164 })
	assert.False(t, i >= 0, "got %q with %q in it, want visible characters", text, text[max(i, 0):min(len(text), i+3)])
}

// What a server writes is made visible in the texts of errors.
func TestErrorTextsShowWhatIsHidden(t *testing.T) {
	const spell = "no\x1b[2J safe\revil \u202egnp.exe ze\u200bro \u3164fill"
	for _, err := range []error{
		&transport.ExitError{Path: "x", Code: 1, Stderr: spell + "\n\tat main\n"},
		&transport.RedirectError{Code: 302, To: "https://" + spell},
	} {
		assert.Contains(t, err.Error(), "evil")
		wantVisible(t, err.Error())
	}
}

func TestErrorClasses(t *testing.T) {
	for _, test := range []struct {
		err  error
		want failure.Class
	}{
		{&transport.StatusError{Code: 401}, failure.Denied},
		{&transport.StatusError{Code: 403}, failure.Denied},
		{&transport.StatusError{Code: 500}, failure.ServerError},
	} {
		assert.Equal(t, failure.Of(test.err), test.want, "%v", test.err)
	}
}

// wantNotReady expects that a client does not become ready, and why.
func wantNotReady(t *testing.T, tr mcp.Transport, want string) {
	t.Helper()
	if err := ready(t, tr); err == nil {
		t.Errorf("got no error, want %q", want)
	} else {
		assert.Contains(t, err.Error(), want)
	}
}

// What panics in the functions and handlers of a recipe fails the connection, and not
// the program.
func TestCallbackPanics(t *testing.T) {
	site, refuses := listen(t, &script{}), listen(t, refusing(401, "Bearer"))
	for want, tr := range map[string]mcp.Transport{
		"Serve panicked: out of order":        &transport.Pipe{Serve: func(context.Context, mcp.Transport) error { panic("out of order") }},
		"RoundTripper panicked: out of order": &transport.HTTP{URL: site, RoundTripper: roundTripper(func(*http.Request) (*http.Response, error) { panic("out of order") })},
		"OAuth.TokenSource panicked":          &transport.HTTP{URL: site, OAuth: panickingSource{}},
		"OAuth.Authorize panicked":            &transport.HTTP{URL: refuses, OAuth: &login{authorize: func(int) (string, error) { panic("out of order") }}},
		"OAuth.Authenticate panicked":         &transport.HTTP{URL: site, OAuth: &authenticator{t: t, pass: func(context.Context, http.Header) error { panic("out of order") }}},
	} {
		wantNotReady(t, tr, want)
	}
}

type panickingSource struct{ *login }

func (panickingSource) TokenSource(context.Context) (oauth2.TokenSource, error) {
	panic("out of order")
}
