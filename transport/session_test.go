// Tests of session.go and http.go: the sessions of older revisions, their loss and their end.

package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestHTTPSessionHeaders(t *testing.T) {
	//report: Transports | anthropics/claude-code#45368, f/mcptools#69, punkpeye/mcp-remote#223, XS-MLVP/UCAgent#127 | a server answers 406 unless the Accept field names both content types | every post names both, whatever is configured
	//report: Revisions | modelcontextprotocol/csharp-sdk#1724, OpenLiberty/open-liberty#32520, wso2/carbon-apimgt#13988 | a server checks the field MCP-Protocol-Version of each request against the handshake, or refuses it with the request to initialize | initialize has no such field; all requests after it have the revision that was agreed on
	s := &script{get: keepOpen}
	l := shake(t, &transport.HTTP{URL: listen(t, s), Header: http.Header{"x-api-key": {"k"}, "accept": {"text/html"}}})
	assert.Equal(t, l.SessionID(), sessionID, "SessionID")
	wantResult(t, l, okResult)
	_ = l.Close()
	s.wantRequests(t, 3, 1, 1)
	accept := map[string]string{"POST": "application/json, text/event-stream", "GET": "text/event-stream", "DELETE": "text/html"}
	for i, r := range s.requests("") {
		id, version := sessionID, "2025-11-25"
		if i == 0 { // initialize
			id, version = "", ""
		}
		for name, want := range map[string]string{
			"Mcp-Session-Id": id, "Mcp-Protocol-Version": version, "X-Api-Key": "k", "Mcp-Method": "", "Accept": accept[r.Method],
		} {
			assert.Equal(t, strings.Join(r.Header.Values(name), "; "), want, "%s %d: %s", r.Method, i, name)
		}
	}
}

// unknownSessions are the statuses and bodies by which servers say that a session is unknown.
func unknownSessions() map[string]func(*post) {
	return map[string]func(*post){
		//report: Transports | modelcontextprotocol/python-sdk#1676, punkpeye/mcp-remote#106, markmhendrickson/neotoma#2100 | a server that was started again answers 404 to requests of its former sessions | a new session begins, and the request is sent once more in it
		"404":              func(p *post) { p.WriteHeader(404) },
		"404 with page":    func(p *post) { http.Error(p, "Not found", 404) },
		"404 with id null": func(p *post) { p.json(404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"m"}}`) },
		"404 with id of its own": func(p *post) {
			p.json(404, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}`)
		},
		"400": func(p *post) { p.WriteHeader(400) },
		//report: Transports | modelcontextprotocol/rust-sdk#559 | the same with status 401, no challenge and a text that says that the session was not found | the same; any other 401 means a login
		"401 with text": func(p *post) { http.Error(p, "Unauthorized: Session not found", http.StatusUnauthorized) },
		//report: Transports | punkpeye/fastmcp#121, DAWNCR0W/affine-mcp-server#301, mcp-use/mcp-use#1133, punkpeye/mcp-proxy#14 | the same with status 400 and error -32000, though the specification wants 404 | the same
		"400 with id null":     func(p *post) { p.json(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m"}}`) },
		"400 with code -32000": func(p *post) { p.json(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"m"}}`) },
	}
}

func TestHTTPSessionLost(t *testing.T) {
	for name, respond := range unknownSessions() {
		t.Run(name, func(t *testing.T) {
			s := &script{call: respond}
			l := shakeWith(t, s)
			assert.Is(t, wantFailure(t, l, mcp.NotSent), mcp.ErrSessionLost)
			assert.Is(t, assert.Err(l.Read(bounded(t))), mcp.ErrSessionLost, "Read")
			_ = l.Close()
			assert.Equal(t, len(s.requests(http.MethodDelete)), 0, "requests to end the lost session")
		})
	}
	l := shakeWith(t, &script{call: func(p *post) {
		p.json(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"m"}}`)
	}})
	wantFailure(t, l, mcp.Answered)
	assert.OK(t, l.Info().Err, "connection after the server's error")
}

// A session that the server forgot is replaced by a new one, whatever the body
// says about it, and the call that found out is sent again.
func TestHTTPForgottenSessionIsReplaced(t *testing.T) {
	for _, name := range []string{"404", "404 with id null", "404 with id of its own"} {
		t.Run(name, func(t *testing.T) {
			server := func() string {
				s := &script{}
				s.call = func(p *post) {
					switch {
					case p.Method != "tools/call":
						p.json(200, unknown)
					case s.notes("notifications/initialized") < 2:
						unknownSessions()[name](p)
					default:
						p.json(200, called)
					}
				}
				return listen(t, s)
			}
			client := ours(t, &transport.HTTP{URL: server()})
			assert.OK(t, client.call(bounded(t), "x"))

			client = bare(t, bareHTTP(t, server()))
			first, second := client.call(bounded(t), "x"), client.call(bounded(t), "x")
			if first == nil || second == nil {
				mended(t, "transport/http.go")
			}
		})
	}
}

// A server that refuses a notification which it does not know has not lost the session.
func TestHTTPNotificationRefused(t *testing.T) {
	l := shakeWith(t, &script{noted: func(p *post) { p.WriteHeader(400) }})
	assert.Equal(t, assert.As[*transport.StatusError](t, l.Write(bounded(t), &jsonrpc.Request{Method: "x/unknown"})).Code, 400, "status")
	wantResult(t, l, okResult)
}

// Whatever a server answers to notifications, above all to the first one, which asks for nothing: if
// it takes calls, it is used.
func TestHTTPNotificationAnswers(t *testing.T) {
	plain := func(code int, kind, body string) func(*post) {
		return func(p *post) {
			p.Header().Set("Content-Type", kind)
			p.WriteHeader(code)
			_, _ = io.WriteString(p, body)
		}
	}
	for name, answered := range map[string]func(*post){
		//report: Transports | egoist/chatwise-releases#1360, modelcontextprotocol/rust-sdk#497 | a notification is answered with status 204 | as good as 202
		"204": func(p *post) { p.WriteHeader(204) },
		//report: Transports | Leantime/leantime#3785, modelcontextprotocol/conformance#274, modelcontextprotocol/ruby-sdk#158, opgginc/laravel-mcp-server#43 | a notification is answered with status 200 and a result that answers no request | the same
		"200 JSON": plain(200, "application/json", `{"jsonrpc":"2.0","result":{}}`),
		//report: Transports | helidon-io/helidon-mcp#175 | a notification is answered with status 200 and nothing | the same
		"200": func(p *post) { p.WriteHeader(200) },
		//report: Transports | modelcontextprotocol/java-sdk#748 | a notification is answered with a text of the type text/plain | the same
		"text": plain(200, "text/plain; charset=utf-8", "Accepted"),
		//report: Transports | outline/outline#12572, fredericbarthelet/middy-mcp#7 | the first notification is answered with status 500 or 502, and everything else works | it is passed over
		"500": plain(500, "text/plain", "Internal Server Error"),
		//report: Transports | outline/outline#13775 | a proxy answers the first notification with status 400 and no body | the same
		"400": func(p *post) { p.WriteHeader(400) },
	} {
		t.Run(name, func(t *testing.T) {
			s := once(func(p *post) { p.json(200, called) })
			s.initialized = answered
			ours(t, &transport.HTTP{URL: listen(t, s)}).again(t)
			assert.Equal(t, len(s.requests(http.MethodGet)), 1, "requests for the listening stream")
		})
	}
}

// When the session is lost, each call in flight is told so by the server: none
// has run, and all can be sent again.
func TestHTTPSessionLostForAll(t *testing.T) {
	const n = 8
	var arrived sync.WaitGroup
	arrived.Add(n)
	l := shakeWith(t, &script{call: func(p *post) {
		arrived.Done()
		arrived.Wait()
		p.WriteHeader(404)
	}})
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			wantFailure(t, l, mcp.NotSent)
			assert.Fails(t, l.Info().Err, "the connection when a call has returned")
		})
	}
	calls.Wait()
}

// A call that the server is running is not safe to repeat just because another
// one is refused.
// A login that the stream of announcements wants ends the connection, and no call before the server has refused it, too.
func TestHTTPLoginNeededDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := make(chan struct{})
		l := dial(t, &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, &script{call: func(p *post) {
			if p.Method == "tools/call" {
				close(running)
				time.Sleep(time.Second / 2)
			}
			p.WriteHeader(401)
		}})})
		failed := start(t.Context(), l, "tools/call")
		<-running
		control(t, l, "subscriptions/listen", modernMeta)
		wantOutcome(t, <-failed, mcp.NotSent)
		assert.Fails(t, assert.Err(l.Read(bounded(t))), "the connection goes on")
	})
}

func TestHTTPSessionLostDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := make(chan struct{})
		l := shake(t, &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, &script{call: func(p *post) {
			if p.Method == "tools/call" {
				close(running)
				p.hangs()
				return
			}
			p.WriteHeader(404)
		}})})
		failed := start(t.Context(), l, "tools/call")
		<-running
		wantFailure(t, l, mcp.NotSent)
		wantOutcome(t, <-failed, mcp.Unknown)
	})
}

// The same when the server cannot be reached any more.
func TestHTTPUnreachableDuringACall(t *testing.T) {
	running, refuse := make(chan struct{}), make(chan struct{})
	s := &script{call: func(p *post) { p.stream(": running\n\n"); close(running); p.hangs() }}
	rt := http.DefaultTransport.(*http.Transport).Clone()
	dialer := rt.DialContext
	rt.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-refuse:
			return nil, errors.New("refused")
		default:
			return dialer(ctx, network, addr)
		}
	}
	defer rt.CloseIdleConnections()
	l := shake(t, &transport.HTTP{URL: listen(t, s), RoundTripper: rt})
	failed := start(t.Context(), l, "tools/call")
	<-running
	close(refuse)
	rt.CloseIdleConnections()
	wantFailure(t, l, mcp.NotSent)
	wantOutcome(t, <-failed, mcp.Unknown)
	assert.Fails(t, assert.Err(l.Read(bounded(t))), "Read")
}

// Close waits for the DELETE, but not for ever.
func TestHTTPCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{remove: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
		recipe := &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, s)}
		l := dial(t, connecting(recipe.Connect))
		assert.OK(t, handshake(t, l))
		begin := time.Now()
		closeWithin(t, l)
		assert.Equal(t, time.Since(begin), 2*time.Second, "Close took")
		s.wantRequests(t, 2, 1, 1)
	})
}

// Close tells the server to stop what still runs before it ends the session.
func TestHTTPCloseCancelsCalls(t *testing.T) {
	running := make(chan struct{})
	s := &script{call: func(p *post) { close(running); p.hangs() }}
	l := shakeWith(t, s)
	failed := start(t.Context(), l, "tools/call")
	<-running
	closeWithin(t, l)
	wantOutcome(t, <-failed, mcp.Unknown)
	assert.Equal(t, s.notes("notifications/cancelled"), 1, "cancellations")
}

// A server may refuse to end a session. That is no error.
func TestHTTPDeleteRefused(t *testing.T) {
	//report: Transports | ballerina-platform/ballerina-library#9161, supabase/mcp#400, mrexodia/ida-pro-mcp#517, openclaw/openclaw#144915, higress-group/wasm-go#46 | a server answers the request that ends a session with 400, 404, 405 or 501 | closing is no failure, and nothing is said of it
	for _, code := range []int{400, 404, 405, 500, 501} {
		s := &script{remove: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }}
		closeWithin(t, shakeWith(t, s))
		assert.Equal(t, len(s.requests(http.MethodDelete)), 1, "%d: requests", code)
	}
}
