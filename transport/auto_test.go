package transport_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

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

// A refusal is how an old server refuses what it does not know.
type refusal struct {
	status int
	body   string
}

func TestAutoFallsBack(t *testing.T) {
	for _, r := range []refusal{{404, "Not found"}, {405, ""}, {400, "<html>"}, {404, `{"error":"Not Found"}`}} {
		server := newRecorder(shakingOld(r.status, r.body), false)
		recipe := &transport.HTTP{Variant: transport.Auto, URL: listen(t, server)}
		for range 2 {
			l := dial(t, recipe)
			assert.OK(t, handshake(t, l), "%v", r)
			wantResult(t, l, okResult)
			closeWithin(t, l)
		}
		// A refusal, initialize, initialized and a call on each connection.
		assert.Equal(t, server.count(http.MethodPost), 8, "%v: posts on two connections", r)
	}
}

func TestAutoDoesNotFallBack(t *testing.T) {
	//report: Transports | labring/FastGPT#7154 | a client tries the older HTTP+SSE transport after any failure, and shows its error | only after 400, 404 and 405 to initialize, whose text names no revisions; if both fail the error says both
	for _, r := range []refusal{
		{401, ""}, {403, ""}, {429, ""}, {500, ""}, {503, ""},
		{400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"bad"}}`},
		{404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"bad"}}`},
	} {
		server := newRecorder(shakingOld(r.status, r.body), false)
		assert.Fails(t, handshake(t, dial(t, &transport.HTTP{Variant: transport.Auto, URL: listen(t, server)})), "%v", r)
		assert.Equal(t, server.count(http.MethodGet), 0, "%v: streams opened", r)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, url := range map[string]string{"certificate": secure.URL, "refused": deadport.URL(t)} {
		l := dial(t, &transport.HTTP{Variant: transport.Auto, URL: url})
		assert.Fails(t, handshake(t, l), name)
		assert.Fails(t, l.Info().Err, name)
	}
}

// When both ways fail the session hears of both, as an answer.
func TestAutoBothFail(t *testing.T) {
	l := dial(t, &transport.HTTP{Variant: transport.Auto, URL: listen(t, http.NotFoundHandler())})
	err := handshake(t, l)
	assert.As[*transport.StatusError](t, err)
	assert.Contains(t, err.Error(), "POST")
	assert.Contains(t, err.Error(), "GET")
	assert.OK(t, l.Info().Err, "connection")
}

// A server that was upgraded is found out.
func TestAutoForgets(t *testing.T) {
	server := newRecorder(shakingOld(405, ""), false)
	recipe := &transport.HTTP{Variant: transport.Auto, URL: listen(t, server)}
	l := dial(t, recipe)
	assert.OK(t, handshake(t, l))
	closeWithin(t, l)
	server.replace(&script{})
	l = dial(t, recipe)
	assert.OK(t, handshake(t, l))
	wantResult(t, l, okResult)
}

// A client whose probe and handshake an old server refuses in its way finds that
// server's transport; one that is refused by an error of revision 2026-07-28
// does not look for it.
func TestAutoClient(t *testing.T) {
	//report: Transports | NousResearch/hermes-agent#106432, modelstudioai/cli#153 | a server speaks HTTP+SSE alone, and the entry has nothing but its URL | found out by the refusal of initialize, within the same connection
	const modernError = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"unsupported version"}}`
	for r, isOld := range map[refusal]bool{
		{400, ""}: true, {404, "Not found"}: true, {405, ""}: true, {400, modernError}: false, {404, modernError}: false,
	} {
		server := newRecorder(shakingOld(r.status, r.body), false)
		client := newClient(t, &transport.HTTP{Variant: transport.Auto, URL: listen(t, server)}, mcp.ClientOptions{})
		err := client.Ready(bounded(t))
		if isOld {
			assert.OK(t, err, "%v", r)
			assert.OK(t, client.Ping(bounded(t)), "%v", r)
			assert.Equal(t, server.count(http.MethodGet), 1, "%v: streams opened", r)
			assert.Equal(t, client.State().Connections, 1, "%v: connections", r)
		} else {
			assert.Equal(t, assert.As[*mcp.JSONRPCError](t, err).Code, -32022, "%v: code", r)
			assert.Equal(t, server.count(http.MethodGet), 0, "%v: streams opened", r)
		}
	}
}
