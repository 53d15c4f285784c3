package launch

import (
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/origin"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Options say what a transport has besides what its entry says.
type Options struct {
	Header http.Header       // of requests; those of the entry are added where there is none
	OAuth  auth.OAuthHandler // may be nil
	Shared *origin.Origin    // by the transports of one server's users; nil: nothing
	Users  int               // at a time; less than zero: any number
}

// Transport returns the transport that an entry says.
func Transport(e *config.Server, o *Options) (mcp.Transport, error) {
	if e.Transport == config.TransportStdio {
		env := make([]string, 0, len(e.Env))
		for name, value := range e.Env {
			env = append(env, name+"="+value.Reveal())
		}
		return &transport.Command{
			Path: e.Command, Args: e.Args, Dir: e.Cwd, Env: env,
			MaxMessage: e.Limits.MaxMessage,
		}, nil
	}
	if e.Transport == config.TransportUnix {
		return &transport.Socket{Path: e.Socket(), MaxMessage: e.Limits.MaxMessage}, nil
	}
	all := o.Header.Clone()
	if all == nil {
		all = http.Header{}
	}
	for name, value := range e.Headers {
		if len(all.Values(name)) == 0 {
			all.Set(name, value.Reveal())
		}
	}
	settings, err := e.TLSConfig(false)
	if err != nil {
		return nil, err
	}
	proxy := e.ProxyFunc()
	sockets := o.Shared.Sockets(e.Proxy, settings, func() *http.Transport {
		made := transport.NewRoundTripper()
		made.MaxIdleConnsPerHost = max(made.MaxIdleConnsPerHost, o.Users)
		made.TLSClientConfig = settings.Clone()
		if proxy != nil {
			made.Proxy = proxy
		}
		return made
	})
	variant, known := map[string]transport.Variant{config.TransportHTTP: 0, config.TransportSSE: transport.SSE, config.TransportAuto: transport.Auto}[e.Transport]
	if !known {
		return nil, fmt.Errorf("unknown transport %q", e.Transport)
	}
	return &transport.HTTP{URL: e.URL, Variant: variant, Header: all, OAuth: o.OAuth, RoundTripper: sockets, TLS: settings, Proxy: proxy, MaxMessage: e.Limits.MaxMessage}, nil
}
