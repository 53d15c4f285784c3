package doctor

import (
	"context"
	"crypto/tls"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

// probeAnswers is how many kinds of HTTP responses a test keeps.
const probeAnswers = 16

// A webAnswer is what an HTTP server said, apart from the body.
type webAnswer struct {
	status int
	kind   string // media type; empty if there was none
	proxy  bool   // it was the proxy who said so
}

// tripper returns what makes the requests of a remote server, and looks on.
func (p *probe) tripper(inner http.RoundTripper, settings *tls.Config, proxy func(*http.Request) (*url.URL, error)) http.RoundTripper {
	p.web = true
	if inner == nil {
		t := transport.NewRoundTripper()
		t.OnProxyConnectResponse = p.onProxy
		if settings != nil {
			t.TLSClientConfig = settings.Clone()
		}
		if proxy != nil {
			t.Proxy = proxy
		}
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
		GotConn: func(httptrace.GotConnInfo) { w.probe.reach(testConnected) },
	})
	resp, err := w.inner.RoundTrip(req.WithContext(ctx))
	if err == nil {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		w.probe.answered(webAnswer{status: resp.StatusCode, kind: kind})
		resp.Request = req
	}
	return resp, err
}

// onProxy notes the answer of a proxy that was asked for a connection.
func (p *probe) onProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		p.answered(webAnswer{status: resp.StatusCode, proxy: true})
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

// usesProxy returns the proxy that requests to a server go through, without its user and
// password, or nil.
func usesProxy(e *config.Server) *url.URL {
	if e.Proxy != "" {
		if own, err := url.Parse(e.Proxy); err == nil {
			return &url.URL{Scheme: own.Scheme, Host: own.Host}
		}
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return nil
	}
	return &url.URL{Scheme: proxy.Scheme, Host: proxy.Host}
}
