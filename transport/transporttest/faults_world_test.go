//go:build unix

package transporttest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A wire is a way to reach a server.
type wire string

const (
	overStdio wire = "stdio"
	overHTTP  wire = "http"
	overSSE   wire = "sse"
)

// A world is what a cell talks to: a server, and what lies between.
type world struct {
	transport mcp.Transport
	victim    *victim // nil if it is a process
	server    *httptest.Server
	stray     *httptest.Server // another origin
	strayed   atomic.Int64     // requests that came there
	login     *login
}

func newWorld(c *cell) (*world, error) {
	w := &world{}
	if c.wire == overStdio {
		w.transport = c.command()
		return w, nil
	}
	v, err := newVictim(c.plan)
	if err != nil {
		return nil, err
	}
	w.victim = v
	if c.plan.Deed == "redirect" {
		w.stray = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.strayed.Add(1) }))
		v.canary = w.stray.URL
	}
	var network *darkListener
	switch c.wire {
	case overHTTP:
		s := &streamable{victim: v, sessions: map[string]bool{}}
		v.forget = func(rw http.ResponseWriter, r *http.Request) {
			s.sessionsMu.Lock()
			s.sessions = map[string]bool{}
			s.sessionsMu.Unlock()
			s.lost(rw, r)
		}
		w.server, network = listen(s)
	case overSSE:
		w.server, network = listen(&sse{victim: v, streams: map[string]*stream{}})
	}
	v.freeze = network.goDark
	if c.plan.Deed == "silent" {
		close(network.dark)
	}
	w.dial(c, w.server.URL)
	return w, nil
}

func (w *world) dial(c *cell, url string) {
	var handler auth.OAuthHandler
	if c.row.login {
		w.login = &login{}
		handler = w.login
	}
	header := http.Header{"X-Key": {"secret"}}
	if c.wire == overSSE {
		w.transport = &transport.HTTP{Variant: transport.SSE, URL: url, MaxMessage: c.row.limit, OAuth: handler, Header: header}
		return
	}
	w.transport = &transport.HTTP{URL: url, MaxMessage: c.row.limit, OAuth: handler, Header: header}
}

func (w *world) close() {
	if w.login != nil {
		w.login.unblock()
	}
	for _, s := range []*httptest.Server{w.server, w.stray} {
		if s != nil {
			s.CloseClientConnections()
			s.Close()
		}
	}
	if w.victim != nil {
		w.victim.posts.Wait()
		_ = w.victim.ledger.file.Close()
	}
}

// A login hands out tokens, a new one after each Authorize, and can block.
type login struct {
	generation atomic.Int64
	blocked    atomic.Pointer[chan struct{}]
}

func (l *login) TokenSource(context.Context) (oauth2.TokenSource, error) { return l, nil }

func (l *login) Token() (*oauth2.Token, error) {
	if blocked := l.blocked.Load(); blocked != nil {
		<-*blocked
	}
	return &oauth2.Token{AccessToken: "token-" + strings.Repeat("x", int(l.generation.Load()))}, nil
}

func (l *login) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	l.generation.Add(1)
	return resp.Body.Close()
}

func (l *login) block() {
	blocked := make(chan struct{})
	l.blocked.Store(&blocked)
}

func (l *login) unblock() {
	if blocked := l.blocked.Swap(nil); blocked != nil {
		close(*blocked)
	}
}
