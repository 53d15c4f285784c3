// Tests of frame.go: messages that cannot be read, and answers that nobody waits for.

package transport_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// deep is JSON that is nested too deeply.
var deep = strings.Repeat("[", 200) + strings.Repeat("]", 200)

// A request or notification of the server that cannot be read is handed on with what is known of it, so
// that it is refused and logged; nothing else suffers. Other text is no message.
func TestUnreadableRequests(t *testing.T) {
	broken := []struct{ text, id, method string }{
		{`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"x":` + deep + `}}`, "7", "sampling/createMessage"},
		//report: Transports | modelcontextprotocol/python-sdk#1144 | a message on the stream is no JSON-RPC that the client can read, and the caller waits for ever | a request of the server that cannot be read is answered with an error of its id and logged; an answer that cannot be read fails its call at once, and no other
		{`{"method":"elicitation/create","params":{"a":1,"a":2},"jsonrpc":"2.0","id":"q"}`, "q", "elicitation/create"},
		{`{"jsonrpc":"2.0","method":"roots/list","params":{"a":"` + "\xff" + `"},"id":8}`, "8", "roots/list"},
		{`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":}}`, "9", "ping"},
		{`{ "jsonrpc" : "2.0", "method" : "x/y", "id" : 10 , "params" : {"id":3, `, "10", "x/y"},
		{`{"jsonrpc":"2.0","id":11,"method":"x/y","params":{"t":"` + strings.Repeat("x", 3000) + `"}}`, "11", "x/y"},
		{`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":` + deep + `,"b":{"id":5}}}`, "<nil>", "notifications/x"},
		{`{"jsonrpc":"2.0","method":"notifications/y","params":{"id":5`, "<nil>", "notifications/y"},
	}
	var all strings.Builder
	var steps []string
	for _, b := range broken {
		all.WriteString(event(b.text))
		steps = append(steps, "say:"+b.text)
	}
	first := func(p *post) { p.stream(all.String() + event(answer)) }
	overSSE := newOldServer(func(p *post, events chan<- string) {
		for _, b := range broken {
			events <- b.text
		}
		accept(p, events)
	})
	command := child(append(append([]string{"read"}, steps...), "say:"+answer, "serve")...)
	command.MaxMessage = 2000
	for name, dialed := range map[string]func(t *testing.T) mcp.Caller{
		"answer stream": func(t *testing.T) mcp.Caller { return shakeWith(t, &script{call: first}) },
		"listening stream": func(t *testing.T) mcp.Caller {
			return shakeWith(t, &script{get: func(w http.ResponseWriter, r *http.Request) {
				p := &post{ResponseWriter: w, r: r}
				p.stream(all.String())
				p.hangs()
			}})
		},
		"SSE":   func(t *testing.T) mcp.Caller { return dialOld(t, overSSE, 2000) },
		"stdio": func(t *testing.T) mcp.Caller { return dial(t, command) },
	} {
		t.Run(name, func(t *testing.T) {
			l := dialed(t)
			wantResult(t, l, okResult)
			for _, b := range broken {
				m := assert.Value(l.Read(bounded(t)))(t)
				req, ok := m.(*jsonrpc.Request)
				if !ok {
					t.Fatalf("got %v, want a request", m)
				}
				assert.Equal(t, fmt.Sprint(req.ID.Raw())+" "+req.Method, b.id+" "+b.method, "id and method")
			}
			wantResult(t, l, map[bool]string{true: `{}`, false: okResult}[name == "stdio"])
		})
	}
}

// Events that are no JSON-RPC are signs of life at most.
func TestHTTPStrangeEvents(t *testing.T) {
	for name, strange := range map[string]string{
		//report: Transports | PhilflowIO/dav-mcp#31 | heartbeats come as events with JSON that is no JSON-RPC message | they are passed over on all streams; a hundred in a row end the stream
		"heartbeat": `{"type":"heartbeat","timestamp":"2025-10-31T11:30:41.100Z"}`,
		"text":      "ping",
		"list":      "[DONE]",
		"empty":     "{}",
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{
				call: streams(event(strange) + event(someNote) + event(strange) + event(answer)),
				get: func(w http.ResponseWriter, r *http.Request) {
					p := &post{ResponseWriter: w, r: r}
					p.stream(event(strange) + event(someNote))
					p.hangs()
				},
			}
			l := shakeWith(t, s)
			wantResult(t, l, okResult)
			wantNotes(t, l, "notifications/x", "notifications/x")
			assert.Equal(t, len(s.requests(http.MethodGet)), 1, "requests for the listening stream")
			wantFailure(t, shakeWith(t, &script{call: streams(strings.Repeat(event(strange), 100) + event(answer))}), mcp.Answered)
		})
	}
}

// Answers with ids that nobody asked for are told of where the right ones are waited for.
func TestAnswersWithOtherIDs(t *testing.T) {
	l := shakeWith(t, &script{call: func(p *post) { p.json(200, `{"jsonrpc":"2.0","id":0,"result":{}}`) }})
	//report: Transports | DeusData/codebase-memory-mcp#253 | a server answers a post with another id than that of the request | the outcome counts as unknown, and the error names the id that came
	assert.Contains(t, wantFailure(t, l, mcp.Unknown).Error(), "has the id 0, which is not that of the request")

	synctest.Test(t, func(t *testing.T) {
		s := newOldServer(func(p *post, events chan<- string) {
			p.WriteHeader(http.StatusAccepted)
			switch p.Method {
			case "initialize":
				events <- p.fill(initialized)
			case "server/discover":
				events <- p.fill(unknown)
			default:
				if p.ID != nil {
					events <- `{"jsonrpc":"2.0","id":0,"result":{}}`
				}
			}
		})
		recipe := &transport.HTTP{Variant: transport.SSE, URL: "http://server", RoundTripper: inMemory(t, s)}
		client := mcp.NewClient("server", recipe, &mcp.ClientOptions{IdleTimeout: 10 * time.Second})
		_, err := client.CallTool(t.Context(), "x", nil, nil)
		assert.As[*mcp.TimeoutError](t, err)
		//report: Processes | radareorg/radare2-mcp#68 | a server answers each request with the id 0 | the error of the timeout says how many answers came to requests that nobody made, and with which id
		assert.Contains(t, err.Error(), "has answered requests that nobody made 1 times, the last with id 0")
		assert.OK(t, client.Close())
	})
	synctest.Test(t, func(t *testing.T) {
		s := newOldServer(func(p *post, events chan<- string) {
			p.WriteHeader(http.StatusAccepted)
			//report: Processes | modelcontextprotocol/python-sdk#961 | a server turns the ids of requests into others | so does the error of a connection that was not made in time
			events <- `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`
		})
		recipe := &transport.HTTP{Variant: transport.SSE, URL: "http://server", RoundTripper: inMemory(t, s)}
		client := mcp.NewClient("server", recipe, &mcp.ClientOptions{ConnectTimeout: 6 * time.Second})
		err := client.Ready(bounded(t))
		if err == nil {
			for s := range client.Watch(t.Context()) {
				if err = s.Err; err != nil {
					break
				}
			}
		}
		assert.Contains(t, fmt.Sprint(err), "no connection within 6s")
		assert.Contains(t, fmt.Sprint(err), "with id null")
		assert.OK(t, client.Close())
	})
}
