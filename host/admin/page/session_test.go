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
	p := assert.Value(New(api))(t)
	return p, api
}

// do makes a request of the page itself; edit may be nil.
func do(p *Page, method, path, body, cookie string, edit func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, here+path, strings.NewReader(body))
	if method != http.MethodGet {
		r.Header.Set("Origin", here)
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result()
}

// signInAs signs in and returns the cookie.
func signInAs(t *testing.T, p *Page, body string) string {
	t.Helper()
	res := do(p, "POST", "/admin/session", body, "", nil)
	assert.Equal(t, res.StatusCode, http.StatusNoContent, "sign in with %s", body)
	assert.Equal(t, len(res.Cookies()), 1, "sign in with %s", body)
	return res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
}

func TestSignIn(t *testing.T) {
	p, api := newPage(t)
	for _, c := range []struct {
		body, code string
		want       int
	}{
		{`{"credential":"good"}`, "", 204},
		{`{"credential":" good\n"}`, "", 204},
		{`{"credential":"bad"}`, "refused", 401},
		{`{"credential":"weak"}`, "forbidden", 403},
		{`{"credential":"slow"}`, "unavailable", 503},
		{`{"credential":"good\r\nX-Other: 1"}`, "refused", 401},
		{`{}`, "refused", 401},
		{`{`, "value_invalid", 400},
		{`{"credential":"` + strings.Repeat("g", maxSignIn) + `"}`, "value_invalid", 400},
		{`{"once":"none"}`, "link_used", 401},
	} {
		res := do(p, "POST", "/admin/session", c.body, "", nil)
		assert.Equal(t, res.StatusCode, c.want, "%.40s: got status", c.body)
		var problem struct{ Code string }
		if err := json.NewDecoder(res.Body).Decode(&problem); c.code != "" && (err != nil || problem.Code != c.code) {
			t.Errorf("%.40s: got code %q and error %v, want %q", c.body, problem.Code, err, c.code)
		}
		assert.Equal(t, len(res.Cookies()) == 1, c.want == 204, "%.40s: cookies", c.body)
	}
	assert.Equal(t, api.asked.Load().Host, "belt.example:8080", "host that the API is asked at")
}

func TestCookie(t *testing.T) {
	p, _ := newPage(t)
	for _, c := range []struct {
		origin string
		secure bool
	}{{here, false}, {"https://belt.example:8080", true}} {
		res := do(p, "POST", "/admin/session", `{"credential":"good"}`, "", func(r *http.Request) { r.Header.Set("Origin", c.origin) })
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
		cookie       string
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
		{"without the cookie", "GET", "", nil, 401},
		{"another cookie", "GET", "mcpbelt_admin8080=x", nil, 401},
		{"a cookie of another port", "GET", strings.Replace(cookie, "8080", "9090", 1), nil, 401},
		{"a key of its own", "POST", cookie, with("Authorization", "Bearer bad"), 401},
	} {
		assert.Equal(t, do(p, c.method, "/api/v1/me", "", c.cookie, c.edit).StatusCode, c.want, "%s: got status", c.name)
	}
	do(p, "GET", "/api/v1/me", "", cookie, nil)
	assert.Equal(t, api.asked.Load().Header.Get("Cookie"), "", "cookie that the API gets")
	do(p, "GET", "/api/v1/me", "", cookie, with("X-API-Key", "other"))
	assert.Equal(t, api.asked.Load().Header.Get("Authorization"), "", "credential besides a key")
	api.revoked.Store(true)
	assert.Equal(t, do(p, "GET", "/api/v1/me", "", cookie, nil).StatusCode, 401, "after the key was revoked: got status")
}

func TestSignInFromElsewhere(t *testing.T) {
	p, _ := newPage(t)
	for _, origin := range []string{"", "null", "https://evil.example", "http://belt.example:9090"} {
		res := do(p, "POST", "/admin/session", `{"credential":"good"}`, "", func(r *http.Request) { r.Header.Set("Origin", origin) })
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
		cookie := signInAs(t, p, body)
		assert.Equal(t, do(p, "GET", "/api/v1/me", "", cookie, nil).StatusCode, 200, "with the session of the link: got status")
		assert.Equal(t, do(p, "POST", "/admin/session", body, "", nil).StatusCode, 401, "the second time: got status")
		_, late, _ := strings.Cut(p.Link("good"), "#once=")
		time.Sleep(maxWait)
		assert.Equal(t, do(p, "POST", "/admin/session", `{"once":"`+late+`"}`, "", nil).StatusCode, 401, "after 10 minutes: got status")
		for range 2 * maxLinks {
			p.Link("good")
		}
		assert.Equal(t, len(p.sessions.links), maxLinks, "links that wait")
	})
}

func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPage(t)
		status := func(cookie string) int { return do(p, "GET", "/api/v1/me", "", cookie, nil).StatusCode }
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

func TestSignInAgain(t *testing.T) {
	p, _ := newPage(t)
	first := signInAs(t, p, `{"credential":"good"}`)
	assert.Equal(t, do(p, "POST", "/admin/session", `{"credential":"good"}`, first, nil).StatusCode, 204, "sign in again: got status")
	assert.Equal(t, do(p, "GET", "/api/v1/me", "", first, nil).StatusCode, 401, "of the session before: got status")
}

func TestStreamEndsWithTheSession(t *testing.T) {
	p, _ := newPage(t)
	web := httptest.NewServer(p)
	defer web.Close()
	ask := func(method, path, body, cookie string) *http.Response {
		r := assert.Value(http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body)))(t)
		r.Header.Set("Origin", web.URL)
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		res := assert.Value(web.Client().Do(r))(t)
		return res
	}
	res := ask("POST", "/admin/session", `{"credential":"good"}`, "")
	res.Body.Close()
	cookie := res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
	stream := ask("GET", "/api/v1/events", "", cookie)
	defer stream.Body.Close()
	ask("DELETE", "/admin/session", "", cookie).Body.Close()
	assert.Value(io.ReadAll(stream.Body))(t)
}

func TestChangeOutlivesTheSession(t *testing.T) {
	var ended context.Context
	p := assert.Value(New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ended = r.Context() })))(t)
	id := p.sessions.begin("good")
	cookie := "mcpbelt_admin8080=" + id
	inside := false
	p.api = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.sessions.end(id)
		inside, ended = true, r.Context()
		assert.Equal(t, ended.Err(), nil, "context of a change, after signing out")
	})
	do(p, "POST", "/api/v1/mcp/servers/refresh", "", cookie, nil)
	assert.True(t, inside, "the API was asked")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
