// Tests of gateways on several replicas: the ids of session.go, errand.go and modern.go, behind replica.Member.Handler.

package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A fleet is two replicas behind a load balancer that sends each request to the next one.
type fleet struct {
	site
	replicas [2]*approvalSite
	webs     [2]*httptest.Server
	dead     [2]atomic.Bool
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{}
	store := storage.NewMemory()
	targets, members := [2]*url.URL{}, [2]*replica.Member{}
	for i := range f.webs {
		web := httptest.NewUnstartedServer(nil)
		m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: "http://" + web.Listener.Addr().String(), Every: 20 * time.Millisecond}))(t)
		f.replicas[i] = newApprovalSite(t, true, &gateway.Options{Replica: m.ID()})
		assert.OK(t, m.Attach(f.replicas[i].host.Registry()))
		web.Config.Handler = m.Handler(f.replicas[i].gateway)
		web.Start()
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
			assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil, "Close of the member")
		})
		f.webs[i], members[i] = web, m
		targets[i] = assert.Value(url.Parse(web.URL))(t)
	}
	for _, m := range members { // it looks for the others
		assert.Value(m.Approvals(t.Context()))(t)
	}
	var next atomic.Int64
	pool := &http.Transport{DisableKeepAlives: true}
	front := httptest.NewServer(&httputil.ReverseProxy{Transport: pool, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		i := next.Add(1) % 2
		if f.dead[i].Load() {
			i = 1 - i
		}
		p.SetURL(targets[i])
		p.Out.Host = p.In.Host
	}})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		pool.CloseIdleConnections()
	})
	f.url = front.URL
	return f
}

// What begins on one replica goes on, whichever replica its requests come to.
func TestReplicas(t *testing.T) {
	f := newFleet(t)
	for _, revision := range both {
		for _, ability := range []string{"form", "url", "none"} {
			t.Run(revision+"/"+ability, func(t *testing.T) {
				c := f.newUser(t, "/mcp", "ada", revision, askedBy(t, ability, "accept", newBrowser(t, "ada"), make(chan string, 100)))
				for i := range assert.Cases(3, 8) { // an odd number of requests comes first to the one, and to the other
					text := fmt.Sprint(revision, ability, i)
					res := f.replicas[0].delete(t, c, text)
					if ability == "none" {
						id, page := waiting(t, res)
						assert.OK(t, newBrowser(t, "ada").decide(t.Context(), page, "approve", ""))
						res = assert.Value(awaitCall(t, c, id))(t)
					}
					assert.Equal(t, res.Text(), "deleted "+text)
					assert.Equal(t, f.replicas[0].ran(text)+f.replicas[1].ran(text), 1, "runs")
				}
			})
		}
	}
}

// A session ends with its replica, and its client begins another one.
func TestReplicaDies(t *testing.T) {
	f := newFleet(t)
	clients := map[string]*mcp.Client{}
	for _, revision := range both {
		clients[revision] = f.newUser(t, "/mcp", "ada", revision, nil)
		waiting(t, f.replicas[0].delete(t, clients[revision], "before"))
	}
	f.dead[0].Store(true)
	f.webs[0].CloseClientConnections()
	f.webs[0].Close()
	for _, revision := range both {
		waiting(t, f.replicas[1].delete(t, clients[revision], "after"))
		waiting(t, f.replicas[1].delete(t, clients[revision], "later"))
	}
}

// The id of a session says which replica has it; one of a replica that does not answer is not known.
func TestReplicaInSession(t *testing.T) {
	s := openSite(t, &gateway.Options{Replica: "abcdefgh"})
	c := s.connect(t, &client{})
	assert.True(t, strings.HasPrefix(c.session, "abcdefgh-"), "%s begins with the replica", c.session)
	s.wantStatus(t, http.StatusOK, c.query("ping", ""))
	c.session = "hgfedcba" + c.session[8:]
	s.wantStatus(t, http.StatusNotFound, c.query("ping", ""), "a session of another replica")
}
