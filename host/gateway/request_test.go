// Tests of request.go and call.go: requests that are withdrawn, and calls of servers that die.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/wildtest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// newStuckServer returns a server that answers none of the given requests before they are cancelled, and
// counts those that wait and those that were cancelled.
func newStuckServer(methods map[string]string) (server *sdk.Server, waiting, cancelled *atomic.Int64) {
	server = newSDKServer()
	waiting, cancelled = new(atomic.Int64), new(atomic.Int64)
	addNote(server, "test://note")
	addPrompt(server)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if _, ok := methods[method]; !ok {
				return next(ctx, method, r)
			}
			waiting.Add(1)
			defer cancelled.Add(1)
			defer waiting.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	return server, waiting, cancelled
}

// Whatever request is withdrawn, its server is told, and the client gets no answer.
func TestWithdrawn(t *testing.T) {
	//report: Gateway | PrefectHQ/fastmcp#4124, mcp-use/mcp-use#2474, lynnswap/XcodeMCPKit#210 | a gateway does not pass on that a request was cancelled, or with an id that the server does not know | each request that is under way at a server is cancelled there with its own id, in all revisions and over stdio
	methods := map[string]string{ // in the view of one server
		"resources/list":           ``,
		"resources/templates/list": ``,
		"prompts/list":             ``,
		"resources/read":           `"uri":"test://note"`,
		"prompts/get":              `"name":"greet"`,
		"completion/complete":      `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}`,
		"tools/call":               `"name":"slow"`,
	}
	server, waiting, cancelled := newStuckServer(methods)
	addTool(server, "slow", nil)
	s := openServer(t, nil, server)
	for method, params := range methods {
		withdraw := func(request, cancel func()) {
			before := cancelled.Load()
			var all sync.WaitGroup
			all.Go(request)
			hosttest.Eventually(t, method+" waits", func() bool { return waiting.Load() == 1 })
			cancel()
			hosttest.Eventually(t, "the server is told of "+method, func() bool { return cancelled.Load() == before+1 })
			all.Wait()
		}
		c := s.connect(t, &client{path: "/s/belt/mcp"})
		withdraw(func() {
			assert.Lacks(t, s.do(t, c.query(method, params)).body, `"id":2`, "%s: the answer", method)
		}, func() { s.do(t, query{path: c.path, user: "a", session: c.session, body: cancelling(2)}) })

		ctx, cancel := context.WithCancel(t.Context())
		withdraw(func() { s.drain(ctx, s.modern("a", "/s/belt/mcp").query(method, params)) }, cancel)

		for _, revision := range both {
			c := s.stdio(t, "/s/belt/mcp")
			c.begin(t)
			line := callOf(2, method, "{"+params+"}")
			if revision == mcp.Revision20260728 {
				line = s.modern("a", "").query(method, params).body
				line = strings.Replace(line, `"id":1`, `"id":2`, 1)
			}
			withdraw(func() { c.say(t, line) }, func() { c.say(t, cancelling(2)) })
			c.say(t, callOf(3, "ping", `{}`))
			assert.Equal(t, string(c.message(t).ID), "3", "%s in %s over stdio: the id of the next answer", method, revision)
		}
	}
}

// A client that withdraws a subscription waits no more for the server, whose subscriptions are shared.
func TestSubscriptionWithdrawn(t *testing.T) {
	server, waiting, _ := newStuckServer(map[string]string{"resources/subscribe": ""})
	s := &site{server: &upstream{Server: server}}
	c := s.open(t, s.hostOptions(), nil, commands("belt")...).stdio(t, "/s/belt/mcp")
	c.begin(t)
	c.say(t, callOf(2, "resources/subscribe", `{"uri":"test://note"}`))
	hosttest.Eventually(t, "the request waits", func() bool { return waiting.Load() == 1 })
	c.say(t, cancelling(2))
	_ = c.in.Close()
	assert.Equal(t, <-c.ended, nil)
}

// Calls that are withdrawn at once, by all ways, leave nothing behind.
func TestCancellationStorm(t *testing.T) {
	s := openSite(t, nil)
	c := s.connect(t, &client{})
	var all sync.WaitGroup
	come := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range assert.Cases(30, 300) {
		if i%3 == 0 {
			q := s.modern("a", "").query("tools/call", toolParams("one__wait", `{}`))
			all.Go(func() { s.drain(ctx, q) })
			continue
		}
		q := c.query("tools/call", toolParams("one__wait", `{}`)+`,"_meta":{"progressToken":1}`)
		id := int(c.ids.Load())
		all.Go(func() { s.drain(t.Context(), q) })
		all.Go(func() { s.do(t, query{user: "a", session: c.session, body: cancelling(id)}) })
	}
	all.Go(func() {
		<-come
		cancel()
	})
	hosttest.Eventually(t, "calls come", func() bool { return s.server.waiting.Load()+s.server.waited.Load() > 0 })
	close(come)
	c.delete(t)
	all.Wait()
	s.server.waits(t, 0)
}

// A request that is withdrawn takes nothing from the rest of its session.
func TestCancelKeepsListening(t *testing.T) {
	s := openSite(t, nil)
	c := s.connect(t, &client{})
	l := c.listen(t)
	q := c.query("tools/call", toolParams("one__wait", `{}`))
	q.header = acceptJSON
	var all sync.WaitGroup
	all.Go(func() { s.do(t, q) })
	s.server.waits(t, 1)
	s.do(t, query{user: "a", session: c.session, body: cancelling(int(c.ids.Load()))})
	all.Wait()
	addTool(s.server.Server, "later", nil)
	assert.Equal(t, l.message(t).Method, "notifications/tools/list_changed")
}

// serveJournal is a server that writes down each call before it answers.
func serveJournal(path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	server := newSDKServer()
	addTool(server, "note", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string {
		_, _ = f.WriteString(in.Text + "\n")
		return in.Text
	})
	addTool(server, "die", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string {
		_, _ = f.WriteString(in.Text + "\n")
		os.Exit(1)
		return ""
	})
	addTool(server, "pid", func(context.Context, *sdk.CallToolRequest, anyInput) string { return fmt.Sprint(os.Getpid()) })
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
}

// A process that is killed under many callers is there again, each call is told what became of
// it, and none is made twice.
func TestKilledServer(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	s := openEntries(t, nil, "journal", hosttest.Child(t, "journal:"+journal))
	ctx := hosttest.Watchdog(t)
	c := s.newUser(t, "/s/journal/mcp", "", mcp.Revision20251125, nil)
	outcomes := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	stop := make(chan struct{})
	for i := range assert.Cases(8, 64) {
		all.Go(func() {
			for n := 0; !isClosed(stop); n++ {
				id := fmt.Sprintf("%d.%d", i, n)
				res, err := c.CallTool(ctx, "note", json.RawMessage(fmt.Sprintf(`{"text":%q}`, id)), nil)
				if err != nil {
					t.Errorf("call %s: got %v, want an outcome", id, err)
					return
				}
				outcome, _ := res.Meta[gateway.MetaOutcome].(string)
				if !res.IsError {
					outcome = "answered"
				}
				mu.Lock()
				outcomes[id] = outcome
				mu.Unlock()
			}
		})
	}
	for range assert.Cases(1, 3) {
		pid := 0
		hosttest.Eventually(t, "a call is answered", func() bool {
			res, err := c.CallTool(ctx, "pid", nil, nil)
			return err == nil && !res.IsError && json.Unmarshal([]byte(res.Text()), &pid) == nil
		})
		hosttest.Kill(t, pid)
		hosttest.Eventually(t, "the process is another one", func() bool {
			res, err := c.CallTool(ctx, "pid", nil, nil)
			return err == nil && !res.IsError && res.Text() != fmt.Sprint(pid)
		})
	}
	close(stop)
	all.Wait()
	made := map[string]int{}
	for id := range strings.FieldsSeq(string(assert.Value(os.ReadFile(journal))(t))) {
		made[id]++
	}
	allowed := map[string]bool{"answered 1": true, "not_sent 0": true, "unknown 0": true, "unknown 1": true}
	for id, outcome := range outcomes {
		got := fmt.Sprint(outcome, " ", made[id])
		assert.True(t, allowed[got], "call %s: the outcome and how often it was made %s is one of %v", id, got, allowed)
	}
}

// A call in the course of which its server dies may have been made, and is not made again.
func TestOutcomeOfDeath(t *testing.T) {
	//report: Gateway | PrefectHQ/fastmcp#4227 | the server behind a proxy dies, and the client hears of an empty answer, or nothing | the result is an error that says that the call may have run; it is not made again
	journal := filepath.Join(t.TempDir(), "journal")
	s := openEntries(t, nil, "journal", hosttest.Child(t, "journal:"+journal))
	for _, revision := range both {
		m := s.connect(t, &client{path: "/s/journal/mcp", revision: revision}).call(t, "die", fmt.Sprintf(`{"text":%q}`, revision))
		assert.Equal(t, m.at("isError")+" "+m.at("_meta", gateway.MetaOutcome), "true unknown", "%s: the error and the outcome", revision)
		assert.Equal(t, strings.Count(string(assert.Value(os.ReadFile(journal))(t)), revision), 1, "%s: calls", revision)
	}
}

// Definitions, arguments and results pass token by token as they were written, whatever they are.
// MCPBELT_SOAK=1 makes 100,000 of each.
func TestTokensAreKept(t *testing.T) {
	//report: Gateway | modelcontextprotocol/python-sdk#961, opensandbox-group/OpenSandbox#1111 | ids and numbers come back as others: 2^53+1, 1.0, texts with digits | arguments, results and ids keep their tokens in all revisions, modes and transports
	count := assert.Cases(40, 200)
	if os.Getenv("MCPBELT_SOAK") != "" {
		count = 100_000
	}
	for first := 0; first < count; first += wildtest.Page {
		upstream := httptest.NewServer(wildtest.Handler(uint64(first)))
		defer upstream.Close()
		t.Run(fmt.Sprint("from ", first), func(t *testing.T) {
			s := openEntries(t, nil, "wild", httpEntry(upstream.URL+"/json", `"trust":true`))
			stdio := s.stdio(t, "/s/wild/mcp/direct")
			stdio.begin(t)
			for _, mode := range []string{"direct", "search"} {
				old := s.connect(t, &client{path: "/s/wild/mcp/" + mode})
				modern := s.modern("a", "/s/wild/mcp/"+mode)
				ways := map[string]func(method, params string) rpc{
					"2025-11-25": func(method, params string) rpc { return old.do(t, method, params) },
					"2026-07-28": func(method, params string) rpc { return modern.do(t, method, params) },
				}
				if mode == "direct" {
					ways["stdio"] = func(method, params string) rpc { return stdio.do(t, method, params) }
				}
				for way, do := range ways {
					keepsTokens(t, mode+" "+way, uint64(first), min(wildtest.Page, count-first), do)
				}
			}
		})
	}
}

// keepsTokens checks definitions and results of tools that are made from seeds.
func keepsTokens(t *testing.T, way string, first uint64, count int, do func(method, params string) rpc) {
	t.Helper()
	search := strings.HasPrefix(way, "search")
	var list struct{ Tools []json.RawMessage }
	assert.OK(t, json.Unmarshal(do("tools/list", "").Result, &list))
	defined := map[string]json.RawMessage{}
	for _, raw := range list.Tools {
		var d struct{ Name string }
		_ = json.Unmarshal(raw, &d)
		defined[d.Name] = raw
	}
	for seed := first; seed < first+uint64(count); seed++ {
		name := fmt.Sprintf("t%d", seed)
		args := wildtest.Arguments(seed)
		call, want := toolParams(name, args), wildtest.Result(seed, args)
		if search {
			call = toolParams("call_tool", fmt.Sprintf(`{"tool":%q,"arguments":%s}`, name, args))
		} else {
			assert.OK(t, wildtest.SameTokens(defined[name], []byte(wildtest.Tool(seed))), "%s: definition %d", way, seed)
		}
		if strings.HasSuffix(way, mcp.Revision20260728) {
			want = `{"resultType":"complete",` + strings.TrimLeft(strings.TrimPrefix(want, "{"), " \t")
		}
		assert.OK(t, wildtest.SameTokens(do("tools/call", call).Result, []byte(want)), "%s: result %d", way, seed)
	}
}

// A server's stream passes whole, however its bytes come.
func TestStreamInPieces(t *testing.T) {
	//report: Gateway | FellouAI/eko#287, api7/aisix#111, iansinnott/obsidian-claude-code-mcp#15 | a chunk of a server's stream ends within a character, lines end in CR LF, and an event has several data lines | the bytes are put together before they are read, and the text arrives as it was sent
	const text = "修复方法 🌍 é"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
			"tools/list": toolsNamed("say"), "tools/call": rawText(text),
		}[m.Method]
		if m.ID == nil || result == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, b := range []byte(": hi\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":" + string(m.ID) + ",\r\ndata: \"result\":" + result + "}\r\n\r\n") {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(web.Close)
	assert.Equal(t, openEntries(t, nil, "s", httpEntry(web.URL)).connect(t, &client{}).call(t, "s__say", `{}`).text(), text)
}
