package guardhttp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

// proxyKey is under which a request's context says by which proxy it goes, so that
// the function that chooses the proxy is called once.
type proxyKey struct{}

func proxyOf(req *http.Request) (*url.URL, error) {
	by, _ := req.Context().Value(proxyKey{}).(*url.URL)
	return by, nil
}

// refusedByProxy says why there is no way through a proxy.
func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return plainError(fmt.Sprintf("the proxy refuses the connection: HTTP status %d", answer.StatusCode))
	}
	return nil
}

// dial connects to a host, and checks each address that its name leads to at the
// time it is connected to. Connections to a proxy, which the configuration names,
// are not checked.
func (c *Client) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	d := c.dialer
	if by, _ := ctx.Value(proxyKey{}).(*url.URL); by != nil {
		return d.DialContext(ctx, network, hostport)
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	host = canonical(host)
	d.ControlContext = func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || network != "tcp4" && network != "tcp6" {
			return &Refusal{Problem: refusal(special)}
		}
		if problem := c.places.checkAddr(host, to.Addr()); problem != "" {
			return &Refusal{Problem: problem}
		}
		return nil
	}
	return d.DialContext(ctx, network, hostport)
}
