package ask_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
)

const consent = "Visit this page? Type yes or no: "

// A canary is a page that counts its visitors.
func canary(t *testing.T) (page string, hits *atomic.Int64) {
	hits = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, hits
}

// visits stands for a browser.
func visits(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func TestConsoleURL(t *testing.T) {
	page, hits := canary(t)
	page += "/pay?x=$(reboot);&y='1'"
	u := newUser(t)
	var opened []string
	u.console.Open = func(ctx context.Context, url string) error {
		opened = append(opened, url)
		return visits(ctx, url)
	}
	answer := granted(t, &mcp.ClientOptions{ElicitURL: u.console.ElicitURL}, elicit, `{"mode":"url","message":"Pay here","elicitationId":"1","url":"`+page+`"}`)
	u.await(t, `Server "notes" wants you to visit a web page:`)
	u.await(t, "| Pay here")
	u.await(t, "\n  Host:  >>> 127.0.0.1 <<<\n")
	u.await(t, "  URL:   "+page+"\n")
	for _, no := range []string{"", "y", "ok", "yes!", "1"} {
		u.after(t, consent, no)
	}
	u.await(t, consent)
	assert.Equal(t, [...]any{hits.Load(), len(opened)}, [...]any{int64(0), 0})
	u.types(t, "Yes")
	u.await(t, "The page was opened in your browser.\n")
	assert.Equal(t, <-answer, `{"action":"accept"}`, "the server")
	assert.Equal(t, strings.Join(opened, " "), page, "opened")
	assert.Equal(t, hits.Load(), 1, "visits")
}

func TestConsoleURLRefused(t *testing.T) {
	for line, want := range map[string]string{"no": "decline", "N": "decline", "/decline": "decline", "/cancel": "cancel", "": "cancel"} {
		var out screen
		c := &ask.Console{In: strings.NewReader(line), Out: &out, Open: func(context.Context, string) error {
			t.Errorf("%q: the page was opened", line)
			return nil
		}}
		res := assert.Value(c.ElicitURL(t.Context(), &mcp.ElicitURLRequest{Server: "x", URL: "https://a.example/", Host: "a.example", Warnings: []string{"Look twice."}}))(t)
		assert.Equal(t, res.Action, want, "%q: action", line)
		assert.Contains(t, out.String(), "Warning: Look twice.")
	}
}

// Without a browser, or if it does not open, the user opens the page.
func TestConsoleURLByHand(t *testing.T) {
	for _, open := range []func(context.Context, string) error{nil, func(context.Context, string) error { return errors.New("no \x1b[1mdisplay") }} {
		var out screen
		c := &ask.Console{In: strings.NewReader("yes\n\n"), Out: &out, Open: open}
		res := assert.Value(c.ElicitURL(t.Context(), &mcp.ElicitURLRequest{URL: "https://a.example/\u202ex", Host: "a.example"}))(t)
		assert.Equal(t, res.Action, "accept", "action")
		_, after, _ := strings.Cut(out.String(), consent)
		assert.Contains(t, after, "pen")
		assert.Contains(t, after, "in your browser:\n  https://a.example/<U+202E>x\n")
		assert.Lacks(t, after, "\x1b")
	}
}

func TestConsoleURLCancelledLater(t *testing.T) {
	c := &ask.Console{In: strings.NewReader("yes\n/cancel\n"), Out: &screen{}}
	assert.Equal(t, assert.Value(c.ElicitURL(t.Context(), &mcp.ElicitURLRequest{}))(t).Action, "cancel", "action")
}

// When the server announces that the user is done nobody has to press a key.
func TestConsoleURLCompleted(t *testing.T) {
	u := newUser(t)
	completed := make(chan struct{})
	ended := make(chan string, 1)
	go func() {
		res, err := u.console.ElicitURL(t.Context(), &mcp.ElicitURLRequest{Completed: completed})
		assert.Is(t, err, nil)
		ended <- res.Action
	}()
	u.after(t, consent, "yes")
	u.await(t, "Press Enter")
	close(completed)
	u.await(t, "The server says that you are done.")
	assert.Equal(t, <-ended, "accept", "action")
}

// Enter says to a call that waits for the page that the user is done.
func TestConsoleURLBeforeCall(t *testing.T) {
	u := newUser(t)
	var calls atomic.Int64
	c := newPaywall(t, &calls, &mcp.ClientOptions{ElicitURL: u.console.ElicitURL})
	ended := inBackground(func() error { return assert.Err(c.CallTool(t.Context(), "x", nil, nil)) })
	u.after(t, consent, "yes")
	u.after(t, "Press Enter when you are done there", "what?")
	u.await(t, "Press Enter when you are done there")
	assert.Equal(t, calls.Load(), 1, "calls before the user was done")
	u.types(t, "")
	assert.OK(t, <-ended)
	assert.Equal(t, calls.Load(), 2, "calls")
}
