package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// asked returns the options of a client with abilities, whose user does the action about the calls of delete
// and sends the questions to questions.
func asked(t *testing.T, ability, action string, b *browser, questions chan<- string) *mcp.ClientOptions {
	o := &mcp.ClientOptions{}
	switch ability {
	case "form":
		o.Elicit = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			questions <- r.Params.Message
			if action == "gone" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			res := &mcp.ElicitResult{Action: action}
			if action == "accept" {
				res.Content = map[string]any{"decision": "approve"}
			}
			return res, nil
		}
	case "url":
		o.ElicitURL = func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			questions <- r.Message
			switch action {
			case "gone":
				<-ctx.Done()
				return nil, ctx.Err()
			case "accept":
				if _, err := b.decide(ctx, r.URL, "approve", ""); err != nil && ctx.Err() == nil {
					t.Errorf("the page %s: %v", r.URL, err)
				}
			}
			return &mcp.ElicitResult{Action: action}, nil
		}
	}
	return o
}

// A call that needs approval is made once if the user says so, wherever they are asked.
func TestApprovalCells(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		d := newDeleter(t, serverModern, nil)
		for _, revision := range both {
			for _, ability := range []string{"form", "url", "none"} {
				for _, action := range []string{"accept", "decline", "cancel", "gone"} {
					name := fmt.Sprintf("modern server %t/client %s/%s/%s", serverModern, revision, ability, action)
					t.Run(name, func(t *testing.T) {
						ctx := hosttest.Watchdog(t)
						questions := make(chan string, 10)
						c := newUser(t, d.url+"/mcp", "ada", revision, asked(t, ability, action, newBrowser(t, "ada"), questions))
						if action == "gone" && ability != "none" {
							var all sync.WaitGroup
							all.Go(func() { _, _ = d.delete(ctx, c, name) })
							<-questions
							_ = c.Close()
							all.Wait()
							assert.Equal(t, d.ran(name), 0, "runs")
							return
						}
						res := assert.Value(d.delete(ctx, c, name))(t)
						switch {
						case ability != "none" && action == "accept":
							assert.Equal(t, res.Text(), "deleted "+name)
							assert.Equal(t, d.ran(name), 1, "runs")
						case ability != "none" && action == "decline":
							if got := res.Text(); !res.IsError || !strings.Contains(got, "the user refused it") {
								t.Errorf("got %q, want that the user refused it", got)
							}
							assert.Equal(t, d.ran(name), 0, "runs")
						default:
							id, page := waiting(t, res)
							d.elsewhere(t, c, name, id, page, action)
						}
					})
				}
			}
		}
	}
}

// elsewhere has a call approved elsewhere than at its client, by the way, and checks that its outcome is that of one run.
func (d *deleter) elsewhere(t *testing.T, c *mcp.Client, name, id, page, way string) {
	t.Helper()
	ctx := hosttest.Watchdog(t)
	var res *mcp.CallToolResult
	var err error
	if way == "accept" || way == "cancel" {
		_, err = newBrowser(t, "ada").decide(ctx, page, "approve", "")
	} else {
		_, err = d.host.Registry().Approve(ctx, id, nil)
	}
	assert.OK(t, err)
	if way == "cancel" || way == "gone" {
		res, err = c.CallTool(ctx, "await_call", json.RawMessage(fmt.Sprintf(`{"id":%q}`, id)), nil)
	} else {
		res, err = d.delete(ctx, c, name)
	}
	assert.OK(t, err)
	assert.Equal(t, res.Text(), "deleted "+name)
	assert.Equal(t, d.ran(name), 1, "runs")
	// Who wants the call once more is asked once more.
	if res, err = d.delete(ctx, c, name); err != nil {
		t.Fatal(err)
	}
	if again, _ := waiting(t, res); again == id {
		t.Errorf("got the same approval, want another one")
	}
}

// Each of many users is asked about their own calls, with the arguments of these.
func TestApprovalOfManyUsers(t *testing.T) {
	d := newDeleter(t, false, nil)
	for _, revision := range both {
		for _, ability := range []string{"form", "url"} {
			ctx := hosttest.Watchdog(t)
			var all sync.WaitGroup
			for i := range 50 {
				user := fmt.Sprintf("user%d.", i)
				text := revision + ability + user
				b := newBrowser(t, user)
				questions := make(chan string, 2)
				c := newUser(t, d.url+"/mcp", user, revision, asked(t, ability, "accept", b, questions))
				all.Go(func() {
					res, err := d.delete(ctx, c, text)
					if err != nil {
						t.Error(err)
						return
					}
					assert.Equal(t, res.Text(), "deleted "+text)
					if question := <-questions; ability == "form" && !strings.Contains(question, text) {
						t.Errorf("got %q, want the arguments of %s", question, text)
					}
					if len(questions) > 0 {
						t.Errorf("%s: got a second question, want one", user)
					}
					assert.Equal(t, d.ran(text), 1, "%s: runs", text)
				})
			}
			all.Wait()
		}
	}
}

// The question shows the exact arguments, with what cannot be seen written out.
func TestApprovalShowsArguments(t *testing.T) {
	d := newDeleter(t, false, nil)
	questions := make(chan string, 1)
	c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20251125, asked(t, "form", "accept", nil, questions))
	const args = `{"text":"a` + "\u202e\u200b" + `b<script>","n":12345678901234567890,"f":1.50}`
	assert.Value(c.CallTool(hosttest.Watchdog(t), "files__any", json.RawMessage(args), nil))(t)
	const want = `May the tool "files__any" of the server "files" be called? You are asked because: it destroys.

Arguments:
{
  "text": "a<U+202E><U+200B>b<script>",
  "n": 12345678901234567890,
  "f": 1.50
}`
	select {
	case got := <-questions:
		assert.Equal(t, got, want)
	default:
		t.Error("got no question, want one")
	}
}

// Arguments that are too long for a form are decided about on a page, which shows all of them.
func TestApprovalOfLongArguments(t *testing.T) {
	d := newDeleter(t, false, nil)
	ctx := hosttest.Watchdog(t)
	c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20260728, asked(t, "form", "accept", nil, nil))
	text := strings.Repeat("x", 100_000) + "<end>"
	res := assert.Value(d.delete(ctx, c, text))(t)
	_, page := waiting(t, res)
	s := assert.Value(newBrowser(t, "ada").open(ctx, page))(t)
	if !strings.Contains(s.body, text[:100_000]+"&lt;end&gt;") {
		t.Errorf("got a page of %d bytes without the arguments, want all of them", len(s.body))
	}
}

// A user who approves a tool for the session is not asked again in it, and is in another one.
func TestApprovalForSession(t *testing.T) {
	d := newDeleter(t, false, nil)
	ctx := hosttest.Watchdog(t)
	asks := 0
	o := func() *mcp.ClientOptions {
		return &mcp.ClientOptions{Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asks++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve for this session"}}, nil
		}}
	}
	for i := range 2 {
		c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20251125, o())
		for range 3 {
			res := assert.Value(d.delete(ctx, c, "x"))(t)
			assert.Equal(t, res.Text(), "deleted x")
		}
		if asks != i+1 {
			t.Errorf("got %d questions after %d sessions, want %d", asks, i+1, i+1)
		}
	}
	// Without sessions there is no such choice.
	c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20260728, o())
	if _, err := d.delete(ctx, c, "y"); err == nil && d.ran("y") != 0 {
		t.Errorf("got %d runs by a choice that was not offered, want 0", d.ran("y"))
	}
	res := assert.Value(d.delete(ctx, newUser(t, d.url+"/mcp", "ada", mcp.Revision20260728, nil), "z"))(t)
	_, page := waiting(t, res)
	if s, err := newBrowser(t, "ada").decide(ctx, page, "session", ""); s == nil || s.status != http.StatusBadRequest || d.ran("z") != 0 {
		t.Errorf("the choice on a page that does not offer it: got %v, %v and %d runs, want 400 and none", s, err, d.ran("z"))
	}
}

// What the user says against a call is told the model.
func TestApprovalRefusedWithNote(t *testing.T) {
	d := newDeleter(t, false, nil)
	ctx := hosttest.Watchdog(t)
	b := newBrowser(t, "ada")
	for ability, o := range map[string]*mcp.ClientOptions{
		"form": {Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "refuse", "note": "use\x1b[2J trash"}}, nil
		}},
		"url": {ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			_, err := b.decide(ctx, r.URL, "refuse", "use\x1b[2J trash")
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			return &mcp.ElicitResult{Action: "accept"}, nil
		}},
	} {
		res := assert.Value(d.delete(ctx, newUser(t, d.url+"/mcp", "ada", mcp.Revision20251125, o), "x"))(t)
		assert.Contains(t, res.Text(), "the user refused it: use<U+001B>[2J trash", "%s", ability)
	}
	assert.Equal(t, d.ran("x"), 0, "runs")
}

// A server of revision 2026-07-28 that needs input makes the client come again with it. The user is asked about the call
// once.
func TestApprovalWithRounds(t *testing.T) {
	d := newDeleter(t, true, nil)
	ctx := hosttest.Watchdog(t)
	for _, revision := range both {
		asks := 0
		c := newUser(t, d.url+"/mcp", "ada", revision, &mcp.ClientOptions{Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Message == "Who?" {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
			}
			asks++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
		}})
		for i := range 2 {
			res := assert.Value(c.CallTool(ctx, "files__ask", json.RawMessage(fmt.Sprintf(`{"text":%q}`, revision)), nil))(t)
			assert.Equal(t, res.Text(), "asked "+revision, "%s", revision)
			if asks != i+1 || d.ran(revision) != i+1 {
				t.Errorf("%s: got %d questions and %d runs after %d calls, want as many", revision, asks, d.ran(revision), i+1)
			}
		}
	}
}

// A round of a call that was approved is good for once: a client that sends it again is asked again.
func TestApprovalOfRoundThatIsSentAgain(t *testing.T) {
	d := newDeleter(t, true, nil)
	ctx := hosttest.Watchdog(t)
	c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20260728, nil)
	// round returns what is asked for, by the first of its ids; nil: the call was made.
	round := func(responses string, state json.RawMessage) (*mcp.InputRequiredError, string) {
		t.Helper()
		in := &mcp.InputRound{Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`), Responses: json.RawMessage(responses), State: state}
		_, err := c.CallTool(ctx, "files__ask", json.RawMessage(`{"text":"x"}`), &mcp.CallToolOptions{Input: in})
		var needs *mcp.InputRequiredError
		if err != nil && !errors.As(err, &needs) {
			t.Fatal(err)
		}
		var requests map[string]json.RawMessage
		if needs != nil && json.Unmarshal(needs.Requests, &requests) != nil {
			t.Fatalf("got %s, want questions", needs.Requests)
		}
		for id := range requests {
			return needs, id
		}
		return needs, ""
	}
	needs, id := round("", nil)
	needs, id = round(fmt.Sprintf(`{%q:{"action":"accept","content":{"decision":"approve"}}}`, id), needs.State)
	if id != "name" {
		t.Fatalf("got the question %q, want that of the server", id)
	}
	last := func() *mcp.InputRequiredError {
		asked, _ := round(`{"name":{"action":"accept","content":{"name":"Ada"}}}`, needs.State)
		return asked
	}
	for i, want := range []bool{false, true} {
		if asked := last(); (asked != nil) != want {
			t.Errorf("the last round, time %d: got asked %t, want %t", i+1, asked != nil, want)
		}
	}
	assert.Equal(t, d.ran("x"), 1, "runs")
}

// The page of a call is for the user who caused it.
func TestApprovalPageOfAnother(t *testing.T) {
	var logged journal
	d := newDeleter(t, false, &gateway.Options{Logger: logged.logger()})
	ctx := hosttest.Watchdog(t)
	c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20260728, nil)
	res := assert.Value(d.delete(ctx, c, "x"))(t)
	id, page := waiting(t, res)
	for _, user := range []string{"eve", ""} {
		s := assert.Value(newBrowser(t, user).open(ctx, page))(t)
		if s.status != http.StatusForbidden || strings.Contains(s.body, "text") {
			t.Errorf("user %q: got status %d and %s, want 403 and nothing of the call", user, s.status, s.body)
		}
		res, err := newUser(t, d.url+"/mcp", "eve", mcp.Revision20260728, nil).CallTool(ctx, "await_call", json.RawMessage(fmt.Sprintf(`{"id":%q}`, id)), nil)
		assert.Fails(t, err, "await_call of another: got %v, want an error", res.Text())
	}
	if !strings.Contains(logged.String(), "refused to open a page") || strings.Contains(logged.String(), id) {
		t.Errorf("got the log %s, want the refusal without the id", logged.String())
	}
	assert.Equal(t, len(d.host.Registry().Approvals(ctx)), 1, "calls that wait")
	assert.Value(newBrowser(t, "ada").decide(ctx, page, "approve", ""))(t)
	assert.Equal(t, d.ran("x"), 1, "runs")
	if s, err := newBrowser(t, "ada").open(ctx, page); err != nil || s.status != http.StatusNotFound {
		t.Errorf("the page after the decision: got %v, %v, want 404", s, err)
	}
}

// The same call in another session of the user is another one: it does not get the outcome.
func TestApprovalInAnotherSession(t *testing.T) {
	d := newDeleter(t, false, nil)
	ctx := hosttest.Watchdog(t)
	const revision = mcp.Revision20251125
	c := newUser(t, d.url+"/mcp", "ada", revision, nil)
	res, err := d.delete(ctx, c, "x")
	assert.OK(t, err)
	id, page := waiting(t, res)
	assert.Value(newBrowser(t, "ada").decide(ctx, page, "approve", ""))(t)
	res = assert.Value(d.delete(ctx, newUser(t, d.url+"/mcp", "ada", revision, nil), "x"))(t)
	if other, _ := waiting(t, res); other == id {
		t.Errorf("got the approval of another session, want another one")
	}
	if res, err := d.delete(ctx, c, "x"); err != nil || res.Text() != "deleted x" {
		t.Errorf("got %v, %v, want the outcome", res, err)
	}
	assert.Equal(t, d.ran("x"), 1, "runs")
}

// The outcome of an approved call is not for a caller who may not call the tool any more.
func TestApprovalAfterGrantShrinks(t *testing.T) {
	g := newGrants()
	d := newDeleter(t, false, &gateway.Options{Authenticate: g.authenticate})
	ctx := hosttest.Watchdog(t)
	c := newUser(t, d.url+"/mcp", "all", mcp.Revision20260728, nil)
	res := assert.Value(d.delete(ctx, c, "x"))(t)
	id, _ := waiting(t, res)
	assert.Value(d.host.Registry().Approve(ctx, id, nil))(t)
	await := func() (*mcp.CallToolResult, error) {
		return c.CallTool(ctx, "await_call", json.RawMessage(fmt.Sprintf(`{"id":%q}`, id)), nil)
	}
	g.set("all", &access.Grant{Servers: []string{"one"}})
	if res, err := await(); err == nil {
		t.Errorf("got %q after the grant shrank, want an error", res.Text())
	}
	g.set("all", nil)
	if res, err := await(); err != nil || res.Text() != "deleted x" {
		t.Errorf("got %v, %v with the old grant, want the outcome", res, err)
	}
}

// A form that was sent before, or comes from another page or browser, decides nothing.
func TestApprovalForms(t *testing.T) {
	d := newDeleter(t, false, nil)
	ctx := hosttest.Watchdog(t)
	c := newUser(t, d.url+"/mcp", "ada", mcp.Revision20260728, nil)
	res := assert.Value(d.delete(ctx, c, "x"))(t)
	_, page := waiting(t, res)
	b := newBrowser(t, "ada")
	s := assert.Value(b.open(ctx, page))(t)
	checkPolicy(t, s)
	approve := func(b *browser, token string) int {
		s := assert.Value(b.do(ctx, http.MethodPost, page, map[string][]string{"token": {token}, "decision": {"approve"}}))(t)
		return s.status
	}
	assert.Equal(t, approve(b, "none"), http.StatusForbidden, "a forged token")
	assert.Equal(t, approve(newBrowser(t, "ada"), s.token()), http.StatusForbidden, "another browser")
	assert.Equal(t, approve(b, s.token()), http.StatusForbidden, "a token that was used")
	r := assert.Value(http.NewRequestWithContext(ctx, http.MethodPost, page, strings.NewReader("decision=approve")))(t)
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set(userField, "ada")
	resp := assert.Value(b.http.Do(r))(t)
	drain(resp)
	assert.Equal(t, resp.StatusCode, http.StatusForbidden, "a form of another site")
	assert.Equal(t, d.ran("x"), 0, "runs")
	var required *registry.ApprovalRequest
	for _, required = range d.host.Registry().Approvals(ctx) {
		if required.Asked.IsZero() {
			t.Error("got a call that does not wait, want that it waits")
		}
	}
	if required == nil {
		t.Error("got no call that waits, want one")
	}
}

// A browser that does not say whose it is sees a call, and decides about it, when it has proved that with a key.
func TestApprovalWithKey(t *testing.T) {
	d := newDeleter(t, false, &gateway.Options{Authenticate: authenticateKey})
	ctx := hosttest.Watchdog(t)
	c := newHeaderClient(t, d.url+"/mcp", http.Header{"Authorization": {"Bearer key-of-ada"}}, nil)
	res := assert.Value(d.delete(ctx, c, "x"))(t)
	_, page := waiting(t, res)
	b := newBrowser(t, "")
	for what, fields := range map[string]map[string][]string{
		"no key":         {"decision": {"approve"}},
		"a wrong key":    {"decision": {"approve"}, "key": {"wrong"}},
		"another's key":  {"decision": {"approve"}, "key": {"key-of-eve"}},
		"an empty key":   {"decision": {"approve"}, "key": {" "}},
		"several fields": {"decision": {"approve", "refuse"}, "key": {"wrong", "key-of-ada"}},
	} {
		s, err := b.open(ctx, page)
		assert.OK(t, err)
		checkPolicy(t, s)
		fields["token"] = []string{s.token()}
		if s, err = b.do(ctx, http.MethodPost, page, fields); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.body, "<pre>") || d.ran("x") != 0 {
			t.Errorf("%s: got %s and %d runs, want nothing of the call", what, s.body, d.ran("x"))
		}
	}
	b.key = "key-of-ada"
	assert.Value(b.decide(ctx, page, "approve", ""))(t)
	assert.Equal(t, d.ran("x"), 1, "runs")
}

// While a call is approved on its page, the model makes it again and again.
func TestApprovalUnderRepeatedCalls(t *testing.T) {
	d := newDeleter(t, false, nil)
	ctx := hosttest.Watchdog(t)
	for _, revision := range both {
		c := newUser(t, d.url+"/mcp", "ada", revision, nil)
		res := assert.Value(d.delete(ctx, c, revision))(t)
		_, page := waiting(t, res)
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				if _, err := d.delete(ctx, c, revision); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := newBrowser(t, "ada").decide(ctx, page, "approve", ""); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		assert.Equal(t, d.ran(revision), 1, "%s: runs", revision)
	}
}
