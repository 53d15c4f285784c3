// Tests of elicit.go and question.go: pages that the user visits.

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// visitQuestion is a URL elicitation.
func visitQuestion(url string) string {
	return fmt.Sprintf(`{"mode":"url","message":"Log in","url":%q,"elicitationId":"e1"}`, url)
}

func agrees(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
	return accept(nil), nil
}

// A handler sees the whole URL before anything is fetched, and nothing ever is.
func TestElicitURL(t *testing.T) {
	var hits atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer canary.Close()
	url := canary.URL + "/a?b=%24(x)&c=1#d"
	everywhere(t, func(t *testing.T, revision string, p plane) {
		tool := asking(visitQuestion(url))
		if revision == mcp.Revision20260728 {
			tool = mcptest.Sequence(
				needs(`{"a":{"method":"elicitation/create","params":`+visitQuestion(url)+`}}`, ""),
				func(c *mcptest.Call) { answerText(c, string(c.Params)) })
		}
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": tool}), &mcp.ClientOptions{
			ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				assert.Equal(t, [...]any{r.ServerWaits, r.Server, r.URL, r.Host, r.Message, len(r.Warnings)},
					[...]any{revision < mcp.Revision20260728, "scripted", url, "127.0.0.1", "Log in", 0})
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"secret": 1}}, nil
			},
		})
		assert.Contains(t, textOf(t, mustCall(t, c, "x")), `{"action":"accept"}`, "the server")
		declared := server.Received("tools/call")[0]
		if revision < mcp.Revision20260728 {
			declared = server.Received("initialize")[0]
		}
		assert.Contains(t, string(declared.Params), `"elicitation":{"url":{}}`)
	})
	assert.Equal(t, hits.Load(), 0, "the page was fetched times")
}

func TestElicitURLExamined(t *testing.T) {
	for url, says := range map[string]string{ // the error for the server, or a warning
		"https://example.com/a":                             "",
		"http://localhost:8080/a":                           "",
		"http://[::1]:8080/a":                               "",
		"https://0xcafe.example/":                           "",
		"https://7.example/":                                "",
		"http://example.com/a":                              "not encrypted",
		"https://10.0.0.1/":                                 "a number",
		"https://167772161/":                                "a number",
		"https://0x7f.1/":                                   "a number",
		"https://10.1./":                                    "a number",
		"https://example.0x/":                               "a number",
		"https://xn--80ak6aa92e.com/":                       "other alphabets",
		"https://exämple.com/":                              "other alphabets",
		"javascript:alert(1)":                               "refused: scheme",
		"file:///etc/passwd":                                "refused: scheme",
		"data:text/html,x":                                  "refused: scheme",
		"https:///a":                                        "refused: has no host",
		"https://google.com@evil.example/":                  "refused: has a user name",
		"https://exa mple.com/":                             "refused: has blanks",
		"https://example.com/\\u0000":                       "refused: has blanks",
		"https://example.com\\\\@evil.example/":             "refused: has blanks",
		"https://example.com/" + strings.Repeat("a", 9_000): "refused: longer than",
		"":    "refused: scheme",
		"://": "refused: not a URL",
	} {
		server := legacy(t, mcptest.Script{"tools/call": asking(`{"mode":"url","message":"","url":"` + url + `","elicitationId":"1"}`)})
		warnings := "no request"
		got := textOf(t, mustCall(t, newClient(t, server, &mcp.ClientOptions{
			ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				warnings = strings.Join(r.Warnings, " ")
				return accept(nil), nil
			},
		}), "x"))
		if refusal, ok := strings.CutPrefix(says, "refused: "); ok {
			assert.Contains(t, got, "-32602", "%.40s", url)
			assert.Contains(t, got, "url: "+refusal, "%.40s", url)
			assert.Equal(t, warnings, "no request", "%.40s", url)
			continue
		}
		assert.Contains(t, warnings, says, "%.40s", url)
		assert.Equal(t, warnings == "", says == "", "%.40s: no warning", url)
	}
}

// Each mode is for its handler alone.
func TestElicitModes(t *testing.T) {
	for _, test := range []struct {
		name, params string
		opts         mcp.ClientOptions
		want         string
	}{
		{"url for a form", visitQuestion("https://a.example/"), mcp.ClientOptions{Elicit: annAnswers}, `mode \"url\" was not declared`},
		{"form for a url", question, mcp.ClientOptions{ElicitURL: agrees}, `was not declared`},
		{"unknown mode", `{"mode":"voice","message":""}`, mcp.ClientOptions{Elicit: annAnswers, ElicitURL: agrees}, `mode \"voice\" was not declared`},
		{"no handler", question, mcp.ClientOptions{}, `-32601`},
	} {
		c := newClient(t, legacy(t, mcptest.Script{"tools/call": asking(test.params)}), &test.opts)
		assert.Contains(t, textOf(t, mustCall(t, c, "x")), test.want, "%s: the server", test.name)
	}
}

// required refuses with the pages that a user has to visit first.
func required(data string) mcptest.Handler {
	return func(c *mcptest.Call) { c.ErrorData(-32042, "visit", data) }
}

const onePage = `{"elicitations":[{"mode":"url","message":"Log in","url":"https://a.example/1","elicitationId":"p1"}]}`

// A call that needs a page to be visited is made again when the user is done,
// as the server announces or as the user says.
func TestURLElicitationRequired(t *testing.T) {
	for _, announced := range []bool{true, false} {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			server := legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(
				required(`{"elicitations":[{"mode":"url","message":"m","url":"https://a.example/1","elicitationId":"p1"},{"url":"https://a.example/2","elicitationId":"p2"}]}`),
				text("done"))})
			var asked []string
			c := newClient(t, p.to(server), &mcp.ClientOptions{
				ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, r.URL)
					time.AfterFunc(2*time.Minute, func() { // beyond the idle time of a call
						if !announced {
							r.Done()
							return
						}
						for _, id := range []string{`"unknown"`, fmt.Sprintf(`"p%d"`, len(asked)), `7`} {
							server.Notify("notifications/elicitation/complete", `{"elicitationId":`+id+`}`)
						}
					})
					pause(time.Second) // the user thinks
					if len(asked) == 1 && announced {
						<-r.Completed
					}
					return accept(nil), nil
				},
			})
			start := time.Now()
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
			assert.Between(t, time.Since(start), 2*time.Minute, 5*time.Minute, "time")
			assert.List(t, asked, []string{"https://a.example/1", "https://a.example/2"})
			wantCount(t, server, "tools/call", 2)
		})
	}
}

// What comes of it when the user does not agree, or is never done.
func TestURLElicitationNotDone(t *testing.T) {
	declines := func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) { return nil, nil }
	fails := func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) { return nil, errDown }
	done := func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		r.Done()
		return accept(nil), nil
	}
	many := strings.Repeat(`{"url":"https://a.example"},`, 16) + `{"url":"https://a.example"}`
	for _, test := range []struct {
		name   string
		data   string
		elicit func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error)
		says   string
		calls  int
	}{
		{"declined", onePage, declines, "did not agree", 1},
		{"handler fails", onePage, fails, errDown.Error(), 1},
		{"bad page", strings.Replace(onePage, "https:", "ftp:", 1), agrees, "neither https nor http", 1},
		{"never done", onePage, agrees, "waiting for the user", 1},
		{"again and again", onePage, done, "visit (code -32042)", 10},
		{"nobody to ask", onePage, nil, "visit (code -32042)", 1},
		{"no data", ``, agrees, "code -32042", 1},
		{"data of wrong type", `{"elicitations":{"a":1}}`, agrees, "code -32042", 1},
		{"data without url", `{"elicitations":[{"elicitationId":"1"}]}`, agrees, "neither https nor http", 1},
		{"pages without end", `{"elicitations":[` + many + `]}`, agrees, "code -32042", 1},
	} {
		runInBubble(t, test.name, func(t *testing.T) {
			server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": required(test.data)}), &mcp.ClientOptions{ElicitURL: test.elicit})
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{CallTimeout: time.Minute})
			wantOutcome(t, err, mcp.Answered)
			assert.Contains(t, err.Error(), test.says)
			assert.Contains(t, err.Error(), `"scripted"`)
			assert.Equal(t, errors.Is(err, context.DeadlineExceeded), test.name == "never done", "a deadline")
			if test.name != "never done" {
				assert.As[*mcp.ServerError](t, err)
			}
			wantCount(t, server, "tools/call", test.calls)
			wantPhase(t, c, mcp.Ready)
		})
	}
}

// The code means nothing in revision 2026-07-28, which has other ways.
func TestURLElicitationRequiredIsLegacy(t *testing.T) {
	var asked requestLog
	_, err := call(t, newClient(t, modern(t, mcptest.Script{"tools/call": required(onePage)}), asked.options()), "x")
	refused := assert.As[*mcp.ServerError](t, err)
	assert.Equal(t, refused.Err.Code, -32042, "code")
	assert.Equal(t, string(refused.Err.Data), onePage, "data")
	assert.Equal(t, asked.elicited.Load(), 0, "pages for the handler")
}

// A page that the user is done with is not the one that the server wants them to
// visit next, though it may have the same id.
func TestPageIsVisitedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(required(onePage), required(onePage), text("done"))})
		c := newClient(t, server, &mcp.ClientOptions{ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			time.AfterFunc(time.Minute, r.Done)
			return accept(nil), nil
		}})
		start := time.Now()
		mustCall(t, c, "x")
		assert.Equal(t, time.Since(start), 2*time.Minute, "the call took")
	})
}

// When the time of a call is over while the user is asked, or the client is
// closed, that is the error, whatever the handler made of its context.
func TestTimeIsOverWhileUserIsAsked(t *testing.T) {
	for revision, asks := range map[string]mcptest.Handler{
		mcp.Revision20251125: required(onePage),
		mcp.Revision20260728: needs(`{"a":{"method":"elicitation/create","params":`+visitQuestion("https://a.example/")+`}}`, ""),
	} {
		for timeout, want := range map[time.Duration]error{time.Minute: context.DeadlineExceeded, time.Hour: mcp.ErrClosed} {
			runInBubble(t, revision+"/"+want.Error(), func(t *testing.T) {
				c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": asks}), &mcp.ClientOptions{
					ElicitURL: func(ctx context.Context, _ *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
						<-ctx.Done()
						return nil, errors.New("no answer")
					},
				})
				time.AfterFunc(2*time.Minute, func() { _ = c.Close() })
				_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{CallTimeout: timeout})
				wantOutcome(t, err, mcp.Answered)
				assert.Is(t, err, want)
				_ = c.Close()
			})
		}
	}
}
