// Tests of session.go, and of what other files keep for one client alone: answers, calls, lists and the states of modern.go.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// The answer to a question is taken from the session that was asked alone.
func TestAnswerOfAnother(t *testing.T) {
	s := openSite(t, nil)
	mine, other := s.connect(t, &client{}), s.connect(t, &client{user: "b"})
	l := s.listen(t, mine.query("tools/call", toolParams("one__ask", `{}`)))
	question := l.message(t)
	assert.Equal(t, question.Method, "elicitation/create")
	answer := func(name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, question.ID, name)
	}
	s.wantStatus(t, http.StatusAccepted, query{user: "b", session: other.session, body: answer("eve")}, "in another session")
	s.wantStatus(t, http.StatusNotFound, query{user: "b", session: mine.session, body: answer("eve")}, "of another user")
	for range 3 { // once is taken, the others are ignored
		s.do(t, query{user: "a", session: mine.session, body: answer("alice")})
	}
	assert.Contains(t, string(l.message(t).Result), "accept alice")
}

// A session that is deleted takes its calls with it.
func TestDeleteInTheMiddle(t *testing.T) {
	s := openSite(t, nil)
	c := s.connect(t, &client{})
	var all sync.WaitGroup
	for range 5 {
		q := c.query("tools/call", toolParams("one__wait", `{}`))
		all.Go(func() { s.do(t, q) })
	}
	s.server.waits(t, 5)
	again := query{user: "a", session: c.session, body: callOf(int(c.ids.Load()), "ping", `{}`)}
	assert.True(t, s.do(t, again).message(t).Error != nil, "an error for an id that is used twice")
	c.delete(t)
	all.Wait()
	s.server.hasEnded(t, 5)
	s.wantStatus(t, http.StatusNotFound, c.query("ping", ""))
}

// A session is forgotten when it was idle for SessionIdle, and not while a stream of it is open.
func TestSessionIdle(t *testing.T) {
	//report: Gateway | stacklok/toolhive#5939 | sessions of clients that send no DELETE are kept for ever, or end in the middle of their use | one that was idle for an hour is forgotten, and not while a stream of it is open
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.SessionIdle = 10 * time.Minute }))
		idle, listens := s.connect(t, &client{}), s.connect(t, &client{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { s.drain(ctx, listens.get()) })
		time.Sleep(13 * time.Minute)
		s.wantStatus(t, http.StatusNotFound, idle.query("ping", ""), "idle")
		s.wantStatus(t, http.StatusOK, listens.query("ping", ""), "listening")
		cancel()
		all.Wait()
	})
}

// A client of a revision with sessions that loses its connection can come back for the answer to a call, so
// that the call goes on. It ends when the session has been idle for too long.
func TestCallOfClientThatIsGone(t *testing.T) {
	call := callOf(2, "tools/call", `{"name":"wait"}`)
	for _, test := range []struct{ revision, accept, call string }{
		{mcp.Revision20251125, "application/json, text/event-stream", call},
		{mcp.Revision20251125, "application/json", call},
		{"2025-03-26", "application/json, text/event-stream", "[" + call + "]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &host.Options{StateDir: host.NoState}
			gateway.Prepare(o)
			h := host.New(o)
			defer h.Close()
			ended := make(chan struct{})
			assert.OK(t, h.Registry().Add(registry.MustFunc("wait", "Wait", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				close(ended)
				return "", ctx.Err()
			})))
			g := assert.Value(gateway.New(h, gateway.WithLimits(&gateway.Options{Authenticate: userOfField}, func(l *gateway.Limits) { l.SessionIdle = time.Hour })))(t)
			defer g.Close()
			post := func(ctx context.Context, session, body string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {test.accept}, "Mcp-Session-Id": {session}}
				w := httptest.NewRecorder()
				g.ServeHTTP(w, r)
				return w
			}
			begin := callOf(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}`, test.revision))
			session := post(t.Context(), "", begin).Header().Get("Mcp-Session-Id")
			ctx, leave := context.WithCancel(t.Context())
			go post(ctx, session, test.call)
			time.Sleep(2 * time.Hour) // the client waits
			leave()
			for after, want := range []bool{false, true} { // half an hour, and an hour more
				time.Sleep(30*time.Minute + time.Duration(after)*30*time.Minute)
				assert.Equal(t, isClosed(ended), want, "%+v: the call has ended, time %d", test, after)
			}
		})
	}
}

// isClosed reports whether a channel is closed, or has a value.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The list of a user who may use every tool is not shown to one who may not.
func TestListOfAnother(t *testing.T) {
	s := &site{server: newUpstream()}
	ho := s.hostOptions()
	ho.Registry = registry.New(&registry.Options{Approver: adminsOnly{}})
	s.open(t, ho, nil, commands("one")...)
	for _, user := range []string{"admin", "guest", "admin", "guest", "other"} {
		assert.Equal(t, s.modern(user, "").tools(t)["one__wait"] != nil, user == "admin", "%s: the tool listed", user)
	}
}

// adminsOnly lets the admin call every tool, and others echo.
type adminsOnly struct{}

func (p adminsOnly) Approve(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	return p.Decide(r), nil
}

func (adminsOnly) Decide(r *registry.ApprovalRequest) approval.Decision {
	if r.User == "admin" || strings.HasSuffix(r.Tool.Name, "echo") {
		return approval.Decision{Verdict: approval.Allow}
	}
	return approval.Decision{Verdict: approval.Deny}
}

// A requestState of the gateway continues one call, once, for who made it.
func TestRequestState(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{"all": {}}, Authenticate: authenticateUserAndKey}, "one", "two")
	begin := func(tool string) (state, question string) {
		m := s.modern("ada/1", "").call(t, tool, `{}`)
		var requests map[string]json.RawMessage
		assert.OK(t, json.Unmarshal([]byte(m.at("inputRequests")), &requests), "the questions in %s", m.Result)
		for id := range requests {
			question = id
		}
		return m.at("requestState"), question
	}
	state, question := begin("one__ask")
	other, _ := begin("two__ask")
	last := strings.LastIndexByte(state, '.')
	params := func(tool, args, state string) string {
		return toolParams(tool, args) + fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"name":"x"}}},"requestState":%q`, question, state)
	}
	for what, c := range map[string]struct{ user, path, method, params string }{
		"another user":       {"eve/1", "", "tools/call", params("one__ask", `{}`, state)},
		"no user":            {"/1", "", "tools/call", params("one__ask", `{}`, state)},
		"another credential": {"ada/2", "", "tools/call", params("one__ask", `{}`, state)},
		"another view":       {"ada/1", "/p/all/mcp", "tools/call", params("one__ask", `{}`, state)},
		"view of the server": {"ada/1", "/s/one/mcp", "tools/call", params("ask", `{}`, state)},
		"another tool":       {"ada/1", "", "tools/call", params("two__ask", `{}`, state)},
		"other arguments":    {"ada/1", "", "tools/call", params("one__ask", `{"text":"x"}`, state)},
		"another method":     {"ada/1", "", "prompts/get", params("one__ask", `{}`, state)},
		"empty":              {"ada/1", "", "tools/call", params("one__ask", `{}`, "mcpbelt.")},
		"forged":             {"ada/1", "", "tools/call", params("one__ask", `{}`, "mcpbelt.x.y")},
		"cut off":            {"ada/1", "", "tools/call", params("one__ask", `{}`, state[:len(state)-1])},
		"forged end":         {"ada/1", "", "tools/call", params("one__ask", `{}`, state[:last]+".AAAAAAAAAAAAAAAAAAAAAAAAAA")},
		"without end":        {"ada/1", "", "tools/call", params("one__ask", `{}`, state[:last])},
		"end of another":     {"ada/1", "", "tools/call", params("one__ask", `{}`, state[:last]+other[strings.LastIndexByte(other, '.'):])},
	} {
		s.modern(c.user, c.path).want(t, -32602, c.method, c.params, what)
	}
	c := s.modern("ada/1", "")
	assert.Contains(t, c.want(t, 0, "tools/call", params("one__ask", `{}`, state)).text(), "accept x")
	c.want(t, -32602, "tools/call", params("one__ask", `{}`, state), "used again")
}

// A question is withdrawn when the client that was asked has been away for 5 seconds.
func TestQuestionOfClientThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host.New(&host.Options{StateDir: host.NoState})
		defer h.Close()
		withdrawn := make(chan struct{})
		assert.OK(t, h.Registry().Add(registry.MustFunc("ask", "Ask", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := gateway.Elicit(ctx, &mcp.ElicitParams{Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
			close(withdrawn)
			return "", err
		})))
		g := assert.Value(gateway.New(h, &gateway.Options{Authenticate: userOfField}))(t)
		defer g.Close()
		post := func(ctx context.Context, session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			return w
		}
		begin := callOf(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}`)
		session := post(t.Context(), "", begin).Header().Get("Mcp-Session-Id")
		ctx, leave := context.WithCancel(t.Context())
		go post(ctx, session, callOf(2, "tools/call", `{"name":"ask"}`))
		time.Sleep(time.Minute)
		leave()
		time.Sleep(4 * time.Second)
		assert.False(t, isClosed(withdrawn), "withdrawn after 4 s")
		time.Sleep(3 * time.Second)
		assert.True(t, isClosed(withdrawn), "withdrawn after 7 s")
	})
}

// Clients that leave out a part of the handshake.
func TestShortHandshakes(t *testing.T) {
	s := openSite(t, nil)
	//report: Gateway | php-mcp/server#79, php-mcp/server#10 | a client never sends notifications/initialized, and is refused from then on | it is served from the answer to initialize on
	s.connect(t, &client{}).wantText(t, "one__echo", `{"text":"x"}`, "x")
	//report: Gateway | agentgateway/agentgateway#221 | a client makes a call without initialize, since it takes the gateway for one without state | in revisions with sessions it is told to initialize; in 2026-07-28, and at /mcp/tools/call, the call is made
	call := toolParams("one__echo", `{"text":"x"}`)
	m := s.wantStatus(t, http.StatusBadRequest, query{user: "a", body: callOf(1, "tools/call", "{"+call+"}")}).message(t)
	assert.Contains(t, m.Error.Message, "begin with initialize")
	s.modern("a", "").wantText(t, "one__echo", `{"text":"x"}`, "x")
	s.wantStatus(t, http.StatusOK, query{user: "a", path: "/mcp/tools/call", body: callOf(1, "tools/call", "{"+call+"}")})
}
