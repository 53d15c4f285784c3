// Tests of errand.go: calls that need approval, at the client and on pages. The kit of pages is at its end.

package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// An approvalSite is a gateway whose policy asks about every call, to a server files whose tool delete counts its calls
// by their argument.
type approvalSite struct {
	site
	mu   sync.Mutex
	runs map[string]int
}

func newApprovalSite(t *testing.T, serverModern bool, o *gateway.Options) *approvalSite {
	t.Helper()
	d := &approvalSite{runs: map[string]int{}}
	count := func(text string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.runs[text]++
	}
	server := newSDKServer()
	addTool(server, "delete", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string {
		count(in.Text)
		return "deleted " + in.Text
	})
	server.AddTool(&sdk.Tool{Name: "any", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	if serverModern {
		sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(_ context.Context, r *sdk.CallToolRequest, in anyInput) (*sdk.CallToolResult, any, error) {
			if _, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
				count(in.Text)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "asked " + in.Text}}}, nil, nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": nameQuestion("Who?")}}, nil, nil
		})
	}
	if o == nil {
		o = &gateway.Options{}
	}
	ho := &host.Options{StateDir: host.NoState, OpenWait: -1, Registry: registry.New(&registry.Options{
		Approvals: approval.Options{Replica: o.Replica},
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask, Reason: "it destroys"}, nil
		}),
	})}
	d.open(t, ho, o, "files", serveSDK(t, server, serverModern))
	return d
}

// keyOfField authenticates the key that a request names, which has no user.
func keyOfField(r *http.Request) (*access.Caller, error) {
	return &access.Caller{Credential: r.Header.Get(userField)}, nil
}

// Keys without a user do not decide for each other, and have a share of the sessions each.
func TestKeysWithoutUser(t *testing.T) {
	d := newApprovalSite(t, false, gateway.WithLimits(&gateway.Options{Authenticate: keyOfField}, func(l *gateway.Limits) { l.MaxSessions = 4 }))
	asked := make(chan string, 3)
	a := d.newUser(t, "/mcp", "a", mcp.Revision20260728, nil)
	b := d.newUser(t, "/mcp", "b", mcp.Revision20260728, askedBy(t, "form", "decline", nil, asked))
	id, _ := waiting(t, d.delete(t, a, "x"))
	assert.Contains(t, d.delete(t, b, "x").Text(), "refused", "the same call of another key")
	reg := d.host.Registry()
	calls := reg.Approvals(t.Context())
	assert.True(t, len(calls) == 1 && calls[0].ID == id && calls[0].User == "", "only the call of the first key waits: %v", calls)
	assert.Value(reg.Approve(t.Context(), id, &registry.ApproveOptions{ForConversation: true}))(t)
	assert.Contains(t, d.delete(t, b, "y").Text(), "refused", "a call of the tool that was allowed to another key")
	assert.Equal(t, d.delete(t, a, "y").Text(), "deleted y")
	assert.Equal(t, len(asked), 2, "questions to the second key")

	d.connect(t, &client{user: "a"})
	d.wantStatus(t, http.StatusServiceUnavailable, query{user: "a", body: callOf(1, "initialize", `{}`)}, "the 2nd session of 4 that all have")
	d.connect(t, &client{user: "b"})
}

// ran returns how often the tool was called with the argument.
func (d *approvalSite) ran(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[text]
}

// delete calls the tool.
func (d *approvalSite) delete(t *testing.T, c *mcp.Client, text string) *mcp.CallToolResult {
	t.Helper()
	return assert.Value(c.CallTool(hosttest.Watchdog(t), "files__delete", json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), nil))(t)
}

// awaitCall waits for the outcome of a call.
func awaitCall(t *testing.T, c *mcp.Client, id string) (*mcp.CallToolResult, error) {
	return c.CallTool(hosttest.Watchdog(t), "await_call", json.RawMessage(fmt.Sprintf(`{"id":%q}`, id)), nil)
}

// waiting returns what a result says of the approval that its call waits for.
func waiting(t *testing.T, res *mcp.CallToolResult) (id, page string) {
	t.Helper()
	meta, _ := res.Meta[gateway.MetaApproval].(map[string]any)
	id, _ = meta["id"].(string)
	page, _ = meta["url"].(string)
	if !res.IsError || id == "" || page == "" || meta["expires"] == "" {
		t.Fatalf("got %q with _meta %v, want an error with the id, the URL and the end of the approval", res.Text(), res.Meta)
	}
	return id, page
}

// askedBy returns the options of a client that can show forms or pages, whose user does the action about the calls of
// delete. The questions are sent to questions.
func askedBy(t *testing.T, ability, action string, b *browser, questions chan<- string) *mcp.ClientOptions {
	o := &mcp.ClientOptions{}
	switch ability {
	case "form":
		o.Elicit = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			questions <- r.Params.Message
			res := &mcp.ElicitResult{Action: action}
			switch action {
			case "gone":
				<-ctx.Done()
				return nil, ctx.Err()
			case "accept":
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
				err := b.decide(ctx, r.URL, "approve", "")
				assert.True(t, err == nil || ctx.Err() != nil, "the page %s: %v", r.URL, err)
			}
			return &mcp.ElicitResult{Action: action}, nil
		}
	}
	return o
}

// A call that needs approval is made once if the user says so, wherever they are asked.
func TestApprovalCells(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		d := newApprovalSite(t, serverModern, nil)
		for _, revision := range both {
			for _, ability := range []string{"form", "url", "none"} {
				for _, action := range []string{"accept", "decline", "cancel", "gone"} {
					name := fmt.Sprintf("modern server %t/client %s/%s/%s", serverModern, revision, ability, action)
					t.Run(name, func(t *testing.T) {
						questions := make(chan string, 10)
						c := d.newUser(t, "/mcp", "ada", revision, askedBy(t, ability, action, newBrowser(t, "ada"), questions))
						runs := 0
						switch {
						case ability != "none" && action == "gone":
							var all sync.WaitGroup
							all.Go(func() {
								_, _ = c.CallTool(hosttest.Watchdog(t), "files__delete", json.RawMessage(fmt.Sprintf(`{"text":%q}`, name)), nil)
							})
							<-questions
							_ = c.Close()
							all.Wait()
						case ability != "none" && action == "accept":
							runs = 1
							assert.Equal(t, d.delete(t, c, name).Text(), "deleted "+name)
						case ability != "none" && action == "decline":
							assert.Contains(t, d.delete(t, c, name).Text(), "the user refused it")
						default:
							runs = 1
							d.approveElsewhere(t, c, name, action)
						}
						assert.Equal(t, d.ran(name), runs, "runs")
					})
				}
			}
		}
	}
}

// approveElsewhere has a call approved elsewhere than at its client, by the way, and checks that its outcome is that of one run.
func (d *approvalSite) approveElsewhere(t *testing.T, c *mcp.Client, name, way string) {
	t.Helper()
	ctx := hosttest.Watchdog(t)
	id, page := waiting(t, d.delete(t, c, name))
	if way == "accept" || way == "cancel" {
		assert.OK(t, newBrowser(t, "ada").decide(ctx, page, "approve", ""))
	} else {
		assert.Value(d.host.Registry().Approve(ctx, id, nil))(t)
	}
	if way == "cancel" || way == "gone" {
		assert.Equal(t, assert.Value(awaitCall(t, c, id))(t).Text(), "deleted "+name)
	} else {
		hosttest.Eventually(t, "the call is made", func() bool { return d.ran(name) == 1 })
		assert.Equal(t, d.delete(t, c, name).Text(), "deleted "+name)
	}
	again, _ := waiting(t, d.delete(t, c, name))
	assert.False(t, again == id, "the approval is that of a call before")
}

// Each of many users is asked about their own calls, with the arguments of these.
func TestApprovalOfManyUsers(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	for _, revision := range both {
		for _, ability := range []string{"form", "url"} {
			var all sync.WaitGroup
			for i := range assert.Cases(5, 50) {
				user := fmt.Sprintf("user%d.", i)
				text := revision + ability + user
				questions := make(chan string, 2)
				c := d.newUser(t, "/mcp", user, revision, askedBy(t, ability, "accept", newBrowser(t, user), questions))
				all.Go(func() {
					res, err := c.CallTool(hosttest.Watchdog(t), "files__delete", json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), nil)
					if err != nil {
						t.Error(err)
						return
					}
					assert.Equal(t, res.Text(), "deleted "+text)
					if question := <-questions; ability == "form" {
						assert.Contains(t, question, text, "the arguments")
					}
					assert.Equal(t, len(questions), 0, "%s: further questions", user)
					assert.Equal(t, d.ran(text), 1, "%s: runs", text)
				})
			}
			all.Wait()
		}
	}
}

// The question shows the exact arguments, with what cannot be seen written out.
func TestApprovalShowsArguments(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	questions := make(chan string, 1)
	c := d.newUser(t, "/mcp", "ada", mcp.Revision20251125, askedBy(t, "form", "accept", nil, questions))
	const args = `{"text":"a` + "\u202e\u200b" + `b<script>","n":12345678901234567890,"f":1.50}`
	assert.Value(c.CallTool(hosttest.Watchdog(t), "files__any", json.RawMessage(args), nil))(t)
	assert.Equal(t, <-questions, `May the tool "files__any" of the server "files" be called? You are asked because: it destroys.

Arguments:
{
  "text": "a<U+202E><U+200B>b<script>",
  "n": 12345678901234567890,
  "f": 1.50
}`)
}

// Arguments that are too long for a form are decided about on a page, which shows all of them.
func TestApprovalOfLongArguments(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	c := d.newUser(t, "/mcp", "ada", mcp.Revision20260728, askedBy(t, "form", "accept", nil, nil))
	text := strings.Repeat("x", 20_000)
	_, page := waiting(t, d.delete(t, c, text+"<end>"))
	assert.Contains(t, newBrowser(t, "ada").open(t, page).body, text+"&lt;end&gt;")
}

// A user who approves a tool for the conversation is not asked again in it, and is in another one.
func TestApprovalForConversation(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	asks := 0
	o := func() *mcp.ClientOptions {
		return &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asks++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve for this conversation"}}, nil
		}}
	}
	for i := range 2 {
		c := d.newUser(t, "/mcp", "ada", mcp.Revision20251125, o())
		for range 3 {
			assert.Equal(t, d.delete(t, c, "x").Text(), "deleted x")
		}
		assert.Equal(t, asks, i+1, "questions")
	}
	// Without sessions there is no such choice, in forms and on pages.
	_, _ = d.newUser(t, "/mcp", "ada", mcp.Revision20260728, o()).CallTool(hosttest.Watchdog(t), "files__delete", json.RawMessage(`{"text":"y"}`), nil)
	_, page := waiting(t, d.delete(t, d.newUser(t, "/mcp", "ada", mcp.Revision20260728, nil), "z"))
	assert.Contains(t, fmt.Sprint(newBrowser(t, "ada").decide(t.Context(), page, "conversation", "")), "status 400", "a choice that the page does not offer")
	assert.Equal(t, d.ran("y")+d.ran("z"), 0, "runs")
}

// What the user says against a call is told the model.
func TestApprovalRefusedWithNote(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	b := newBrowser(t, "ada")
	for ability, o := range map[string]*mcp.ClientOptions{
		"form": {Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "refuse", "note": "use\x1b[2J trash"}}, nil
		}},
		"url": {ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			err := b.decide(ctx, r.URL, "refuse", "use\x1b[2J trash")
			assert.True(t, err == nil || ctx.Err() != nil, "the page %s: %v", r.URL, err)
			return &mcp.ElicitResult{Action: "accept"}, nil
		}},
	} {
		res := d.delete(t, d.newUser(t, "/mcp", "ada", mcp.Revision20251125, o), "x")
		assert.Contains(t, res.Text(), "the user refused it: use<U+001B>[2J trash", "%s", ability)
	}
	assert.Equal(t, d.ran("x"), 0, "runs")
}

// A server of revision 2026-07-28 that needs input makes the client come again with it. The user is asked about the call
// once.
func TestApprovalWithRounds(t *testing.T) {
	d := newApprovalSite(t, true, nil)
	for _, revision := range both {
		asks := 0
		c := d.newUser(t, "/mcp", "ada", revision, &mcp.ClientOptions{Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Message == "Who?" {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
			}
			asks++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
		}})
		for i := range 2 {
			res := assert.Value(c.CallTool(hosttest.Watchdog(t), "files__ask", json.RawMessage(fmt.Sprintf(`{"text":%q}`, revision)), nil))(t)
			assert.Equal(t, res.Text(), "asked "+revision)
			assert.Equal(t, [2]int{asks, d.ran(revision)}, [2]int{i + 1, i + 1}, "%s: questions and runs", revision)
		}
	}
}

// A round of a call that was approved is good for once: a client that sends it again is asked again.
func TestApprovalOfRoundThatIsSentAgain(t *testing.T) {
	d := newApprovalSite(t, true, nil)
	c := d.modern("ada", "")
	// round returns the state and the id of the question; both are empty if the call was made.
	round := func(more string) (state, id string) {
		t.Helper()
		m := c.want(t, 0, "tools/call", toolParams("files__ask", `{"text":"x"}`)+more)
		var requests map[string]json.RawMessage
		_ = json.Unmarshal([]byte(m.at("inputRequests")), &requests)
		for id = range requests {
		}
		return m.at("requestState"), id
	}
	answer := func(id, content, state string) string {
		return fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":%s}},"requestState":%q`, id, content, state)
	}
	state, id := round("")
	state, id = round(answer(id, `{"decision":"approve"}`, state))
	assert.Equal(t, id, "name", "the question of the server")
	last := answer("name", `{"name":"Ada"}`, state)
	_, id = round(last)
	assert.Equal(t, id, "", "the question after the last round")
	_, id = round(last)
	assert.True(t, id != "", "a question when the last round is sent again")
	assert.Equal(t, d.ran("x"), 1, "runs")
}

// The page of a call is for the user who caused it.
func TestApprovalPageOfAnother(t *testing.T) {
	var logged lockedBuffer
	d := newApprovalSite(t, false, &gateway.Options{Logger: logged.logger()})
	ctx := hosttest.Watchdog(t)
	id, page := waiting(t, d.delete(t, d.newUser(t, "/mcp", "ada", mcp.Revision20260728, nil), "x"))
	for _, user := range []string{"eve", ""} {
		p := newBrowser(t, user).open(t, page)
		assert.Equal(t, p.status, http.StatusForbidden, "user %q", user)
		assert.Lacks(t, p.body, "text", "user %q", user)
	}
	assert.Fails(t, assert.Err(awaitCall(t, d.newUser(t, "/mcp", "eve", mcp.Revision20260728, nil), id)), "await_call of another")
	assert.Contains(t, logged.String(), "refused to open a page", "the log")
	assert.Lacks(t, logged.String(), id, "the log")
	assert.Equal(t, len(d.host.Registry().Approvals(ctx)), 1, "calls that wait")
	b := newBrowser(t, "ada")
	assert.OK(t, b.decide(ctx, page, "approve", ""))
	hosttest.Eventually(t, "the call is made", func() bool { return d.ran("x") == 1 })
	assert.Equal(t, b.open(t, page).status, http.StatusNotFound, "the page after the decision")
}

// The same call in another session of the user is another one: it does not get the outcome.
func TestApprovalInAnotherSession(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	c, other := d.newUser(t, "/mcp", "ada", mcp.Revision20251125, nil), d.newUser(t, "/mcp", "ada", mcp.Revision20251125, nil)
	id, page := waiting(t, d.delete(t, c, "x"))
	assert.OK(t, newBrowser(t, "ada").decide(t.Context(), page, "approve", ""))
	hosttest.Eventually(t, "the call is made", func() bool { return d.ran("x") == 1 })
	otherID, _ := waiting(t, d.delete(t, other, "x"))
	assert.False(t, otherID == id, "the approval is that of another session")
	assert.Equal(t, d.delete(t, c, "x").Text(), "deleted x")
	assert.Equal(t, d.ran("x"), 1, "runs")
}

// The outcome of an approved call is not for a caller who may not call the tool any more.
func TestApprovalAfterGrantShrinks(t *testing.T) {
	g := newGrants()
	d := newApprovalSite(t, false, &gateway.Options{Authenticate: g.authenticate})
	c := d.newUser(t, "/mcp", "all", mcp.Revision20260728, nil)
	id, _ := waiting(t, d.delete(t, c, "x"))
	assert.Value(d.host.Registry().Approve(hosttest.Watchdog(t), id, nil))(t)
	g.set("all", &access.Grant{Servers: []string{"one"}})
	assert.Fails(t, assert.Err(awaitCall(t, c, id)), "after the grant shrank")
	g.set("all", nil)
	assert.Equal(t, assert.Value(awaitCall(t, c, id))(t).Text(), "deleted x", "with the old grant")
}

// A form that was sent before, or comes from another page or browser, decides nothing.
func TestApprovalForms(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	_, page := waiting(t, d.delete(t, d.newUser(t, "/mcp", "ada", mcp.Revision20260728, nil), "x"))
	b := newBrowser(t, "ada")
	p := b.open(t, page)
	checkPolicy(t, p)
	approve := func(b *browser, token string) int {
		return assert.Value(b.do(t.Context(), http.MethodPost, page, url.Values{"token": {token}, "decision": {"approve"}}))(t).status
	}
	assert.Equal(t, approve(b, "none"), http.StatusForbidden, "a forged token")
	assert.Equal(t, approve(newBrowser(t, "ada"), p.token()), http.StatusForbidden, "another browser")
	assert.Equal(t, approve(b, p.token()), http.StatusForbidden, "a token that was used")
	b.origin = "https://evil.example"
	assert.Equal(t, approve(b, b.open(t, page).token()), http.StatusForbidden, "a form of another site")
	assert.Equal(t, d.ran("x"), 0, "runs")
	calls := d.host.Registry().Approvals(t.Context())
	assert.True(t, len(calls) == 1 && !calls[0].Asked.IsZero(), "one call waits")
}

// A browser that does not say whose it is sees a call, and decides about it, when it has proved that with a key.
func TestApprovalWithKey(t *testing.T) {
	d := newApprovalSite(t, false, &gateway.Options{Authenticate: authenticateKey})
	ctx := hosttest.Watchdog(t)
	_, page := waiting(t, d.delete(t, d.newHeaderClient(t, "/mcp", keyHeader("key-of-ada"), nil), "x"))
	b := newBrowser(t, "")
	for what, fields := range map[string]url.Values{
		"no key":         {"decision": {"approve"}},
		"a wrong key":    {"decision": {"approve"}, "key": {"wrong"}},
		"another's key":  {"decision": {"approve"}, "key": {"key-of-eve"}},
		"an empty key":   {"decision": {"approve"}, "key": {" "}},
		"several fields": {"decision": {"approve", "refuse"}, "key": {"wrong", "key-of-ada"}},
	} {
		p := b.open(t, page)
		checkPolicy(t, p)
		fields["token"] = []string{p.token()}
		assert.Lacks(t, assert.Value(b.do(ctx, http.MethodPost, page, fields))(t).body, "<pre>", "%s", what)
	}
	assert.Equal(t, d.ran("x"), 0, "runs")
	b.key = "key-of-ada"
	assert.OK(t, b.decide(ctx, page, "approve", ""))
	hosttest.Eventually(t, "the call is made", func() bool { return d.ran("x") == 1 })
}

// While a call is approved on its page, the model makes it again and again.
func TestApprovalUnderRepeatedCalls(t *testing.T) {
	d := newApprovalSite(t, false, nil)
	ctx := hosttest.Watchdog(t)
	for _, revision := range both {
		c := d.newUser(t, "/mcp", "ada", revision, nil)
		_, page := waiting(t, d.delete(t, c, revision))
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				assert.Equal(t, assert.Err(c.CallTool(ctx, "files__delete", json.RawMessage(fmt.Sprintf(`{"text":%q}`, revision)), nil)), nil)
			})
		}
		all.Go(func() { assert.Equal(t, newBrowser(t, "ada").decide(ctx, page, "approve", ""), nil) })
		all.Wait()
		hosttest.Eventually(t, "the call is made", func() bool { return d.ran(revision) == 1 })
	}
}

// A browser is one of a person, who is known by the field X-User if user is set.
type browser struct {
	http   *http.Client
	user   string
	key    string // that the person gives when they are asked for it
	origin string // of forms; empty: that of the page
}

func newBrowser(t *testing.T, user string) *browser {
	t.Helper()
	c := &http.Client{Jar: assert.Value(cookiejar.New(nil))(t), Transport: &http.Transport{DisableKeepAlives: true}}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{http: c, user: user}
}

// A page is an answer that a browser has got.
type page struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(ctx context.Context, method, address string, form url.Values) (*page, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if b.user != "" {
		r.Header.Set(userField, b.user)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
		if b.origin != "" {
			r.Header.Set("Origin", b.origin)
		}
	}
	resp, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &page{resp.StatusCode, resp.Header, string(body)}, err
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]*)"`)

// token is that of the form on the page; empty if there is none.
func (p *page) token() string {
	if m := tokenField.FindStringSubmatch(p.body); m != nil {
		return m[1]
	}
	return ""
}

// visit opens a page, and says who the person is if it wants to know.
func (b *browser) visit(ctx context.Context, address string) (*page, error) {
	p, err := b.do(ctx, http.MethodGet, address, nil)
	if err != nil || !strings.Contains(p.body, `name="key"`) || b.key == "" {
		return p, err
	}
	return b.do(ctx, http.MethodPost, address, url.Values{"token": {p.token()}, "key": {b.key}})
}

// open visits a page, which has to come.
func (b *browser) open(t *testing.T, address string) *page {
	t.Helper()
	return assert.Value(b.visit(hosttest.Watchdog(t), address))(t)
}

// decide opens the page of a call, and decides.
func (b *browser) decide(ctx context.Context, address, decision, note string) error {
	p, err := b.visit(ctx, address)
	if err != nil {
		return err
	}
	if p.status != http.StatusOK || p.token() == "" {
		return fmt.Errorf("the page has status %d and no form", p.status)
	}
	p, err = b.do(ctx, http.MethodPost, address, url.Values{"token": {p.token()}, "decision": {decision}, "note": {note}})
	if err == nil && p.status != http.StatusOK {
		err = errors.New("status " + fmt.Sprint(p.status))
	}
	return err
}

var styles = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// checkPolicy checks that a page loads and runs nothing, and is kept nowhere.
func checkPolicy(t *testing.T, p *page) {
	t.Helper()
	m := styles.FindStringSubmatch(p.body)
	assert.Equal(t, len(m), 2, "parts of the style of %s", p.body)
	sum := sha256.Sum256([]byte(m[1]))
	for field, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Cache-Control":               "no-store",
		"Referrer-Policy":             "same-origin",
		"X-Content-Type-Options":      "nosniff",
		"Access-Control-Allow-Origin": "",
	} {
		assert.Equal(t, p.header.Get(field), want, "%s", field)
	}
	assert.Lacks(t, p.body, "<script", "a script in")
}
