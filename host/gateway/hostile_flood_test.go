package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var events = map[string]string{"Accept": "text/event-stream"}

// Streams and sessions above their bounds are refused, and others are served when those have ended.
func TestBounds(t *testing.T) {
	s := openSite(t, &gateway.Options{MaxStreams: 3, MaxSessions: 3})
	var ids []string
	for range 3 {
		ids = append(ids, s.begin(t, "/mcp", "", "2025-11-25"))
	}
	if r := s.do(t, shot{body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25"}`)}); r.status != http.StatusServiceUnavailable {
		t.Errorf("4th session: got %d, want 503", r.status)
	}
	if r := s.do(t, shot{method: http.MethodGet, header: events}); r.status != http.StatusServiceUnavailable {
		t.Errorf("4th session, by SSE: got %d, want 503", r.status)
	}
	s.do(t, shot{method: http.MethodDelete, session: ids[0]})
	ids[0] = s.begin(t, "/mcp", "", "2025-11-25")

	s.listen(t, shot{method: http.MethodGet, session: ids[0], header: events})
	s.listen(t, modern("", "", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	third := s.listen(t, shot{session: ids[1], header: map[string]string{"Accept": "application/json"}, body: callOf(1, "ping", `{}`)})
	third.close()
	var waits sync.WaitGroup
	waits.Go(func() { // a call whose answer is no stream counts as well
		s.do(t, shot{session: ids[2], header: map[string]string{"Accept": "application/json"}, body: callOf(5, "tools/call", `{"name":"one__wait","arguments":{}}`)})
	})
	eventually(t, "the call waits", func() bool { return s.server.waiting.Load() == 1 })
	if r := s.do(t, shot{session: ids[1], body: callOf(1, "ping", `{}`)}); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("4th request: got %d, want 503 and Retry-After", r.status)
	}
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	waits.Wait()
}

// A user whose name is known has a quarter of the streams and of the sessions, so that the others have the rest.
func TestShareOfOneUser(t *testing.T) {
	s := openSite(t, &gateway.Options{MaxStreams: 8, MaxSessions: 8})
	first := s.begin(t, "/mcp", "a", "2025-11-25")
	second := s.begin(t, "/mcp", "a", "2025-11-25")
	for _, in := range []shot{{user: "a", body: callOf(1, "initialize", `{}`)}, {method: http.MethodGet, user: "a", header: events}} {
		if r := s.do(t, in); r.status != http.StatusServiceUnavailable {
			t.Errorf("3rd session: got %d, want 503", r.status)
		}
	}
	for range 2 {
		s.begin(t, "/mcp", "b", "2025-11-25")
		s.begin(t, "/mcp", "", "2025-11-25")
	}
	s.do(t, shot{method: http.MethodDelete, user: "a", session: first})
	first = s.begin(t, "/mcp", "a", "2025-11-25")

	listens := s.listen(t, shot{method: http.MethodGet, user: "a", session: first, header: events})
	s.listen(t, modern("a", "", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	ping := shot{user: "a", session: second, body: callOf(1, "ping", `{}`)}
	if r := s.do(t, ping); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("3rd request: got %d, want 503 and Retry-After", r.status)
	}
	for _, user := range []string{"b", ""} {
		s.wantCode(t, "of another user", modern(user, "", "tools/list", "", ""), 0)
	}
	listens.close()
	eventually(t, "there is room again", func() bool { return s.do(t, ping).status == http.StatusOK })
}

// 10,000 listening streams and as many sessions are served, and end with the gateway.
func TestManyStreams(t *testing.T) {
	streams := 10_000
	if testing.Short() || raceEnabled {
		streams = 500
	}
	s := openInMemory(t, nil)
	before := memory()
	var all sync.WaitGroup
	var opened sync.WaitGroup
	opened.Add(streams)
	for range streams {
		all.Go(func() {
			once := sync.OnceFunc(opened.Done)
			defer once()
			resp, err := s.send(t.Context(), modern("", "", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			r := bufio.NewReaderSize(resp.Body, 512)
			if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "acknowledged") {
				t.Errorf("got %q (%v), want an acknowledgement", line, err)
			}
			once()
			for err == nil {
				_, err = r.ReadString('\n')
			}
			if err != io.EOF {
				t.Errorf("got %v, want the end of the stream", err)
			}
		})
	}
	opened.Wait()
	t.Logf("%d B of memory a stream, its client included", (memory()-before)/streams)
	if err := s.gateway.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: got %v, want no error", err)
	}
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
	s := openInMemory(b, &gateway.Options{MaxSessions: -1})
	s.begin(b, "/mcp", "", "2025-11-25")
	before := memory()
	n := 0
	for b.Loop() {
		n++
		s.begin(b, "/mcp", "", "2025-11-25")
	}
	b.ReportMetric(float64(memory()-before)/float64(n), "held-B/op")
}

// A client that does not read its stream holds up no other, and what waits for it is bounded.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the write to it takes no time, however long the flood does
		s := openInMemory(t, nil)
		before := memory()
		deaf := s.listen(t, shot{user: "a", session: s.begin(t, "/mcp", "a", "2025-06-18"), body: callOf(2, "tools/call", `{"name":"one__flood","arguments":{"n":30000},"_meta":{"progressToken":"p"}}`)})
		id := s.begin(t, "/mcp", "b", "2025-11-25")
		for i := range 50 {
			m := s.wantCode(t, "echo", shot{user: "b", session: id, body: callOf(10+i, "tools/call", `{"name":"one__echo","arguments":{"text":"x"}}`)}, 0)
			if !strings.Contains(string(m.Result), `"x"`) {
				t.Fatalf("got %s, want the echo", m.Result)
			}
		}
		synctest.Wait()                               // all of the flood has come
		if held := memory() - before; held > 20<<20 { // of 30 MB, twice
			t.Errorf("got %d MiB held, want at most 20", held>>20)
		}
		deaf.close()
	})
}

// A client of HTTP with SSE that does not read is refused further requests, not given more memory.
func TestSSEThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		l := s.listen(t, shot{method: http.MethodGet, header: events})
		_, endpoint := l.next("data")
		post := func(body string) *reply { return s.do(t, shot{path: endpoint, body: body}) }
		post(callOf(1, "initialize", `{"protocolVersion":"2024-11-05","capabilities":{}}`))
		refused := 0
		for i := range 40 { // whose answers are more than may wait
			switch r := post(callOf(10+i, "tools/call", `{"name":"one__big","arguments":{"n":1000000}}`)); r.status {
			case http.StatusAccepted:
			case http.StatusServiceUnavailable:
				refused++
			default:
				t.Fatalf("got %d %s, want 202 or 503", r.status, cut(r.body))
			}
			synctest.Wait() // the answer has come
		}
		if refused < 20 {
			t.Errorf("got %d of 40 requests refused, want those after 16 MiB of answers", refused)
		}
		// When it reads, it is served.
		if m := l.message(t); string(m.ID) != "1" {
			t.Errorf("got %+v, want the answer to initialize", m)
		}
	})
}

// What is said on a connection of HTTP with SSE: it begins once, hears of changes, and finishes what is
// under way when the gateway is shut down.
func TestSSE(t *testing.T) {
	s := openSite(t, nil)
	l := s.listen(t, shot{method: http.MethodGet, user: "a", header: events})
	_, endpoint := l.next("data")
	post := func(body string) {
		t.Helper()
		if r := s.do(t, shot{path: endpoint, user: "a", body: body}); r.status != http.StatusAccepted {
			t.Fatalf("got %d %s, want 202", r.status, r.body)
		}
	}
	if r := s.do(t, shot{path: endpoint, user: "b", body: callOf(1, "ping", "{}")}); r.status != http.StatusNotFound {
		t.Errorf("another user: got %d, want 404", r.status)
	}
	wantError := func(what string) {
		t.Helper()
		if m := l.message(t); m.Error == nil {
			t.Errorf("%s: got %s, want an error", what, m.Result)
		}
	}
	post(callOf(1, "tools/list", `{}`))
	wantError("before initialize")
	post(callOf(2, "initialize", `{"protocolVersion":"2024-11-05","capabilities":{"elicitation":{}}}`))
	if m := l.message(t); m.at("protocolVersion") != "2024-11-05" {
		t.Errorf("got %s, want the revision", m.Result)
	}
	post(callOf(3, "initialize", `{"protocolVersion":"2024-11-05","capabilities":{}}`))
	wantError("initialize twice")
	addEmptyTool(s.server, "later")
	if m := l.message(t); m.Method != "notifications/tools/list_changed" {
		t.Errorf("got %+v, want a notification", m)
	}
	post(callOf(4, "tools/call", `{"name":"one__ask","arguments":{}}`))
	question := l.message(t)
	shut := make(chan error, 1)
	go func() { shut <- s.gateway.Shutdown(context.Background()) }()
	eventually(t, "the gateway shuts down", func() bool {
		return s.do(t, shot{method: http.MethodGet, user: "a", path: "/readyz"}).status == http.StatusServiceUnavailable
	})
	select {
	case err := <-shut:
		t.Fatalf("got %v, want Shutdown to wait for the call", err)
	default:
	}
	if question.Method != "elicitation/create" {
		t.Errorf("got %+v, want a question", question)
	}
	// A POST is refused now, so that the call ends by its cancellation alone.
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	<-shut
}

// Calls that are withdrawn at once, by all ways, leave nothing behind.
func TestCancellationStorm(t *testing.T) {
	const calls = 300
	s := openSite(t, nil)
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	var all sync.WaitGroup
	come := make(chan struct{})
	for i := range calls {
		all.Go(func() {
			in := shot{user: "a", session: id, body: callOf(100+i, "tools/call", `{"name":"one__wait","arguments":{},"_meta":{"progressToken":1}}`)}
			if i%3 == 0 {
				in = modern("a", "", "tools/call", "one__wait", `"name":"one__wait","arguments":{}`)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				all.Go(func() {
					<-come
					cancel()
				})
			}
			resp, err := s.send(ctx, in)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
		})
		if i%3 != 0 {
			all.Go(func() {
				s.do(t, shot{user: "a", session: id, body: fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 100+i)})
			})
		}
	}
	eventually(t, "calls come", func() bool { return s.server.waiting.Load()+s.server.waited.Load() > 0 })
	close(come)
	s.do(t, shot{method: http.MethodDelete, user: "a", session: id})
	all.Wait()
	eventually(t, "no call waits", func() bool { return s.server.waiting.Load() == 0 })
}

// A gateway that is closed in the middle of everything ends, and so does all that it did.
func TestCloseInTheMiddle(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		t.Run(fmt.Sprintf("shutdown %t", shutdown), func(t *testing.T) {
			s := openSite(t, nil)
			var all sync.WaitGroup
			shoot := func(in shot) {
				all.Go(func() {
					resp, err := s.send(t.Context(), in)
					if err != nil {
						return
					}
					defer resp.Body.Close()
					_, _ = io.Copy(io.Discard, resp.Body)
				})
			}
			for i := range 20 {
				id := s.begin(t, "/mcp", "a", "2025-11-25")
				shoot(shot{method: http.MethodGet, user: "a", session: id, header: events})
				shoot(shot{method: http.MethodGet, user: "a", header: events})
				for j, params := range []string{
					`{"name":"one__wait","arguments":{}}`, `{"name":"one__ask","arguments":{}}`,
					`{"name":"one__flood","arguments":{"n":10000},"_meta":{"progressToken":1}}`, `{"name":"one__wait","arguments":{},"task":{}}`,
				} {
					shoot(shot{user: "a", session: id, body: callOf(10*i+j, "tools/call", params)})
				}
				shoot(modern("a", "", "tools/call", "one__wait", `"name":"one__wait","arguments":{}`))
				shoot(modern("a", "", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["note://1"]}`))
				old := s.begin(t, "/mcp", "a", "2025-03-26")
				shoot(shot{user: "a", session: old, body: `[` + callOf(1, "tools/call", `{"name":"one__wait","arguments":{}}`) + `,` + callOf(2, "ping", `{}`) + `]`})
			}
			eventually(t, "calls wait", func() bool { return s.server.waiting.Load() > 20 })
			if shutdown {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				assert.Fails(t, s.gateway.Shutdown(ctx), "got no error, want that of the context")
			} else if err := s.gateway.Close(); err != nil {
				t.Errorf("got %v, want no error", err)
			}
			all.Wait()
			if r := s.do(t, shot{user: "a", body: callOf(1, "initialize", `{}`)}); r.status != http.StatusServiceUnavailable {
				t.Errorf("after the end: got %d, want 503", r.status)
			}
		})
	}
}
