// Tests of elicit.go: pages that the user visits.

package mcp_test

import (
	"context"
	"encoding/json"
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
	for _, test := range []struct {
		url  string
		says string // of the error for the server, or of a warning
	}{
		{"https://example.com/a", ""},
		{"http://localhost:8080/a", ""},
		{"http://[::1]:8080/a", ""},
		{"http://example.com/a", "not encrypted"},
		{"https://10.0.0.1/", "a number"},
		{"https://167772161/", "a number"},
		{"https://0x7f.1/", "a number"},
		{"https://10.1./", "a number"},
		{"https://example.0x/", "a number"},
		{"https://0xcafe.example/", ""},
		{"https://7.example/", ""},
		{"https://xn--80ak6aa92e.com/", "Punycode"},
		{"https://exämple.com/", "other alphabets"},
		{"javascript:alert(1)", "refused: scheme"},
		{"file:///etc/passwd", "refused: scheme"},
		{"data:text/html,x", "refused: scheme"},
		{"https:///a", "refused: has no host"},
		{"https://google.com@evil.example/", "refused: has a user name"},
		{"https://exa mple.com/", "refused: has blanks"},
		{"https://example.com/\\u0000", "refused: has blanks"},
		{"https://example.com\\\\@evil.example/", "refused: has blanks"},
		{"https://example.com/" + strings.Repeat("a", 9000), "refused: longer than"},
		{"", "refused: scheme"},
		{"://", "refused: not a URL"},
	} {
		t.Run(test.url[:min(len(test.url), 40)], func(t *testing.T) {
			server := legacy(t, mcptest.Script{"tools/call": asking(`{"mode":"url","message":"","url":"` + test.url + `","elicitationId":"1"}`)})
			var seen *mcp.ElicitURLRequest
			c := newClient(t, server, &mcp.ClientOptions{ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				seen = r
				return accept(nil), nil
			}})
			got := textOf(t, mustCall(t, c, "x"))
			if says, ok := strings.CutPrefix(test.says, "refused: "); ok {
				assert.Contains(t, got, "-32602")
				assert.Contains(t, got, "url: "+says)
				assert.Equal(t, seen == nil, true, "seen")
				return
			}
			if seen == nil {
				t.Fatalf("nobody was asked; the server got %s", got)
			}
			if all := strings.Join(seen.Warnings, " "); !strings.Contains(all, test.says) || test.says == "" && all != "" {
				t.Errorf("warnings %q, want %q", all, test.says)
			}
		})
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
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, legacy(t, mcptest.Script{"tools/call": asking(test.params)}), &test.opts)
			assert.Contains(t, textOf(t, mustCall(t, c, "x")), test.want, "the server")
		})
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
	for _, how := range []string{"announced", "said"} {
		for _, p := range planes() {
			t.Run(how+"/"+p.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(
						required(`{"elicitations":[{"mode":"url","message":"m","url":"https://a.example/1","elicitationId":"p1"},{"url":"https://a.example/2","elicitationId":"p2"}]}`),
						text("done"))})
					var asked []string
					c := newClient(t, p.to(server), &mcp.ClientOptions{
						ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
							asked = append(asked, r.URL)
							go func() {
								time.Sleep(2 * time.Minute) // beyond the idle time of a call
								if how == "said" {
									r.Done()
									return
								}
								server.Notify("notifications/elicitation/complete", `{"elicitationId":"unknown"}`)
								server.Notify("notifications/elicitation/complete", fmt.Sprintf(`{"elicitationId":"p%d"}`, len(asked)))
								server.Notify("notifications/elicitation/complete", `{"elicitationId":7}`)
							}()
							<-time.After(time.Second) // the user thinks
							if len(asked) == 1 && how == "announced" {
								<-r.Completed
							}
							return accept(nil), nil
						},
					})
					start := time.Now()
					assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
					wantBetween(t, time.Since(start), 2*time.Minute, 5*time.Minute, "time")
					wantList(t, asked, []string{"https://a.example/1", "https://a.example/2"})
					wantCount(t, server, "tools/call", 2)
				})
			})
		}
	}
}

// What comes of it when the user does not agree, or is never done.
func TestURLElicitationNotDone(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer mcptest.Handler
		elicit func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error)
		opts   *mcp.CallToolOptions
		says   string
		is     error
		calls  int
	}{
		{"declined", required(onePage), func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}, nil, "did not agree", nil, 1},
		{"handler fails", required(onePage), func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("no screen")
		}, nil, "no screen", nil, 1},
		{"bad page", required(strings.Replace(onePage, "https:", "ftp:", 1)), agrees, nil, "neither https nor http", nil, 1},
		{"never done", required(onePage), agrees, &mcp.CallToolOptions{CallTimeout: time.Minute}, "waiting for the user", context.DeadlineExceeded, 1},
		{"again and again", required(onePage), func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			r.Done()
			return accept(nil), nil
		}, nil, "visit (code -32042)", nil, 10},
		{"nobody to ask", required(onePage), nil, nil, "visit (code -32042)", nil, 1},
		{"no data", required(``), agrees, nil, "code -32042", nil, 1},
		{"data of wrong type", required(`{"elicitations":{"a":1}}`), agrees, nil, "code -32042", nil, 1},
		{"data without url", required(`{"elicitations":[{"elicitationId":"1"}]}`), agrees, nil, "neither https nor http", nil, 1},
		{"pages without end", required(`{"elicitations":[` + strings.Repeat(`{"url":"https://a.example"},`, 16) + `{"url":"https://a.example"}]}`), agrees, nil, "code -32042", nil, 1},
	} {
		runInBubble(t, test.name, func(t *testing.T) {
			server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": test.answer}), &mcp.ClientOptions{ElicitURL: test.elicit})
			_, err := c.CallTool(t.Context(), "x", nil, test.opts)
			wantOutcome(t, err, mcp.Answered)
			var refused *mcp.ServerError
			assert.Contains(t, err.Error(), test.says)
			assert.Contains(t, err.Error(), `"scripted"`)
			if test.is == nil && !errors.As(err, &refused) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v", err)
			}
			wantCount(t, server, "tools/call", test.calls)
			wantPhase(t, c, mcp.Ready)
		})
	}
}

// The code means nothing in revision 2026-07-28, which has other ways.
func TestURLElicitationRequiredIsLegacy(t *testing.T) {
	server := modern(t, mcptest.Script{"tools/call": required(onePage)})
	c := newClient(t, server, &mcp.ClientOptions{ElicitURL: func(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		t.Error("the user was asked")
		return nil, nil
	}})
	_, err := call(t, c, "x")
	refused := assert.As[*mcp.ServerError](t, err)
	assert.Equal(t, refused.Err.Code, -32042, "code")
	if !json.Valid(refused.Err.Data) {
		t.Errorf("data %s", refused.Err.Data)
	}
}

// A page that the user is done with is not the one that the server wants him to
// visit next, though it may have the same id.
func TestPageIsVisitedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, legacy(t, mcptest.Script{"tools/call": mcptest.Sequence(required(onePage), required(onePage), text("done"))}), &mcp.ClientOptions{
			ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				select {
				case <-r.Completed:
					t.Error("the user is said to be done before he was asked")
				default:
				}
				time.AfterFunc(time.Minute, r.Done)
				return accept(nil), nil
			},
		})
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
		for name, ends := range map[string]struct {
			timeout time.Duration
			is      func(error) bool
		}{
			"total":  {time.Minute, func(err error) bool { var late *mcp.TimeoutError; return errors.As(err, &late) }},
			"closed": {time.Hour, func(err error) bool { return errors.Is(err, mcp.ErrClosed) }},
		} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": asks}), &mcp.ClientOptions{
						ElicitURL: func(ctx context.Context, _ *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
							<-ctx.Done()
							return nil, errors.New("no answer")
						},
					})
					time.AfterFunc(2*time.Minute, func() { _ = c.Close() })
					_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{CallTimeout: ends.timeout})
					wantOutcome(t, err, mcp.Answered)
					if !ends.is(err) {
						t.Errorf("error %v", err)
					}
					_ = c.Close()
				})
			})
		}
	}
}
