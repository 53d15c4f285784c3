package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// FuzzLoopbackPage sends a request of any kind. Its answer is one of few pages,
// which depend on nothing else of it, and it is the login's answer only if its
// state is.
func FuzzLoopbackPage(f *testing.F) {
	const host, path, state = "127.0.0.1:1", "/callback", "right"
	for _, seed := range []string{
		"state=right&code=1", "state=right&error=access_denied&error_description=%3Cscript%3E", "state=wrong", "state=right&state=right",
		"state=right;code=1", "%zz", "state=%72ight", "State=right", "",
	} {
		f.Add(http.MethodGet, host, path, seed)
	}
	f.Add(http.MethodPost, host, path, "state=right")
	f.Add(http.MethodGet, "evil.example", path, "state=right")
	f.Add(http.MethodGet, host, "/Callback", "state=right")

	pages := map[string]int{}
	ask := func(b *loopbackServer, r *http.Request) (int, string) {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	fresh := func() *loopbackServer {
		return &loopbackServer{redirect: &url.URL{Scheme: "http", Host: host, Path: path}, host: host, path: path, state: state, callback: make(chan string, 1)}
	}
	request := func(method, host, path, query string) *http.Request {
		return &http.Request{Method: method, Host: host, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}}
	}
	for _, r := range [][4]string{
		{"GET", host, path, "state=right"}, {"GET", host, path, "state=right&error=x"}, {"GET", host, path, ""},
		{"GET", host, "/", ""}, {"POST", host, path, ""}, {"GET", "", path, ""},
	} {
		status, body := ask(fresh(), request(r[0], r[1], r[2], r[3]))
		pages[body] = status
	}
	f.Fuzz(func(t *testing.T, method, from, path, query string) {
		b := fresh()
		r := request(method, from, path, query)
		status, body := ask(b, r)
		assert.Equal(t, status, pages[body], "status of the page %s", body)
		values, _ := url.ParseQuery(query)
		right := method == http.MethodGet && from == host && r.URL.EscapedPath() == "/callback" &&
			len(values["state"]) == 1 && values["state"][0] == state
		assert.Equal(t, right, status == http.StatusOK, "status %d", status)
		select {
		case callback := <-b.callback:
			assert.True(t, right, "it is the answer")
			assert.Equal(t, callback, "http://127.0.0.1:1/callback?"+query, "came back")
		default:
			assert.False(t, right, "the answer was lost")
		}
		status, _ = ask(b, request(http.MethodGet, host, "/callback", "state=right"))
		assert.Equal(t, status == http.StatusGone, right, "then status %d", status)
	})
}

// The page is on its way before the program hears of the answer: the login may be
// closed then, with its connections.
func TestLoopbackPageIsSentFirst(t *testing.T) {
	const host = "127.0.0.1:1"
	b := &loopbackServer{redirect: &url.URL{Scheme: "http", Host: host, Path: "/callback"}, host: host, path: "/callback", state: "right", callback: make(chan string)}
	w := httptest.NewRecorder()
	served := make(chan struct{})
	go func() {
		defer close(served)
		b.ServeHTTP(w, &http.Request{Method: http.MethodGet, Host: host, URL: &url.URL{Path: "/callback", RawQuery: "code=1&state=right"}})
	}()
	<-b.callback
	assert.True(t, w.Flushed, "flushed")
	assert.Contains(t, w.Body.String(), "</html>\n", "page")
	<-served
}
