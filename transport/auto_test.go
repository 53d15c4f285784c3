package transport_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A counter counts requests by method.
type counter struct {
	next  atomic.Pointer[http.Handler]
	posts atomic.Int32
	gets  atomic.Int32
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		c.posts.Add(1)
	case http.MethodGet:
		c.gets.Add(1)
	}
	(*c.next.Load()).ServeHTTP(w, r)
}

func counted(h http.Handler) *counter {
	c := &counter{}
	c.next.Store(&h)
	return c
}

// shakingOld is an HTTP+SSE server that shakes hands and answers, and refuses
// a POST to its stream's address with the given status and body.
func shakingOld(status int, body string) http.Handler {
	old := newOldServer(func(p *post, events chan<- string) {
		switch {
		case p.Method == "initialize":
			events <- p.fill(initialized)
		case p.ID != nil:
			events <- p.fill(answer)
		}
		p.WriteHeader(http.StatusAccepted)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path != "/messages" {
			p := &post{ResponseWriter: w, r: r}
			decode(p)
			p.json(status, body)
			return
		}
		old.ServeHTTP(w, r)
	})
}

func TestAutoFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"404":      {404, "Not found"},
		"405":      {405, ""},
		"400 page": {400, "<html>"},
		"404 JSON": {404, `{"error":"Not Found"}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := counted(shakingOld(c.status, c.body))
			recipe := &transport.Auto{URL: listen(t, server)}
			for life := range 2 {
				l := dial(t, recipe)
				if err := handshake(t, l); err != nil {
					t.Fatalf("life %d: %v", life, err)
				}
				if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
					t.Errorf("life %d: got %s, %v", life, got, err)
				}
				closeWithin(t, l)
			}
			// initialize, initialized and a call in each life, and one refusal.
			assert.Equal(t, server.posts.Load(), 7, "posts: what was found is not remembered")
		})
	}
}

func TestAutoDoesNotFallBack(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"401":            {401, ""},
		"403":            {403, ""},
		"429":            {429, ""},
		"500":            {500, ""},
		"503":            {503, ""},
		"400 with error": {400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"bad"}}`},
		"404 with error": {404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"bad"}}`},
	} {
		server := counted(shakingOld(c.status, c.body))
		l := dial(t, &transport.Auto{URL: listen(t, server)})
		assert.Fails(t, handshake(t, l), "%s: no error", name)
		assert.Equal(t, server.gets.Load(), 0, "%s: streams opened", name)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, url := range map[string]string{"certificate": secure.URL, "refused": deadport.URL(t)} {
		l := dial(t, &transport.Auto{URL: url})
		assert.Fails(t, handshake(t, l), "%s: no error", name)
		if l.Info().Err == nil {
			t.Errorf("%s: the connection lives", name)
		}
	}
}

// When both ways fail the session hears of both, as an answer.
func TestAutoBothFail(t *testing.T) {
	l := dial(t, &transport.Auto{URL: listen(t, http.NotFoundHandler())})
	err := handshake(t, l)
	if err == nil || !strings.Contains(err.Error(), "POST") || !strings.Contains(err.Error(), "GET") {
		t.Errorf("got %v", err)
	}
	var status *transport.StatusError
	if !errors.As(err, &status) {
		t.Errorf("no StatusError in %v", err)
	}
	if l.Info().Err != nil {
		t.Errorf("the connection ended: %v", l.Info().Err)
	}
}

// A server that was upgraded is found out.
func TestAutoForgets(t *testing.T) {
	server := counted(shakingOld(405, ""))
	recipe := &transport.Auto{URL: listen(t, server)}
	l := dial(t, recipe)
	assert.OK(t, handshake(t, l))
	closeWithin(t, l)
	var upgraded http.Handler = &script{call: func(p *post) { p.json(200, answer) }}
	server.next.Store(&upgraded)
	if _, err := recipe.Connect(bounded(t)); err == nil {
		t.Fatal("the stream of an upgraded server opened")
	}
	l = dial(t, recipe)
	assert.OK(t, handshake(t, l))
	if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
		t.Errorf("got %s, %v", got, err)
	}
}
