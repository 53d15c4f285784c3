// Package webguard tells requests of pages in a browser, which have no business with a server on this machine,
// from others.
package webguard

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Foreign says why a request may come from a page that has no business here, or returns nothing. Hosts
// are the names of the server; if there are none, one at a loopback address has those of this machine
// alone, so that no page reaches it by a name of its own (DNS rebinding). Origins are those of pages whose
// scripts may use the server besides its own.
func Foreign(r *http.Request, hosts, origins []string) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if len(hosts) > 0 {
		if !slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, r.Host) || strings.EqualFold(h, host) }) {
			return "the Host field has a name that is not the gateway's"
		}
	} else if tcp, ok := localAddr(r).(*net.TCPAddr); ok && tcp.IP.IsLoopback() && !isLocalName(host) {
		return "the Host field has a name that is not this machine's"
	}
	origin := r.Header.Get("Origin")
	if site := r.Header.Get("Sec-Fetch-Site"); origin == "" && (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return "the request comes from a page of another origin" // which a browser does not name for all
	}
	if origin == "" || slices.Contains(origins, origin) {
		return ""
	}
	u, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(u.Host, r.Host) && !(isLocalName(u.Hostname()) && isLocalName(host)) {
		return "the request comes from a page of another origin"
	}
	return ""
}

// Allow lets the scripts of the page that sends a request, which is not [Foreign], send some header fields and
// read some of the answer.
func Allow(w http.ResponseWriter, r *http.Request, sent, read string) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Headers", sent)
	h.Set("Access-Control-Expose-Headers", read)
}

// IsLocal reports whether a request came in at a loopback address or a unix socket, which only programs of
// this machine reach.
func IsLocal(r *http.Request) bool {
	switch local := localAddr(r).(type) {
	case *net.TCPAddr:
		return local.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

func localAddr(r *http.Request) net.Addr {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return local
}

func isLocalName(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
