package serve

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// public is how serve is reached: by other names than this machine's, and through a proxy.
type public struct {
	hosts, origins []string
	text           string // the URL below which its paths are; empty: that of the listener

	url *url.URL // of the text; without a text empty
}

// open checks the flags.
func (p *public) open(l net.Listener, noKey bool, adminRole string) (err error) {
	p.text = strings.TrimRight(p.text, "/")
	p.url, err = url.Parse(p.text)
	given := p.text != "" || p.hosts != nil || p.origins != nil
	switch {
	case err != nil, p.text != "" && (p.url.Scheme != "https" && p.url.Scheme != "http" || p.url.Host == "" || p.url.User != nil || p.url.RawQuery != "" || p.url.Fragment != ""):
		return cli.UsageError("--public-url takes an http or https URL without user, query and fragment")
	case given && l == nil:
		return cli.UsageError("--public-url, --host and --origin are for a listener: leave out --stdio")
	case noKey && (p.text != "" || p.hosts != nil):
		return cli.UsageError("without a key it is for programs of this machine: leave out --public-url and --host")
	case p.url.Path != "" && adminRole != "":
		return cli.UsageError("the page of --admin is at the root of its host: leave out the path of --public-url")
	}
	for _, origin := range p.origins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return cli.UsageError("--origin takes the scheme and host of a page, such as https://app.example")
		}
	}
	if p.text == "" {
		return nil
	}
	p.origins = append(p.origins, p.origin())
	if isLoopback(l) || p.hosts != nil {
		p.hosts = append(p.hosts, p.url.Host)
	}
	return nil
}

func (p *public) origin() string { return p.url.Scheme + "://" + p.url.Host }

// names returns those of the Host field, nil if these are what they are without flags.
func (p *public) names() []string {
	if p.hosts == nil {
		return nil
	}
	return append([]string{"localhost", "127.0.0.1", "::1"}, p.hosts...)
}

// base returns the URL below which the paths are that are printed, which is one that can be typed.
func (p *public) base(l net.Listener) string {
	if p.text != "" {
		return p.text
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err != nil || !ip.IsUnspecified() {
		return "http://" + l.Addr().String()
	}
	return "http://" + net.JoinHostPort("localhost", port)
}

// handler serves requests of a proxy that leaves the path of the URL in place, or names itself as the host.
func (p *public) handler(next http.Handler) http.Handler {
	if p.text == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, below := strings.CutPrefix(r.URL.Path, p.url.Path)
		below = below && strings.HasPrefix(rest, "/") && p.url.Path != ""
		own := slices.Equal(r.Header.Values("Origin"), []string{p.origin()}) // which no other page can say
		if below || own {
			r = r.Clone(r.Context())
		}
		if below {
			r.URL.Path, r.URL.RawPath = rest, strings.TrimPrefix(r.URL.RawPath, p.url.EscapedPath())
		}
		if own {
			r.Host = p.url.Host
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether only this machine reaches a listener.
func isLoopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
