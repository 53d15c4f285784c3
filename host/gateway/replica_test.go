package gateway_test

import (
	"context"
	"encoding/json"
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
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A fleet is two replicas behind a load balancer that sends each request to the next one.
type fleet struct {
	url      string
	deleters [2]*deleter
	webs     [2]*httptest.Server
	dead     [2]atomic.Bool
}

func newFleet(t *testing.T, o gateway.Options) *fleet {
	t.Helper()
	f := &fleet{}
	store := storage.NewMemory()
	targets, members := [2]*url.URL{}, [2]*replica.Member{}
	for i := range f.webs {
		web := httptest.NewUnstartedServer(nil)
		m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: "http://" + web.Listener.Addr().String(), Every: 20 * time.Millisecond}))(t)
		own := o
		own.Replica = m.ID()
		f.deleters[i] = newDeleter(t, true, &own)
		assert.OK(t, m.Attach(f.deleters[i].host.Registry()))
		web.Config.Handler = m.Handler(f.deleters[i].gateway)
		web.Start()
		f.webs[i] = web
		targets[i], _ = url.Parse(web.URL)
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
			if err := m.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		members[i] = m
	}
	for _, m := range members {
		if _, err := m.Approvals(t.Context()); err != nil { // it looks for the others
			t.Fatal(err)
		}
	}
	var next atomic.Int64
	pool := &http.Transport{DisableKeepAlives: true}
	balancer := &httputil.ReverseProxy{
		Transport: pool, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			i := next.Add(1) % 2
			if f.dead[i].Load() {
				i = 1 - i
			}
			p.SetURL(targets[i])
			p.Out.Host = p.In.Host
		},
	}
	front := httptest.NewServer(balancer)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		pool.CloseIdleConnections()
	})
	f.url = front.URL
	return f
}

// ran returns how often the tool was called with the argument, on both replicas.
func (f *fleet) ran(text string) int { return f.deleters[0].ran(text) + f.deleters[1].ran(text) }

// What begins on one replica goes on, whichever replica its requests come to.
func TestReplicas(t *testing.T) {
	f := newFleet(t, gateway.Options{})
	for _, revision := range both {
		for _, ability := range []string{"form", "url", "none"} {
			t.Run(revision+"/"+ability, func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				questions := make(chan string, 100)
				c := newUser(t, f.url+"/mcp", "ada", revision, asked(t, ability, "accept", newBrowser(t, "ada"), questions))
				for i := range 8 {
					text := fmt.Sprint(revision, ability, i)
					res, err := f.deleters[0].delete(ctx, c, text)
					assert.OK(t, err)
					if ability == "none" {
						id, page := waiting(t, res)
						assert.Value(newBrowser(t, "ada").decide(ctx, page, "approve", ""))(t)
						if res, err = c.CallTool(ctx, "await_call", json.RawMessage(fmt.Sprintf(`{"id":%q}`, id)), nil); err != nil {
							t.Fatal(err)
						}
					}
					assert.Equal(t, res.Text(), "deleted "+text)
					assert.Equal(t, f.ran(text), 1, "runs")
				}
			})
		}
	}
}

// A session ends with its replica, and its client begins another one.
func TestReplicaDies(t *testing.T) {
	f := newFleet(t, gateway.Options{})
	ctx := hosttest.Watchdog(t)
	clients := map[string]*mcp.Client{}
	call := func(revision, text string) {
		res, err := f.deleters[0].delete(ctx, clients[revision], text)
		if err != nil {
			t.Fatalf("%s: %v", revision, err)
		}
		waiting(t, res)
	}
	for _, revision := range both {
		clients[revision] = newUser(t, f.url+"/mcp", "ada", revision, nil)
		call(revision, "before")
	}
	f.dead[0].Store(true)
	f.webs[0].CloseClientConnections()
	f.webs[0].Close()
	for _, revision := range both {
		call(revision, "after")
		call(revision, "later")
	}
}

// The id of a session says which replica has it; one of a replica that does not answer is not known.
func TestReplicaInSession(t *testing.T) {
	d := newDeleter(t, false, &gateway.Options{Replica: "abcdefgh"})
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	post := func(session, body string) *http.Response {
		req := assert.Value(http.NewRequestWithContext(t.Context(), "POST", d.url+"/mcp", strings.NewReader(body)))(t)
		req.Header = http.Header{"Content-Type": {"application/json"}, userField: {"ada"}}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res := assert.Value(http.DefaultClient.Do(req))(t)
		_ = res.Body.Close()
		return res
	}
	session := post("", body).Header.Get("Mcp-Session-Id")
	if !strings.HasPrefix(session, "abcdefgh-") {
		t.Errorf("got the session %q, want one that begins with the replica", session)
	}
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for id, want := range map[string]int{session: 200, "hgfedcba" + session[8:]: 404} {
		assert.Equal(t, post(id, ping).StatusCode, want, "%s: the status", id)
	}
	http.DefaultClient.CloseIdleConnections()
}
