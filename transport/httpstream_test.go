package transport_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// resumable returns a server that begins the stream of an answer, and leaves to functions how it
// is resumed, by the id of the event that was seen last.
func resumable(begin string, resume map[string]func(p *post)) (s *script, resumes *atomic.Int32) {
	resumes = new(atomic.Int32)
	var id atomic.Value
	return &script{
		call: func(p *post) {
			id.Store(p.ID)
			p.stream(begin)
		},
		get: func(w http.ResponseWriter, r *http.Request) {
			respond := resume[r.Header.Get("Last-Event-Id")]
			if respond == nil {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			resumes.Add(1)
			p := &post{ResponseWriter: w, r: r}
			p.ID, _ = id.Load().(json.RawMessage)
			respond(p)
		},
	}, resumes
}

// A broken answer stream is resumed behind the last event.
func TestHTTPResumes(t *testing.T) {
	//report: Transports | zed-industries/zed#56775, UsefulSoftwareCo/executor#1345, cloudflare/agents#1602 | a stream is cut while a call is running, and events have ids | the stream is resumed behind the last event, and the answer arrives
	s, resumes := resumable("id: e1\nretry: 1\ndata: \n\n", map[string]func(p *post){
		"e1": func(p *post) { p.stream("id: e2\nretry: 1\n" + event(someNote)) },
		"e2": func(p *post) { p.stream(event(answer)) },
	})
	l := shakeWith(t, s)
	wantResult(t, l, okResult)
	assert.Equal(t, resumes.Load(), 2, "resumes")
	wantNotes(t, l, "notifications/x")
}

// A stream that cannot be resumed, or brings nothing new, ends the call.
func TestHTTPResumeFails(t *testing.T) {
	//report: Transports | modelcontextprotocol/python-sdk#2395 | each resumed stream brings an event without data at most, and ends | the call fails after five attempts
	for name, resume := range map[string]func(*post){
		"refused":     func(p *post) { p.WriteHeader(405) },
		"nothing new": func(p *post) { p.stream("") },
	} {
		s, resumes := resumable("id: e1\nretry: 1\ndata: \n\n", map[string]func(p *post){"e1": resume})
		wantFailure(t, shakeWith(t, s), mcp.Unknown)
		n := resumes.Load()
		assert.True(t, 1 <= n && n <= 5, "%s: %d attempts to resume, from 1 to 5", name, n)
	}
}

// longestEventID is how long the id of an event may be to be sent back, in bytes.
const longestEventID = 4 << 10

// An answer is not resumed behind an event whose id is too long to be sent back,
// nor behind an earlier one.
func TestHTTPResumesByShortIDsOnly(t *testing.T) {
	short, long := strings.Repeat("i", longestEventID), strings.Repeat("i", longestEventID+1)
	respond := func(p *post) { p.stream(event(answer)) }
	resume := map[string]func(*post){"e1": respond, short: respond, long: respond}
	s, _ := resumable("id: e1\nretry: 1\ndata: \n\nid: "+short+"\ndata: \n\n", resume)
	wantResult(t, shakeWith(t, s), okResult)
	s, resumes := resumable("id: e1\nretry: 1\ndata: \n\nid: "+long+"\ndata: \n\n", resume)
	wantFailure(t, shakeWith(t, s), mcp.Unknown)
	assert.Equal(t, resumes.Load(), 0, "resumes")
}

// What becomes of the listening stream does not matter to calls.
func TestHTTPListeningStream(t *testing.T) {
	for name, get := range map[string]http.HandlerFunc{
		"405": nil,
		//report: Transports | QwenLM/qwen-code#8784, modelcontextprotocol/typescript-sdk#1637 | a server has no listening stream and answers 404 or 406 to the request for one, in the place of 405 | it is done without; calls are not affected
		"404":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"500":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		//report: Transports | kapishdima/fonttrio#9, nuxt-modules/mcp-toolkit#221 | the request for a listening stream is never answered | it holds up no call, and the handshake for a second at most, where the server announces changes or the client answers questions
		"hangs":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"cut":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"ends":   func(w http.ResponseWriter, _ *http.Request) { openStream(w) },
		"broken": func(w http.ResponseWriter, _ *http.Request) { openStream(w); _, _ = io.WriteString(w, "data: {]\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := shake(t, &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, &script{get: get})})
				wantResult(t, l, okResult)
				closeWithin(t, l)
			})
		})
	}
}

// reopenedNotes are what comes of it: every list may have changed meanwhile.
var reopenedNotes = []string{"notifications/first", "notifications/tools/list_changed",
	"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/second"}

// reopening answers the first request for a stream by one event, and later ones by another.
func reopening(first string) func(p *post) {
	var opened atomic.Int32
	return func(p *post) {
		if opened.Add(1) == 1 {
			p.stream(first + event(`{"jsonrpc":"2.0","method":"notifications/first"}`))
			return
		}
		p.stream(event(`{"jsonrpc":"2.0","method":"notifications/second"}`))
		p.hangs()
	}
}

// A listening stream that drops is opened again where it was, unless the id of the last event is too
// long, and the session is told that it may have missed a change.
func TestHTTPListeningStreamReopens(t *testing.T) {
	for first, last := range map[string]string{
		"id: g1\nretry: 1\n": "g1",
		"id: g1\nretry: 1\ndata: \n\nid: " + strings.Repeat("i", 1<<20) + "\n": "",
	} {
		open := reopening(first)
		s := &script{get: func(w http.ResponseWriter, r *http.Request) { open(&post{ResponseWriter: w, r: r}) }}
		wantNotes(t, shakeWith(t, s), reopenedNotes...)
		assert.Equal(t, s.last().Header.Get("Last-Event-Id"), last, "Last-Event-Id")
	}
}

// The listening stream of revision 2026-07-28 is a request that never ends.
func TestHTTPSubscriptionReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{call: reopening("")}
		l := dial(t, &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, s)})
		control(t, l, "subscriptions/listen", modernMeta)
		wantNotes(t, l, reopenedNotes...)
		for _, r := range s.requests(http.MethodPost) {
			assert.Equal(t, r.Header.Get("Mcp-Method"), "subscriptions/listen", "Mcp-Method")
		}
	})
}

// A listening stream that is refused when it is opened again is the end of the
// stream only.
func TestHTTPListeningStreamRefusedLater(t *testing.T) {
	server := func(t *testing.T, connected <-chan struct{}) (string, <-chan struct{}) {
		var gets atomic.Int32
		refused := make(chan struct{})
		s := once(func(p *post) { p.json(200, called) })
		s.get = func(w http.ResponseWriter, r *http.Request) {
			switch gets.Add(1) {
			case 1:
				(&post{ResponseWriter: w, r: r}).stream("id: 1\nretry: 1\n" + event(someNote))
				return
			case 2:
				select {
				case <-connected:
				case <-r.Context().Done():
				}
				defer close(refused)
			}
			w.WriteHeader(http.StatusUnauthorized)
		}
		return listen(t, s), refused
	}
	connected := make(chan struct{})
	url, refused := server(t, connected)
	client := ours(t, &transport.HTTP{URL: url})
	close(connected)
	receive(t, refused, "a stream that is opened again")
	client.again(t)

	connected = make(chan struct{})
	url, _ = server(t, connected)
	client = bare(t, bareHTTP(t, url)) // which a refusal before it is connected fails
	close(connected)
	if !client.ends(t) {
		mended(t, "transport/httpstream.go")
	}
}

// A listening stream of either kind that the server leaves without a response
// holds up neither the handshake nor the calls.
func TestHTTPListeningStreamWithoutResponse(t *testing.T) {
	const (
		discover = `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` +
			`"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}`
		complete = `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}`
	)
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listening := make(chan struct{})
				s := &script{
					get: func(_ http.ResponseWriter, r *http.Request) { close(listening); <-r.Context().Done() },
					call: func(p *post) {
						switch {
						case p.Method == "server/discover" && revision == mcp.Revision20260728:
							p.json(200, discover)
						case p.Method == "subscriptions/listen":
							close(listening)
							p.hangs()
						case p.Method == "tools/call":
							p.json(200, complete)
						default:
							p.json(200, unknown)
						}
					},
				}
				recipe := &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, s)}
				client := ours(t, connecting(recipe.Connect))
				receive(t, listening, "a request for a stream")
				assert.OK(t, client.call(bounded(t), "x"))
				client.close()
			})
		})
	}
}

// The first call goes before the request for a listening stream where neither side has declared anything
// that could come over it, and only there.
func TestHTTPListensLaterWhereNothingIsMissed(t *testing.T) {
	elicit := mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }}
	for _, c := range []struct {
		capabilities string
		client       mcp.ClientOptions
		before       int // requests for a stream, when the call arrives
	}{
		{`{"tools":{}}`, mcp.ClientOptions{}, 0},
		{`{"tools":{"listChanged":false},"completions":{}}`, mcp.ClientOptions{}, 0},
		{`{"tools":{}}`, elicit, 1},
		{`{"tools":{"listChanged":true}}`, mcp.ClientOptions{}, 1},
		{`{"tools":{},"logging":{}}`, mcp.ClientOptions{}, 1},
		{`{}`, mcp.ClientOptions{}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			before := -1
			s := &script{capabilities: c.capabilities}
			s.call = func(p *post) {
				if p.Method != "tools/call" {
					p.json(200, unknown)
					return
				}
				before = len(s.requests(http.MethodGet))
				p.json(200, called)
			}
			recipe := &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, s)}
			assert.Value(newClient(t, connecting(recipe.Connect), c.client).CallTool(bounded(t), "x", nil, nil))(t)
			assert.Equal(t, before, c.before, "%s: requests for a stream before the call", c.capabilities)
			time.Sleep(time.Second)
			s.wantRequests(t, 4, 1, 0)
		})
	}
}

// Tools that changed before a listening stream was open are read again, if the handshake
// has not waited for it.
func TestHTTPListeningStreamOpensLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		s := once(func(p *post) { p.json(200, called) })
		s.get = func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-open:
				keepOpen(w, r)
			case <-r.Context().Done():
			}
		}
		recipe := &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, s)}
		client := newClient(t, connecting(recipe.Connect), mcp.ClientOptions{})
		assert.OK(t, client.Ready(bounded(t)))
		before := client.State().ToolsVersion
		close(open)
		for state := range client.Watch(bounded(t)) {
			if state.ToolsVersion > before {
				return
			}
		}
		t.Error("got no change of the tools, want one")
	})
}

// idle counts what a client that only follows its tools costs a server whose streams bring nothing
// and end after a while: requests for a stream, and lists, in each ten minutes.
func idle(t *testing.T, revision string, lifetime time.Duration, end func(*post)) (streams, lists [3]int) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		now := func() int { return int(time.Since(began)/(10*time.Minute)) % len(streams) }
		var mu sync.Mutex
		count := func(of *[3]int) { mu.Lock(); defer mu.Unlock(); of[now()]++ }
		open := func(p *post) {
			count(&streams)
			if end != nil && time.Since(began) > time.Minute {
				end(p)
				return
			}
			p.stream(event(`{"jsonrpc":"2.0","id":"p","method":"ping"}`))
			if p.Method != "" {
				p.stream(event(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$ID},"notifications":{"toolsListChanged":true}}}`))
			}
			select {
			case <-time.After(lifetime):
			case <-p.r.Context().Done():
			}
		}
		s := &script{get: func(w http.ResponseWriter, r *http.Request) { open(&post{ResponseWriter: w, r: r}) }, capabilities: `{"tools":{"listChanged":true}}`}
		s.call = func(p *post) {
			switch {
			case p.Method == "server/discover" && revision == mcp.Revision20260728:
				p.json(200, `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`)
			case p.Method == "subscriptions/listen":
				open(p)
			case p.Method == "tools/list":
				count(&lists)
				p.json(200, `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","tools":[],"ttlMs":3600000}}`)
			default:
				p.json(200, unknown)
			}
		}
		recipe := &transport.HTTP{URL: "http://server", RoundTripper: inMemory(t, s)}
		c := newClient(t, connecting(recipe.Connect), mcp.ClientOptions{})
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Minute-time.Nanosecond)
		defer stop()
		for range c.Watch(ctx) { // as a host does
			_, _ = c.Tools(ctx)
		}
		assert.Equal(t, c.State().Connections, 1, "connections")
		_ = c.Close()
	})
	return streams, lists
}

// A stream that ends without having brought anything is spaced out like a failure, and no list is
// read for it. One that lasts is opened again at once, and lists are read for it.
func TestIdleStreamsAreSpacedOut(t *testing.T) {
	for _, c := range []struct {
		lifetime    time.Duration
		least, most int // requests for a stream in the last ten minutes
		lists       int // lists in them
	}{
		//report: Transports | modelcontextprotocol/python-sdk#3257, modelcontextprotocol/python-sdk#3356, modelcontextprotocol/kotlin-sdk#715 | a server on a serverless platform accepts the listening stream and ends it at once | waits between the attempts grow up to five minutes, and no list is read for them; calls are not affected
		{0, 1, 15, 0},
		//report: Transports | mattzcarey/cloudflare-mcp#5, modelcontextprotocol/typescript-sdk#2682 | a stateless server ends its listening streams after a second, again and again | the same: the count of attempts goes on for as long as no stream lasts
		{time.Second, 1, 15, 0},
		//report: Transports | vercel/mcp-handler#40 | a platform cuts each stream after some ten seconds, the longest time that a function may run | the same; a stream must last half a minute to count as sound
		{10 * time.Second, 1, 15, 0},
		//report: Transports | anthropics/claude-code#38631 | a balancer cuts a quiet stream after its idle time of a minute | the stream is opened again within 50 ms, the session goes on, and lists are read, since a change may have been missed
		{time.Minute, 9, 10, 10},
		//report: Transports | google-gemini/gemini-cli#4333, triggerdotdev/trigger.dev#2134, cloudflare/agents#1583, robhunter/agentdeals#1098 | a proxy cuts a quiet stream after two to five minutes | the same; no call fails because of it
		{5 * time.Minute, 1, 2, 2},
	} {
		for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
			t.Run(c.lifetime.String()+" "+revision, func(t *testing.T) {
				streams, lists := idle(t, revision, c.lifetime, nil)
				t.Logf("streams end after %v: %d, %d, %d requests for one and %d, %d, %d lists in ten minutes each", c.lifetime,
					streams[0], streams[1], streams[2], lists[0], lists[1], lists[2])
				assert.True(t, c.least <= streams[2] && streams[2] <= c.most, "%d streams at last, %d to %d", streams[2], c.least, c.most)
				least := min(c.least, c.lists)
				assert.True(t, least <= lists[2] && lists[2] <= c.lists, "%d lists at last, %d to %d", lists[2], least, c.lists)
			})
		}
	}
}

// A server that refuses to open a stream again which was open is asked again, unless the session
// is gone: it may not have noticed yet that the one before has ended.
func TestReopenedStreamRefused(t *testing.T) {
	for code, again := range map[int]bool{
		//report: Transports | kaeawc/auto-mobile#1942, danny-avila/LibreChat#14816, punkpeye/mcp-remote#159 | a server allows one listening stream for each session, and answers 409 to the next for as long as it holds the one that broke at a proxy | the stream is asked for again after growing waits; session and calls go on
		409: true,
		//report: Transports | render-oss/render-mcp-server#26, IvanMurzak/MCP-Plugin-dotnet#105 | the same with status 400 and a text, for two minutes | the same
		400: true,
		503: true,
		405: false,
	} {
		streams, _ := idle(t, mcp.Revision20251125, time.Minute, func(p *post) { p.WriteHeader(code) })
		assert.Equal(t, streams[2] > 0, again, "%d: asked again at all", code)
		assert.True(t, streams[2] < 30, "%d: asked less than 30 times in ten minutes: %d", code, streams[2])
	}
	//report: Transports | danny-avila/LibreChat#11869 | a server that was restarted answers 404 to the request for the listening stream of its former session | the session counts as lost, and a new one begins before any call fails
	var inits atomic.Int32
	s := once(func(p *post) { p.json(200, called) })
	s.get = func(w http.ResponseWriter, _ *http.Request) {
		if inits.Add(1) == 2 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		openStream(w)
	}
	c := newClient(t, &transport.HTTP{URL: listen(t, s)}, mcp.ClientOptions{})
	assert.OK(t, c.Ready(bounded(t)))
	for state := range c.Watch(bounded(t)) {
		if state.Phase == mcp.Ready && state.Connections > 1 {
			return
		}
	}
	t.Error("got no second session, want one")
}

// A refused probe fails as an answer does, and the connection lives for the
// handshake of an older revision.
func TestHTTPRefusedProbe(t *testing.T) {
	s := &script{call: func(p *post) { p.WriteHeader(400) }}
	l := dial(t, &transport.HTTP{URL: listen(t, s)})
	control(t, l, "server/discover", modernMeta)
	resp, ok := assert.Value(l.Read(bounded(t)))(t).(*jsonrpc.Response)
	if !ok || resp.ID.Raw() != "control" || resp.Error == nil {
		t.Fatalf("got %v, want an error as the answer", resp)
	}
	assert.Contains(t, resp.Error.Error(), "400")
	assert.OK(t, handshake(t, l))
}
