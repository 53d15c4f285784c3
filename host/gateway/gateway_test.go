// Tests of gateway.go and ready.go: what a gateway serves, and when it is ready.

package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// Streams and sessions above their bounds are refused, and others are served when those have ended.
func TestBounds(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxStreams = 3; l.MaxSessions = 3 }))
	var clients []*client
	for i := range 3 {
		clients = append(clients, s.connect(t, &client{user: fmt.Sprint(i)}))
	}
	s.wantStatus(t, http.StatusServiceUnavailable, query{body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25"}`)}, "4th session")
	clients[0].delete(t)
	clients[0] = s.connect(t, &client{user: "0"})

	clients[0].listen(t)
	s.modern("b", "").listen(t)
	ping := clients[1].query("ping", "")
	ping.header = acceptJSON
	s.listen(t, ping).close()
	var waits sync.WaitGroup
	waits.Go(func() { // a call whose answer is no stream counts as well
		q := clients[2].query("tools/call", toolParams("one__wait", `{}`))
		q.header = acceptJSON
		s.do(t, q)
	})
	s.server.waits(t, 1)
	assert.Equal(t, s.wantStatus(t, http.StatusServiceUnavailable, ping, "4th request").header.Get("Retry-After"), "1")
	assert.Equal(t, s.gateway.Close(), nil)
	waits.Wait()
}

// A user whose name is known has a quarter of the streams and of the sessions, so that the others have the rest.
func TestShareOfOneUser(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxStreams = 8; l.MaxSessions = 8 }))
	first, second := s.connect(t, &client{}), s.connect(t, &client{})
	s.wantStatus(t, http.StatusServiceUnavailable, query{user: "a", body: callOf(1, "initialize", `{}`)}, "3rd session")
	for range 2 {
		s.connect(t, &client{user: "b"})
		s.wantStatus(t, http.StatusOK, query{body: callOf(1, "initialize", `{}`)}, "of no user")
	}
	first.delete(t)
	first = s.connect(t, &client{})

	listens := first.listen(t)
	s.modern("a", "").listen(t)
	ping := second.query("ping", "")
	assert.Equal(t, s.wantStatus(t, http.StatusServiceUnavailable, ping, "3rd request").header.Get("Retry-After"), "1")
	s.modern("b", "").want(t, 0, "tools/list", "")
	listens.close()
	hosttest.Eventually(t, "there is room again", func() bool { return s.do(t, ping).status == http.StatusOK })
}

// Many listening streams are served, and end with the gateway.
func TestManyStreams(t *testing.T) {
	streams := assert.Cases(100, 2000)
	s := openInMemory(t, nil)
	before := memory()
	var all, opened sync.WaitGroup
	opened.Add(streams)
	for range streams {
		q := s.modern("a", "").query("subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
		all.Go(func() {
			once := sync.OnceFunc(opened.Done)
			defer once()
			resp, err := s.send(t.Context(), q)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			r := bufio.NewReaderSize(resp.Body, 512)
			line, err := r.ReadString('\n')
			assert.Contains(t, line, "acknowledged", "(%v)", err)
			once()
			for err == nil {
				_, err = r.ReadString('\n')
			}
			assert.Is(t, err, io.EOF, "the end of the stream")
		})
	}
	opened.Wait()
	t.Logf("%d B of memory a stream, its client included", (memory()-before)/streams)
	assert.Equal(t, s.gateway.Shutdown(t.Context()), nil, "Shutdown")
	all.Wait()
}

// memory returns what the heap and the stacks hold.
func memory() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdleSession tells what a session costs that does nothing.
func BenchmarkIdleSession(b *testing.B) {
	s := openInMemory(b, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxSessions = 1 << 40 }))
	s.connect(b, &client{})
	before := memory()
	n := 0
	for b.Loop() {
		n++
		s.connect(b, &client{})
	}
	b.ReportMetric(float64(memory()-before)/float64(n), "held-B/op")
}

// A gateway that is closed in the middle of everything ends, and so does all that it did.
func TestCloseInTheMiddle(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		t.Run(fmt.Sprintf("shutdown %t", shutdown), func(t *testing.T) {
			s := openSite(t, nil)
			var all sync.WaitGroup
			begin := func(q query) { all.Go(func() { s.drain(t.Context(), q) }) }
			users := assert.Cases(4, 20)
			for range users {
				c, modern, old := s.connect(t, &client{}), s.modern("a", ""), s.connect(t, &client{revision: "2025-03-26"})
				begin(c.get())
				for _, params := range []string{
					toolParams("one__wait", `{}`), toolParams("one__ask", `{}`),
					toolParams("one__flood", `{"n":10000}`) + `,"_meta":{"progressToken":1}`,
				} {
					begin(c.query("tools/call", params))
				}
				begin(modern.query("tools/call", toolParams("one__wait", `{}`)))
				begin(modern.query("subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["note://1"]}`))
				batch := old.query("tools/call", toolParams("one__wait", `{}`))
				batch.body = "[" + batch.body + "," + callOf(9, "ping", `{}`) + "]"
				begin(batch)
			}
			hosttest.Eventually(t, "calls wait", func() bool { return s.server.waiting.Load() > int64(users) })
			if shutdown {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				assert.Fails(t, s.gateway.Shutdown(ctx), "Shutdown with a context that has ended")
			} else {
				assert.Equal(t, s.gateway.Close(), nil)
			}
			all.Wait()
			s.wantStatus(t, http.StatusServiceUnavailable, query{user: "a", body: callOf(1, "initialize", `{}`)}, "after the end")
		})
	}
}

// A gateway that shuts down answers the calls under way and takes no more.
func TestShutdownDrains(t *testing.T) {
	server := newSDKServer()
	began, goOn := make(chan struct{}), make(chan struct{})
	addTool(server, "slow", func(context.Context, *sdk.CallToolRequest, anyInput) string {
		close(began)
		<-goOn
		return "done"
	})
	s := openServer(t, nil, server)
	c := s.connect(t, &client{})
	var all sync.WaitGroup
	all.Go(func() { c.wantText(t, "belt__slow", `{}`, "done") })
	<-began
	all.Go(func() { assert.Equal(t, s.gateway.Shutdown(hosttest.Watchdog(t)), nil) })
	hosttest.Eventually(t, "the gateway is not ready", func() bool {
		return s.do(t, query{method: http.MethodGet, path: "/readyz"}).status == http.StatusServiceUnavailable
	})
	close(goOn)
	all.Wait()
}

// All views and sessions use one process of a server.
func TestOneProcess(t *testing.T) {
	//report: Gateway | metatool-ai/metamcp#324, metatool-ai/metamcp#162, supercorp-ai/supergateway#108, docker/mcp-gateway#65 | a gateway starts a server for each client or call, so that what it holds is lost and processes pile up | all clients and views share one process, or one for each user where an entry says so
	profiles := map[string]gateway.Profile{}
	for i := range assert.Cases(2, 18) {
		profiles[fmt.Sprint("p", i)] = gateway.Profile{}
	}
	s := openEntries(t, &gateway.Options{Profiles: profiles}, "echo", hosttest.Child(t, "echo"))
	pids := map[string]bool{}
	for name := range profiles {
		for range assert.Cases(2, 50) {
			pids[s.connect(t, &client{path: "/p/" + name + "/mcp"}).call(t, "echo__echo", `{"text":"x"}`).text()] = true
		}
	}
	pids[s.connect(t, &client{path: "/s/echo/mcp"}).call(t, "echo", `{"text":"x"}`).text()] = true
	assert.Equal(t, len(pids), 1, "answers of processes")
}

// post posts a body without a connection.
func post(s *site, body, path string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r.URL.Path = path
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for key, value := range header {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	w := httptest.NewRecorder()
	s.gateway.ServeHTTP(w, r)
	return w
}

// FuzzPost posts any body with some of the fields that matter. Each request is answered, by a status that
// is not the server's fault.
func FuzzPost(f *testing.F) {
	s := &site{server: newUpstream()}
	s.make(f, s.hostOptions(), gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) {
		l.AnswerWithin = 20 * time.Millisecond
		l.Heartbeat = time.Millisecond
		l.MaxMessage = 1 << 16
	}), commands("one")...)
	f.Cleanup(func() { assert.Equal(f, s.gateway.Close(), nil) })
	sessions := map[string]string{}
	for _, revision := range []string{"2025-11-25", "2025-03-26"} {
		w := post(s, callOf(1, "initialize", `{"protocolVersion":"`+revision+`","capabilities":{"elicitation":{}}}`), "/mcp", nil)
		sessions[revision] = w.Header().Get("Mcp-Session-Id")
	}
	for _, body := range []string{
		"", "[]", "{", callOf(1, "ping", `{}`), `[` + callOf(1, "ping", `{}`) + `,` + cancelling(1) + `]`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":1,"error":7,"method":"ping"}`,
	} {
		for _, revision := range []string{"", "2025-11-25", "2025-03-26"} {
			f.Add(body, revision, "", "", "/mcp")
		}
	}
	modern := s.modern("a", "")
	for _, c := range [][2]string{
		{"tools/call", toolParams("one__echo", `{"text":"x"}`)},
		{"tools/call", toolParams("one__ask", `{}`)},
		{"tools/call", toolParams("one__ask", `{}`) + `,"requestState":"mcpbelt.A.B","inputResponses":{"a":{}}`},
		{"tools/call", toolParams("await_call", `{"id":"x"}`)},
		{"tools/list", `"cursor":"AA"`},
		{"prompts/get", `"name":"x","arguments":{"a":"b"}`},
		{"resources/read", `"uri":"mcp://one/note://1"`},
		{"resources/subscribe", `"uri":"note://1"`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}`},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"x"},"argument":null,"context":{"arguments":{}}`},
		{"logging/setLevel", `"level":"debug"`},
		{"tasks/get", `"taskId":"x"`},
		{"server/discover", ``},
		{"subscriptions/listen", `"notifications":{}`},
		{"initialize", `"protocolVersion":"2025-11-25","clientInfo":{"name":"claude-ai"}`},
	} {
		q := modern.query(c[0], c[1])
		f.Add(strings.Replace(q.body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1), "2026-07-28", c[0], q.header["Mcp-Name"], "/mcp")
		f.Add(callOf(1, c[0], `{`+c[1]+`}`), "2025-11-25", "", "", "/s/one/mcp")
		f.Add(callOf(1, c[0], `{`+c[1]+`}`), "2025-03-26", "", "", "/mcp")
	}
	f.Fuzz(func(t *testing.T, body, revision, method, name, path string) {
		if strings.Contains(body, "wait") || strings.Contains(body, "listen") || strings.Contains(body, "flood") {
			t.Skip("it takes its time")
		}
		w := post(s, body, path, map[string]string{"Mcp-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": sessions[revision]})
		switch w.Code {
		case 200, 202, 400, 401, 403, 404, 405, 406, 413, 415:
		default:
			t.Errorf("got %d %.300s, want an answer or a refusal", w.Code, w.Body)
		}
		if w.Code == 200 && w.Body.Len() > 0 && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			assert.True(t, json.Valid(w.Body.Bytes()), "JSON: %s", w.Body)
		}
	})
}

// A host that was closed has nothing to serve.
func TestGatewayOfAClosedHost(t *testing.T) {
	h := host.New(&host.Options{StateDir: host.NoState})
	assert.OK(t, h.Close())
	assert.Is(t, assert.Err(gateway.New(h, &gateway.Options{Anonymous: true})), host.ErrClosed)
}
