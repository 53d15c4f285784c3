package page

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A fakeAPI takes the keys that are not revoked, and notes what it is asked.
type fakeAPI struct {
	revoked atomic.Bool
	asked   atomic.Pointer[http.Request]
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Store(r)
	switch key := r.Header.Get("Authorization"); {
	case key == "Bearer weak":
		w.WriteHeader(http.StatusForbidden)
	case key == "Bearer slow":
		w.WriteHeader(http.StatusServiceUnavailable)
	case !strings.HasPrefix(key, "Bearer good") || a.revoked.Load():
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasSuffix(r.URL.Path, "/events"):
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		_, _ = io.WriteString(w, `{"user":"ada"}`)
	}
}

const here = "http://belt.example:8080"

// newPage returns a page with an API.
func newPage(t *testing.T) (*Page, *fakeAPI) {
	t.Helper()
	api := &fakeAPI{}
	return assert.Value(New(api))(t), api
}

// A browser has what a tab was given when it signed in; the zero one has nothing.
type browser struct{ cookie, tab string }

// do makes a request of the page itself; edit may be nil.
func do(p *Page, method, path, body string, b browser, edit func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, here+path, strings.NewReader(body))
	if method != http.MethodGet {
		r.Header.Set("Origin", here)
	}
	b.sign(r)
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result()
}

// sign gives a request what the tab has.
func (b browser) sign(r *http.Request) {
	for name, value := range map[string]string{"Cookie": b.cookie, tabHeader: b.tab} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

// signInAs signs in.
func signInAs(t *testing.T, p *Page, body string) browser {
	t.Helper()
	return signedIn(t, do(p, "POST", "/admin/session", body, browser{}, nil))
}

// signedIn reads the answer to a request to sign in.
func signedIn(t *testing.T, res *http.Response) browser {
	t.Helper()
	assert.Equal(t, res.StatusCode, http.StatusOK, "sign in")
	assert.Equal(t, len(res.Cookies()), 1, "sign in")
	var got struct{ Tab string }
	assert.OK(t, json.NewDecoder(res.Body).Decode(&got))
	return browser{res.Cookies()[0].Name + "=" + res.Cookies()[0].Value, got.Tab}
}

func TestSignIn(t *testing.T) {
	p, api := newPage(t)
	for _, c := range []struct {
		body, code string
		want       int
	}{
		{`{"credential":"good"}`, "", 200},
		{`{"credential":" good\n"}`, "", 200},
		{`{"credential":"bad"}`, "refused", 401},
		{`{"credential":"weak"}`, "forbidden", 403},
		{`{"credential":"slow"}`, "unavailable", 503},
		{`{"credential":"good\r\nX-Other: 1"}`, "refused", 401},
		{`{}`, "refused", 401},
		{`{`, "value_invalid", 400},
		{`{"credential":"` + strings.Repeat("g", maxSignIn) + `"}`, "value_invalid", 400},
		{`{"once":"none"}`, "link_used", 401},
	} {
		res := do(p, "POST", "/admin/session", c.body, browser{}, nil)
		assert.Equal(t, res.StatusCode, c.want, "%.40s: got status", c.body)
		var problem struct{ Code string }
		if err := json.NewDecoder(res.Body).Decode(&problem); c.code != "" && (err != nil || problem.Code != c.code) {
			t.Errorf("%.40s: got code %q and error %v, want %q", c.body, problem.Code, err, c.code)
		}
		assert.Equal(t, len(res.Cookies()) == 1, c.want == 200, "%.40s: cookies", c.body)
	}
	assert.Equal(t, api.asked.Load().Host, "belt.example:8080", "host that the API is asked at")
}

func TestCookie(t *testing.T) {
	p, _ := newPage(t)
	for _, c := range []struct {
		origin string
		secure bool
	}{{here, false}, {"https://belt.example:8080", true}} {
		res := do(p, "POST", "/admin/session", `{"credential":"good"}`, browser{}, func(r *http.Request) { r.Header.Set("Origin", c.origin) })
		assert.Equal(t, len(res.Cookies()), 1, "%s: cookies", c.origin)
		got := res.Cookies()[0]
		assert.Equal(t, got.Secure, c.secure, "%s: got Secure", c.origin)
		assert.True(t, got.HttpOnly, "%s: HttpOnly", c.origin)
		assert.Equal(t, got.SameSite, http.SameSiteStrictMode, "%s: got SameSite", c.origin)
		assert.Equal(t, got.Name, "mcpbelt_admin8080", "%s: the name", c.origin)
		assert.Lacks(t, got.Value, "good", "%s: the value", c.origin)
		assert.True(t, len(got.Value) >= 26, "%s: the value is random", c.origin)
	}
}

func TestRequestsOfASession(t *testing.T) {
	p, api := newPage(t)
	cookie := signInAs(t, p, `{"credential":"good"}`)
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if value == "" {
				r.Header.Del(name)
			} else {
				r.Header.Set(name, value)
			}
		}
	}
	for _, c := range []struct {
		name, method string
		from         browser
		edit         func(*http.Request)
		want         int
	}{
		{"read", "GET", cookie, nil, 200},
		{"read by a script of the page", "GET", cookie, with("Sec-Fetch-Site", "same-origin"), 200},
		{"read by another port", "GET", cookie, with("Sec-Fetch-Site", "same-site"), 403},
		{"read by another origin", "GET", cookie, with("Origin", "http://belt.example:9090"), 403},
		{"change", "POST", cookie, nil, 200},
		{"change by another port", "POST", cookie, with("Origin", "http://belt.example:9090"), 403},
		{"change by another site", "POST", cookie, with("Origin", "https://evil.example"), 403},
		{"change by another site that claims our origin", "POST", cookie, with("Sec-Fetch-Site", "cross-site"), 403},
		{"change of the page behind a proxy", "POST", cookie, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Origin", "https://admin.example")
		}, 200},
		{"change of no origin", "POST", cookie, with("Origin", ""), 403},
		{"change of an opaque origin", "POST", cookie, with("Origin", "null"), 403},
		{"with the header alone", "GET", browser{tab: cookie.tab}, nil, 401},
		{"with the cookie alone", "GET", browser{cookie: cookie.cookie}, nil, 401},
		{"change with the cookie alone", "POST", browser{cookie: cookie.cookie}, nil, 401},
		{"with another header", "GET", browser{cookie.cookie, "x"}, nil, 401},
		{"another cookie", "GET", browser{"mcpbelt_admin8080=x", cookie.tab}, nil, 401},
		{"a cookie of another port", "GET", browser{strings.Replace(cookie.cookie, "8080", "9090", 1), cookie.tab}, nil, 401},
		{"a key of its own", "POST", cookie, with("Authorization", "Bearer bad"), 401},
	} {
		assert.Equal(t, do(p, c.method, "/api/v1/me", "", c.from, c.edit).StatusCode, c.want, "%s: got status", c.name)
	}
	do(p, "GET", "/api/v1/me", "", cookie, nil)
	assert.Equal(t, api.asked.Load().Header.Get("Cookie"), "", "cookie that the API gets")
	assert.Equal(t, api.asked.Load().Header.Get(tabHeader), "", "header that the API gets")
	do(p, "GET", "/api/v1/me", "", cookie, with("X-API-Key", "other"))
	assert.Equal(t, api.asked.Load().Header.Get("Authorization"), "", "credential besides a key")
	api.revoked.Store(true)
	assert.Equal(t, do(p, "GET", "/api/v1/me", "", cookie, nil).StatusCode, 401, "after the key was revoked: got status")
}

func TestSignInFromElsewhere(t *testing.T) {
	p, _ := newPage(t)
	for _, origin := range []string{"", "null", "https://evil.example", "http://belt.example:9090"} {
		res := do(p, "POST", "/admin/session", `{"credential":"good"}`, browser{}, func(r *http.Request) { r.Header.Set("Origin", origin) })
		assert.Equal(t, res.StatusCode, http.StatusForbidden, "origin %q: got status", origin)
	}
}

func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPage(t)
		path, token, _ := strings.Cut(p.Link("good"), "#once=")
		assert.Equal(t, path, "/admin/")
		assert.True(t, len(token) >= 26, "the token is random")
		body := `{"once":"` + token + `"}`
		assert.Equal(t, do(p, "GET", "/api/v1/me", "", signInAs(t, p, body), nil).StatusCode, 200, "with the session of the link: got status")
		assert.Equal(t, do(p, "POST", "/admin/session", body, browser{}, nil).StatusCode, 401, "the second time: got status")
		_, late, _ := strings.Cut(p.Link("good"), "#once=")
		time.Sleep(maxWait)
		assert.Equal(t, do(p, "POST", "/admin/session", `{"once":"`+late+`"}`, browser{}, nil).StatusCode, 401, "after 10 minutes: got status")
		for range 2 * maxLinks {
			p.Link("good")
		}
		assert.Equal(t, len(p.sessions.links), maxLinks, "links that wait")
	})
}

func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPage(t)
		status := func(cookie browser) int { return do(p, "GET", "/api/v1/me", "", cookie, nil).StatusCode }
		cookie := signInAs(t, p, `{"credential":"good"}`)
		for range 11 {
			time.Sleep(maxIdle - time.Second)
			assert.Equal(t, status(cookie), 200, "of a session that is used")
		}
		time.Sleep(30 * time.Minute)
		status(cookie)
		time.Sleep(31 * time.Minute)
		assert.Equal(t, status(cookie), 401, "after 12 hours: got status")
		cookie = signInAs(t, p, `{"credential":"good"}`)
		time.Sleep(maxIdle)
		assert.Equal(t, status(cookie), 401, "after an hour: got status")
		cookie = signInAs(t, p, `{"credential":"good"}`)
		assert.Equal(t, do(p, "DELETE", "/admin/session", "", cookie, nil).StatusCode, 204, "sign out: got status")
		assert.Equal(t, status(cookie), 401, "after signing out: got status")
		first := signInAs(t, p, `{"credential":"good 1"}`)
		time.Sleep(time.Second)
		for range maxSessions {
			signInAs(t, p, `{"credential":"good 2"}`)
		}
		assert.Equal(t, p.sessions.open.Len(), maxSessions, "sessions")
		assert.Equal(t, status(first), 401, "of the session that made way: got status")
	})
}

// A stream ends in time to be begun again, which keeps the session.
func TestStreamIsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPage(t)
		cookie := signInAs(t, p, `{"credential":"good"}`)
		began := time.Now()
		for range 5 {
			do(p, "GET", "/api/v1/events", "", cookie, nil)
		}
		assert.Equal(t, time.Since(began), 5*(maxIdle-time.Minute), "5 streams")
		assert.Equal(t, do(p, "GET", "/api/v1/me", "", cookie, nil).StatusCode, 200, "after the streams: got status")
		for do(p, "GET", "/api/v1/events", "", cookie, nil).StatusCode == 200 {
		}
		assert.Equal(t, time.Since(began), maxAge, "the end of the last stream")
	})
}

// A second tab shares the session if it is of the same credential; the tab that signs in as another ends its own.
func TestSignInAgain(t *testing.T) {
	p, _ := newPage(t)
	again := func(from browser, body string) browser {
		return signedIn(t, do(p, "POST", "/admin/session", body, from, nil))
	}
	status := func(from browser) int { return do(p, "GET", "/api/v1/me", "", from, nil).StatusCode }
	first := signInAs(t, p, `{"credential":"good"}`)
	assert.Equal(t, again(browser{cookie: first.cookie}, `{"credential":"good"}`), first, "second tab")
	other := again(browser{cookie: first.cookie}, `{"credential":"good 2"}`)
	assert.True(t, other.cookie != first.cookie && other.tab != first.tab, "another credential has another session")
	assert.Equal(t, status(first), 200, "session that only the cookie of which was shown: got status")
	again(first, `{"credential":"good 2"}`)
	assert.Equal(t, status(first), 401, "session before: got status")
}

// A program of another user listens on a port of the same host, and gets the cookies of browsers that come there: it tries them at
// the page in every way.
func TestOtherPortGetsTheCookie(t *testing.T) {
	p, _ := newPage(t)
	user := signInAs(t, p, `{"credential":"good"}`)
	thief := browser{cookie: user.cookie}
	for _, c := range []struct{ method, path string }{
		{"GET", "/api/v1/me"}, {"GET", "/api/v1/events"}, {"HEAD", "/api/v1/servers"},
		{"POST", "/api/v1/mcp/servers"}, {"PUT", "/api/v1/keys/1"}, {"DELETE", "/api/v1/mcp/servers/1"},
	} {
		for _, from := range []browser{thief, {user.cookie, "x"}, {tab: user.tab}} {
			assert.Equal(t, do(p, c.method, c.path, "{}", from, nil).StatusCode, 401, "%s %s: got status", c.method, c.path)
		}
	}
	assert.Contains(t, body(t, do(p, "GET", "/admin/session", "", thief, nil)), "false", "the session of the cookie alone")
	do(p, "DELETE", "/admin/session", "", thief, nil)
	do(p, "POST", "/admin/session", `{"credential":"good 2"}`, thief, nil)
	assert.Equal(t, do(p, "GET", "/api/v1/me", "", user, nil).StatusCode, 200, "the session goes on: got status")
}

func TestStreamEndsWithTheSession(t *testing.T) {
	p, _ := newPage(t)
	web := httptest.NewServer(p)
	defer web.Close()
	ask := func(method, path, body string, from browser) *http.Response {
		r := assert.Value(http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body)))(t)
		r.Header.Set("Origin", web.URL)
		from.sign(r)
		return assert.Value(web.Client().Do(r))(t)
	}
	res := ask("POST", "/admin/session", `{"credential":"good"}`, browser{})
	cookie := signedIn(t, res)
	res.Body.Close()
	stream := ask("GET", "/api/v1/events", "", cookie)
	defer stream.Body.Close()
	ask("DELETE", "/admin/session", "", cookie).Body.Close()
	assert.Value(io.ReadAll(stream.Body))(t)
}

func TestChangeOutlivesTheSession(t *testing.T) {
	var ended context.Context
	p := assert.Value(New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ended = r.Context() })))(t)
	s := p.sessions.begin("good", "")
	cookie := browser{"mcpbelt_admin8080=" + s.id, s.tab}
	inside := false
	p.api = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.sessions.end(s.id)
		inside, ended = true, r.Context()
		assert.Equal(t, ended.Err(), nil, "context of a change, after signing out")
	})
	do(p, "POST", "/api/v1/mcp/servers/refresh", "", cookie, nil)
	assert.True(t, inside, "the API was asked")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
