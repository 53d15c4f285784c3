package host

import (
	"context"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"

	"github.com/mcpbelt/mcpbelt/transport"
)

// probeAnswers is how many kinds of HTTP responses a test keeps.
const probeAnswers = 16

// A webAnswer is what an HTTP server said, apart from the body.
type webAnswer struct {
	method string
	status int
	kind   string // media type; empty if there was none
	proxy  bool   // it was the proxy who said so
}

// tripper returns what makes the requests of a remote server, and looks on.
func (p *probe) tripper(inner http.RoundTripper) http.RoundTripper {
	p.web = true
	if inner == nil {
		t := transport.NewRoundTripper()
		t.OnProxyConnectResponse = p.onProxy
		p.owned = append(p.owned, t)
		inner = t
	}
	return &webProbe{inner, p}
}

// A webProbe tells the probe what becomes of requests.
type webProbe struct {
	inner http.RoundTripper
	probe *probe
}

// RoundTrip implements http.RoundTripper.
func (w *webProbe) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { w.probe.reach(TestConnected) },
	})
	resp, err := w.inner.RoundTrip(req.WithContext(ctx))
	if err == nil {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		w.probe.answered(webAnswer{method: req.Method, status: resp.StatusCode, kind: kind})
		resp.Request = req
	}
	return resp, err
}

// onProxy notes the answer of a proxy that was asked for a connection.
func (p *probe) onProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		p.answered(webAnswer{method: http.MethodConnect, status: resp.StatusCode, proxy: true})
	}
	return nil
}

func (p *probe) answered(a webAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen.answers) < probeAnswers && !slices.Contains(p.seen.answers, a) {
		p.seen.answers = append(p.seen.answers, a)
	}
}

// usesProxy returns the proxy that requests to an address go through, without its
// user and password, or nil.
func usesProxy(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return nil
	}
	return &url.URL{Scheme: proxy.Scheme, Host: proxy.Host}
}
