package replica

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/share"
)

// forwardedField is the header field of a request that another replica has passed on. It is not
// passed on again.
const forwardedField = "Mcpbelt-Forwarded"

const (
	// maxScanned is how much of a body is kept and looked at, in bytes, and maxBodies bounds all of them.
	maxScanned = 1 << 20
	maxBodies  = 64 << 20
	// scanWithin is how long the sender may take.
	scanWithin = 30 * time.Second
)

// ID returns the name of the member, which no other one has: 12 letters and digits. As Replica of
// approval.Options, and of the options of a gateway, it begins the ids of what is made there, see [Member.Handler].
func (m *Member) ID() string {
	if m == nil {
		return ""
	}
	return m.id
}

// Handler returns a handler that passes a request on to the replica that it is about: one whose path,
// query, session, cookies or first MiB of its body has the ID of another member, as the ids of its gateway begin. All other
// requests, and those about members that have died or have no URL, are for h. So a load balancer may
// send each request to any replica. Who makes a request is examined where it arrives in the end and, if h is a
// gateway.Gateway, before its body is read: so give it the gateway itself. The bodies that are looked at have 64 MiB
// together at most, and those of one caller a quarter of that.
func (m *Member) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m == nil || r.Header.Get(forwardedField) != "" {
			h.ServeHTTP(w, r)
			return
		}
		target := m.addressee(func(id string) bool {
			return strings.Contains(r.URL.Path, id) || strings.Contains(r.URL.RawQuery, id) ||
				strings.Contains(r.Header.Get("Mcp-Session-Id"), id) || strings.Contains(strings.Join(r.Header.Values("Cookie"), ";"), id)
		})
		var body []byte
		rest := r.Body // which the server closes
		owner, admitted := "", true
		if a, ok := h.(admitter); ok && target == nil && r.Method == http.MethodPost {
			owner, admitted = a.Admits(r)
		}
		if target == nil && r.Method == http.MethodPost && admitted {
			size := maxScanned
			if r.ContentLength >= 0 {
				size = int(min(r.ContentLength, maxScanned))
			}
			if !m.scan(owner, size) {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests are under way", http.StatusServiceUnavailable)
				return
			}
			defer m.scanned(owner, size)
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Now().Add(scanWithin)) // not all writers can
			var err error
			if body, err = io.ReadAll(io.LimitReader(rest, maxScanned)); err != nil {
				http.Error(w, "the body cannot be read", http.StatusBadRequest)
				return
			}
			_ = control.SetReadDeadline(time.Time{})
			target = m.addressee(func(id string) bool { return bytes.Contains(body, []byte(id)) })
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), rest))
		}
		if target == nil {
			h.ServeHTTP(w, r)
			return
		}
		m.forward(w, r, target, func() {
			if body != nil {
				r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), rest))
			}
			h.ServeHTTP(w, r)
		})
	})
}

// An admitter knows who makes a request before its body is read: who has it, and whether h serves them. It refuses
// the others, or serves them without reading much.
type admitter interface {
	Admits(r *http.Request) (owner string, ok bool)
}

// scan counts a body that is looked at until scanned is called. It reports false if there is no room.
func (m *Member) scan(owner string, size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := share.Owner{User: owner}
	m.bodies.Add(of, size)
	if ok := !m.bodies.Full() && !m.bodies.Exceeds(of, 4); ok {
		return true
	}
	m.bodies.Remove(of, size)
	return false
}

func (m *Member) scanned(owner string, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies.Remove(share.Owner{User: owner}, size)
}

// addressee returns the URL of the other member whose ID the request has, with the mark that follows it;
// nil if there is none.
func (m *Member) addressee(has func(id string) bool) *url.URL {
	m.mu.Lock()
	peers := m.peers // which is replaced, not changed
	m.mu.Unlock()
	for id, p := range peers {
		if p.url != nil && has(id+"-") && m.isAlive(id) {
			return p.url
		}
	}
	return nil
}

// forward passes a request on. If the other member cannot be reached, here is called instead.
func (m *Member) forward(w http.ResponseWriter, r *http.Request, target *url.URL, here func()) {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host // URLs that are made there are those that the client knows
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if said := p.In.Header[name]; said != nil { // by the load balancer
					p.Out.Header[name] = said
				}
			}
			p.Out.Header.Set(forwardedField, m.id)
		},
		Transport:     m.proxy,
		FlushInterval: -1, // streams
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
				here() // nothing was sent
				return
			}
			m.logger.Warn("replica: passing a request on", "error", err)
			http.Error(w, "the replica that holds this is out of reach", http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}
