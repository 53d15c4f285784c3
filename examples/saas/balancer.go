package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
)

// A balancer passes each request on to the next replica. It is what nginx or a cloud would be: no
// session sticks to a replica, and the replicas need not know of it.
type balancer struct {
	addrs []string
	next  atomic.Uint64
}

// handler returns the balancer for a service at host. Requests for other hosts come from pages that had
// a name of theirs lead here, and are refused.
func (b *balancer) handler(host string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "replica"
			r.Out.Host = r.In.Host // which the check of the request's origin compares
		},
		Transport: &http.Transport{DialContext: b.dial, DisableKeepAlives: true}, // a connection for each request
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host {
			http.Error(w, "This is another host.", http.StatusMisdirectedRequest)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// dial connects to the next replica or, if that is not there, to the one after it: nothing of the request
// was sent by then. A request that was sent is never sent again.
func (b *balancer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var errs []error
	for range b.addrs {
		addr := b.addrs[b.next.Add(1)%uint64(len(b.addrs))]
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
