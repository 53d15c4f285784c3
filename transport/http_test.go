// Tests of http.go and httpcontrol.go: requests and their answers.

package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// jsonAs answers with a content type.
func jsonAs(kind string) func(*post) {
	return func(p *post) {
		p.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(p, p.fill(answer))
	}
}

// streams answers with an event stream that ends.
func streams(text string) func(*post) { return func(p *post) { p.stream(text) } }

// Bodies that hold the answer, in all shapes that count.
func TestHTTPReadsAnswersIn(t *testing.T) {
	for name, respond := range map[string]func(*post){
		//report: Transports | postmanlabs/postman-app-support#13683, modelcontextprotocol/rust-sdk#754 | a server answers each post with JSON alone, never with an event stream | read like a stream with one event
		"JSON":              nil,
		"JSON with charset": jsonAs("application/json; charset=utf-8"),
		"upper case type":   jsonAs("Application/JSON"),
		"201":               func(p *post) { p.json(201, answer) },
		//report: Transports | modelcontextprotocol/typescript-sdk#2670, modelcontextprotocol/python-sdk#934 | an answer comes in a JSON array with other messages, as revision 2025-03-26 allowed | each element is taken, whatever the revision
		"batch":           func(p *post) { p.json(200, "["+someNote+","+answer+"]") },
		"stream":          streams(event(answer)),
		"messages before": streams(event(someNote) + event(someNote) + event(answer)),
		"no event name":   streams("data: " + answer + "\n\n"),
		//report: Transports | envoyproxy/ai-gateway#2463 | there is no blank behind the colon of a field | read
		"no blank": streams("data:" + answer + "\n\n"),
		//report: Transports | FellouAI/eko#287 | an event has several data lines, as servers that print their JSON over several lines send it | they are joined before they are read
		"split data": streams("data: " + strings.Replace(answer, ",", ",\ndata: ", 1) + "\n\n"),
		//report: Transports | IBM/mcp-context-forge#689, UsefulSoftwareCo/executor#1632 | comments and events of other names keep the stream alive | they are passed over
		"comments": streams(": hi\n\n:\n\nevent: ping\ndata: {}\n\n" + event(answer)),
		//report: Transports | a2aproject/a2a-js#714 | lines of the event stream end with CR alone | read, as the standard for event streams says
		"CR": streams(strings.ReplaceAll(event(answer), "\n", "\r")),
		//report: Transports | envoyproxy/ai-gateway#1398, iOfficeAI/aionrs#134, modelcontextprotocol/php-sdk#401, Hmbown/Codewhale#1309, zhu1090093659/deepseek-pp#471 | lines of the event stream end with CR LF, which may be cut between two reads; servers of the Python SDK do so | events are found at each of the three ends of a line
		"CR LF split":        func(p *post) { p.stream("data: " + answer + "\r"); p.stream("\n\r"); p.stream("\n") },
		"byte order mark":    streams("\ufeffdata: " + answer + "\n\n"),
		"field without data": streams("data\n\nnonsense\nevent\n\n" + event(answer)),
		"id with NUL":        streams("id: a\x00b\n" + event(answer)),
		//report: Transports | modelcontextprotocol/rust-sdk#1017, modelcontextprotocol/python-sdk#1720 | a gateway gives the number of the request's id back as a string | the answer is taken for that of the request
		"string id": func(p *post) { p.json(200, strings.Replace(answer, "$ID", `"$ID"`, 1)) },
		//report: Transports | modelcontextprotocol/python-sdk#1672, modelcontextprotocol/java-sdk#765, gravitational/teleport#63805, koala73/worldmonitor#4781 | the stream of an answer begins with an event that has an id and no data, to be resumed behind | it is no message; its id is kept
		"priming event": streams("id: x:0\nretry: 1000\ndata: \n\nid: x:1\n" + event(answer)),
		//report: Transports | modelcontextprotocol/java-sdk#1136, kagent-dev/kagent#1480 | text holds U+2028, U+2029 or U+0085, at which some readers break lines | only CR and LF end a line
		"separators":   streams(event(`{"jsonrpc":"2.0","method":"notifications/x","params":{"t":"a\u2028b\u2029c\u0085d"}}`) + event(answer)),
		"never closed": func(p *post) { p.stream(event(answer)); p.hangs() },
		"never quiet": func(p *post) {
			p.stream(event(answer))
			for p.r.Context().Err() == nil {
				p.stream(event(someNote))
			}
		},
		"gzip": func(p *post) {
			p.Header().Set("Content-Type", "application/json")
			p.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(p)
			_, _ = io.WriteString(z, p.fill(answer))
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := shakeWith(t, &script{call: respond})
			for range 2 {
				wantResult(t, l, okResult)
			}
		})
	}
}

// A stream that the server never closes is given up once it has brought the
// answer, while the connection lives on.
func TestHTTPGivesUpAnsweredStreams(t *testing.T) {
	gone := make(chan struct{})
	l := shakeWith(t, &script{call: func(p *post) {
		p.stream(event(answer))
		p.hangs()
		close(gone)
	}})
	wantResult(t, l, okResult)
	receive(t, gone, "the end of the stream")
}

// Responses without a usable answer.
func TestHTTPWithoutAnswer(t *testing.T) {
	status := func(code int) func(*post) { return func(p *post) { p.WriteHeader(code) } }
	body := func(code int, text string) func(*post) { return func(p *post) { p.json(code, text) } }
	for name, c := range map[string]struct {
		respond func(*post)
		outcome mcp.Outcome
	}{
		"202": {status(202), mcp.Unknown},
		"204": {status(204), mcp.Unknown},
		//report: Transports | modelcontextprotocol/python-sdk#1382, modelcontextprotocol/python-sdk#1072 | a page in HTML comes with status 200 | the request fails at once, and the error names the content type
		"HTML": {jsonAs("text/html"), mcp.Answered},
		//report: Transports | ballerina-platform/ballerina-library#8090 | the answer to a request has the type text/plain | refused, as the specification allows two types only; the error names the type
		"text/plain": {jsonAs("text/plain; charset=utf-8"), mcp.Answered},
		//report: Transports | microsoft/agent-framework#1744 | an answer has neither a result nor an error | its request fails at once with what is missing
		"no result": {streams(event(`{"id":$ID,"jsonrpc":"2.0"}`)), mcp.Answered},
		//report: Transports | jenkinsci/mcp-server-plugin#22, serpapi/serpapi-mcp#56, simonx1/ruby-mcp-client#19 | a proxy gives up a slow call with status 504 and a page | the error says the status and that the outcome is unknown; nothing of the page is shown
		"504 with page": {func(p *post) { http.Error(p, "<html>504 s3cret</html>", http.StatusGatewayTimeout) }, mcp.Unknown},
		//report: Transports | obot-platform/obot#3266 | the same by Cloudflare, with status 524 | the same
		"524 with page": {func(p *post) { http.Error(p, "<html>524 s3cret</html>", 524) }, mcp.Unknown},
		//report: Transports | helidon-io/helidon-mcp#97, junjiem/dify-plugin-agent-mcp_sse#79 | an answer has no content type | refused, as the specification demands one of two; the error says so
		"no type":     {func(p *post) { p.Header()["Content-Type"] = nil; _, _ = io.WriteString(p, "x") }, mcp.Answered},
		"broken JSON": {body(200, `{"jsonrpc":"2.0","id":$ID,`), mcp.Answered},
		"other id":    {body(200, `{"jsonrpc":"2.0","id":5,"result":{}}`), mcp.Unknown},
		//report: Transports | ggg123124/vrchat-assistant#37 | a request that the server does not know is answered with an empty event stream | it fails at once: the stream ended without an answer
		"empty stream": {streams(""), mcp.Unknown},
		"stream cut":   {streams("data: " + answer[:20]), mcp.Unknown},
		"broken event": {func(p *post) { p.stream("data: {]\n\n"); p.hangs() }, mcp.Answered},
		"body cut":     {func(p *post) { p.Header().Set("Content-Length", "500"); p.json(200, answer) }, mcp.Unknown},
		//report: Transports | modelcontextprotocol/python-sdk#1577, HolmesGPT/holmesgpt#1916 | the server dies during a call | the call fails at once with an unknown outcome, and is not repeated unless the tool is marked as harmless and trusted
		"connection cut": {func(*post) { panic(http.ErrAbortHandler) }, mcp.Unknown},
		//report: Transports | PrefectHQ/fastmcp#2595, strands-agents/harness-sdk#1169 | a call is answered with a status of 500 | it fails at once; the connection goes on
		"500": {status(500), mcp.Unknown},
		//report: Transports | pgEdge/pgedge-postgres-mcp#47, anthropics/claude-code#42509 | a proxy before a server that is down answers with status 502 and a page | the error says the status, and nothing of the page
		"502 with page":      {func(p *post) { http.Error(p, "<html>s3cret</html>", http.StatusBadGateway) }, mcp.Unknown},
		"500 with an error":  {body(500, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-1,"message":"m"}}`), mcp.Answered},
		"500 JSON of others": {body(500, `{"status":500,"error":"Internal"}`), mcp.Unknown},
		"413":                {status(413), mcp.NotSent},
		"403":                {status(403), mcp.NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			var mended atomic.Bool
			l := shakeWith(t, &script{call: func(p *post) {
				if mended.Swap(true) {
					p.json(200, answer)
				} else {
					c.respond(p)
				}
			}})
			assert.Lacks(t, wantFailure(t, l, c.outcome).Error(), "s3cret", "text of the error")
			wantResult(t, l, okResult)
		})
	}
}

func TestHTTPTooManyRequests(t *testing.T) {
	//report: Transports | basicmachines-co/basic-memory#1378, brave/brave-search-mcp-server#162 | a call is refused with status 429 and Retry-After | not sent, in the eyes of the caller; the error says how long to wait, and repeats nothing by itself
	for _, respond := range []func(*post){
		func(p *post) { p.WriteHeader(429) },
		func(p *post) { p.json(429, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-1,"message":"m"}}`) },
	} {
		err := wantFailure(t, shakeWith(t, &script{call: func(p *post) {
			p.Header().Set("Retry-After", "7")
			respond(p)
		}}), mcp.NotSent)
		assert.Equal(t, assert.As[*transport.StatusError](t, err).RetryAfter.Seconds(), 7, "RetryAfter")
		assert.Contains(t, err.Error(), "7s")
	}
}

// An answer that is too large, however it is packed, is not kept in memory.
func TestHTTPLimit(t *testing.T) {
	const limit = 32 << 10
	endless := func(p *post, w io.Writer, head string) {
		_, _ = io.WriteString(w, head)
		for chunk := bytes.Repeat([]byte("x"), 2*limit); p.r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
			if z, ok := w.(*gzip.Writer); ok {
				_ = z.Flush()
				_ = http.NewResponseController(p).Flush()
			}
		}
	}
	for name, respond := range map[string]func(*post){
		"JSON": func(p *post) { p.Header().Set("Content-Type", "application/json"); endless(p, p, `{"a":"`) },
		"gzip bomb": func(p *post) {
			p.Header().Set("Content-Type", "application/json")
			p.Header().Set("Content-Encoding", "gzip")
			endless(p, gzip.NewWriter(p), `{"a":"`)
		},
		"endless line": func(p *post) { p.stream(""); endless(p, p, "data: ") },
		"endless event": func(p *post) {
			for p.r.Context().Err() == nil {
				p.stream("data: " + strings.Repeat("x", 1000) + "\n")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := shake(t, &transport.HTTP{URL: listen(t, &script{call: respond}), MaxMessage: limit})
			assert.Equal(t, assert.As[*mcp.LimitError](t, wantFailure(t, l, mcp.Answered)).Max, limit, "limit")
		})
	}
}

// hangsInBody returns a server whose first answer begins and does not end.
func hangsInBody(begun chan<- struct{}) *script {
	return once(func(p *post) {
		p.Header().Set("Has-Begun", "yes")
		p.json(200, `{"jsonrpc":"2.0",`)
		p.ResponseWriter.(http.Flusher).Flush()
		close(begun)
		p.hangs()
	})
}

// A caller that gives up in the middle of an answer does not harm the others.
func TestHTTPCancelledInTheBody(t *testing.T) {
	begun := make(chan struct{})
	s := hangsInBody(begun)
	l := shakeWith(t, s)
	ctx, cancel := context.WithCancel(bounded(t))
	failed := start(ctx, l, "tools/call")
	receive(t, begun, "the beginning of an answer")
	cancel()
	err := <-failed
	assert.Is(t, err, context.Canceled)
	wantOutcome(t, err, mcp.Unknown)
	assert.Value(l.Call(bounded(t), "tools/call", nil, nil))(t)
	_ = l.Close()
	assert.Equal(t, s.notes("notifications/cancelled"), 1, "cancellations")
}

// A bare client of the SDK loses its session then. It gives up when it has seen the header.
func TestHTTPLeavingIsNoHarm(t *testing.T) {
	ctx, cancel := context.WithCancel(bounded(t))
	client := bare(t, &sdk.StreamableClientTransport{
		Endpoint: listen(t, hangsInBody(make(chan struct{}))),
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && resp.Header.Get("Has-Begun") != "" {
				cancel()
			}
			return resp, err
		})},
	})
	if client.call(ctx, "x") == nil || !client.ends(t) {
		mended(t, "transport/http.go")
	}
}

// What becomes of one call matters to that call alone.
func TestHTTPOneAnswerIsOneAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		first   func(*post)
		answers bool // the first call succeeds, or else was not sent
	}{
		"401":                  {func(p *post) { p.WriteHeader(401) }, false},
		"403":                  {func(p *post) { p.WriteHeader(403) }, false},
		"413":                  {func(p *post) { p.WriteHeader(413) }, false},
		"line without a colon": {streams("data\nnonsense\n\n" + event(called)), true},
	} {
		t.Run(name, func(t *testing.T) {
			client := ours(t, &transport.HTTP{URL: listen(t, once(c.first))})
			err := client.call(bounded(t), "x")
			if c.answers {
				assert.OK(t, err)
			} else {
				wantOutcome(t, err, mcp.NotSent)
			}
			client.again(t)

			client = bare(t, bareHTTP(t, listen(t, once(c.first))))
			first, second := client.call(bounded(t), "x"), client.call(bounded(t), "x")
			if first == nil || !client.ended(second) {
				mended(t, "transport/http.go")
			}
		})
	}
}

func TestHTTPModernHeaders(t *testing.T) {
	s := &script{call: func(p *post) { p.Header().Set("Mcp-Session-Id", "none"); p.json(200, answer) }}
	l := dial(t, &transport.HTTP{URL: listen(t, s)})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, c := range []struct{ method, params, name string }{
		{"tools/call", `{"name":"plain",` + meta + `}`, "plain"},
		{"tools/call", `{"name":" caf\u00e9 ",` + meta + `}`, "=?base64?IGNhZsOpIA==?="},
		{"tools/call", `{"name":"=?base64?eA==?=",` + meta + `}`, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		{"prompts/get", `{"name":"p",` + meta + `}`, "p"},
		{"resources/read", `{"uri":"file:///x",` + meta + `}`, "file:///x"},
		{"tools/list", `{"name":"no",` + meta + `}`, ""},
	} {
		opts := &mcp.CallOptions{Header: map[string]string{"Mcp-Param-Region": "eu", "Mcp-Param-X": "a\r\nb"}}
		assert.Value(l.Call(bounded(t), c.method, []byte(c.params), opts))(t)
		for name, want := range map[string]string{
			"Mcp-Method": c.method, "Mcp-Name": c.name, "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Param-Region": "eu", "Mcp-Param-X": "=?base64?YQ0KYg==?=", "Mcp-Session-Id": "",
		} {
			assert.Equal(t, s.last().Header.Get(name), want, "%s %s: %s", c.method, c.params, name)
		}
	}
	wantOutcome(t, assert.Err(l.Call(bounded(t), "tools/call", []byte(modernMeta), &mcp.CallOptions{Header: map[string]string{"X: Y": "a"}})), mcp.NotSent)
	assert.OK(t, l.Info().Err, "connection")
}

// In revision 2026-07-28 a request is cancelled by closing its stream, before
// the response and after, and by nothing else.
func TestHTTPModernCancellation(t *testing.T) {
	for name, begin := range map[string]func(*post){"no response yet": func(*post) {}, "in the stream": streams(event(someNote))} {
		t.Run(name, func(t *testing.T) {
			running, closed := make(chan struct{}), make(chan struct{})
			s := &script{call: func(p *post) {
				if p.Method == "tools/list" {
					p.json(200, answer)
					return
				}
				begin(p)
				close(running)
				p.hangs()
				close(closed)
			}}
			l := dial(t, &transport.HTTP{URL: listen(t, s)})
			ctx, cancel := context.WithCancel(bounded(t))
			go func() { <-running; cancel() }()
			_, err := l.Call(ctx, "tools/call", []byte(modernMeta), nil)
			assert.Is(t, err, context.Canceled)
			wantOutcome(t, err, mcp.Unknown)
			receive(t, closed, "the end of the stream")
			assert.Value(l.Call(bounded(t), "tools/list", []byte(modernMeta), nil))(t)
			closeWithin(t, l)
			s.wantRequests(t, 2, 0, 0)
		})
	}
}

// All that follows the handshake says which revision was agreed upon: requests,
// notifications, answers to the server, cancellations, both kinds of streams, and
// the end of the session.
func TestHTTPVersionHeader(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			running, answered, resumed := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var calls atomic.Int32
			s := &script{
				revision: revision,
				call: func(p *post) {
					switch {
					case p.Method == "":
						close(answered)
						p.WriteHeader(http.StatusAccepted)
					case p.Method != "tools/call":
						p.json(200, unknown)
					case calls.Add(1) == 1:
						p.stream("id: e1\nretry: 1\n" + event(`{"jsonrpc":"2.0","id":"of the server","method":"ping"}`))
					default:
						close(running)
						p.hangs()
					}
				},
				get: func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Last-Event-Id") == "e1" {
						<-answered
						close(resumed)
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					keepOpen(w, r)
				},
			}
			c := newClient(t, &transport.HTTP{URL: listen(t, s)}, mcp.ClientOptions{})
			assert.OK(t, c.Ready(bounded(t)))
			assert.Equal(t, c.State().ProtocolVersion, revision, "revision")
			wantOutcome(t, assert.Err(c.CallTool(bounded(t), "x", nil, nil)), mcp.Unknown)
			receive(t, resumed, "an attempt to resume")
			ctx, giveUp := context.WithCancel(bounded(t))
			go func() { <-running; giveUp() }()
			wantOutcome(t, assert.Err(c.CallTool(ctx, "x", nil, nil)), mcp.Unknown)
			assert.OK(t, c.Close())

			kinds := map[string]int{}
			for _, r := range s.requests("") {
				if r.Header.Get("Mcp-Session-Id") == "" {
					continue // the probe and initialize
				}
				kinds[r.Method]++
				assert.Equal(t, r.Header.Get("Mcp-Protocol-Version"), revision, "%s: version", r.Method)
			}
			// The end of the handshake, two calls, the answer to the ping and a
			// cancellation; the listening stream and a resumed one.
			for method, want := range map[string]int{"POST": 5, "GET": 2, "DELETE": 1} {
				assert.Equal(t, kinds[method], want, "%s requests", method)
			}
			assert.Equal(t, s.notes("notifications/cancelled"), 1, "cancellations")
		})
	}
}

// In revision 2025-03-26 a server may send several messages as one: here
// progress, a request of its own and the answer. All of them count.
func TestHTTPBatch(t *testing.T) {
	for name, respond := range map[string]func(p *post, batch string){
		"JSON":   func(p *post, batch string) { p.json(200, batch) },
		"stream": func(p *post, batch string) { p.stream(event(batch)) },
	} {
		t.Run(name, func(t *testing.T) {
			answered := make(chan string, 1)
			s := &script{revision: "2025-03-26", call: func(p *post) {
				switch p.Method {
				case "":
					answered <- string(p.ID)
					p.WriteHeader(202)
				case "tools/call":
					var params struct {
						Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
					}
					assert.OK(t, json.Unmarshal(p.Params, &params))
					respond(p, `[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+string(params.Meta.ProgressToken)+`,"progress":5}},`+
						`{"jsonrpc":"2.0","id":"of the server","method":"ping"},`+called+"]")
				default:
					p.json(200, unknown)
				}
			}}
			c := newClient(t, &transport.HTTP{URL: listen(t, s)}, mcp.ClientOptions{})
			progress := 0.0
			assert.Value(c.CallTool(bounded(t), "x", nil, &mcp.RequestOptions{
				Progress: func(p *mcp.ProgressParams) { progress = p.Progress },
			}))(t)
			assert.Equal(t, progress, 5, "progress")
			assert.Equal(t, c.State().ProtocolVersion, "2025-03-26", "revision")
			assert.Equal(t, receive(t, answered, "an answer to the request in the batch"), `"of the server"`, "answered")
		})
	}
}

// A server's question to the user ends with the call that it was for: the server cannot tell
// the client any more that it is void. Sixteen that did not would keep it from asking again.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":"q$ID","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`
	for name, hangs := range map[string]bool{"the caller gives up": true, "the stream breaks": false} {
		t.Run(name, func(t *testing.T) {
			asked, over := make(chan struct{}, 99), make(chan struct{}, 99)
			s := &script{call: func(p *post) {
				switch {
				case p.Method != "tools/call":
					p.json(200, unknown)
				case hangs:
					p.stream(event(question))
					p.hangs()
				default:
					p.stream(event(question))
					<-asked
				}
			}}
			client := newClient(t, &transport.HTTP{URL: listen(t, s)}, mcp.ClientOptions{
				Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked <- struct{}{}
					<-ctx.Done()
					over <- struct{}{}
					return nil, ctx.Err()
				},
			})
			for range 20 {
				ctx, cancel := context.WithCancel(bounded(t))
				if hangs {
					go func() { <-asked; cancel() }()
				}
				_, err := client.CallTool(ctx, "x", json.RawMessage(`{}`), nil)
				cancel()
				assert.Fails(t, err, "the call")
				receive(t, over, "the end of the question")
			}
		})
	}
}
