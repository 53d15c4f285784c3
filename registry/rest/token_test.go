package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A tokenServer is an API that takes the token that was issued last, and
// issues them.
type tokenServer struct {
	*testServer
	issued atomic.Int32
	asked  atomic.Int32
	wants  func(r *http.Request, token string) bool
	issue  func(w http.ResponseWriter, token string) // instead of the usual answer
	answer func(w http.ResponseWriter, n int32) bool // instead of checking the token
}

// tokenText is the nth token. It has the secret in it, so that nothing may show it.
func tokenText(n int32) string { return fmt.Sprintf("%s.%d", testSecret, n) }

func newTokenServer(t testing.TB) *tokenServer {
	w := &tokenServer{}
	w.testServer = newTestServer(t, func(rw http.ResponseWriter, r *http.Request, body string) {
		if r.URL.Path == "/token" {
			token := tokenText(w.issued.Add(1))
			if w.issue != nil {
				w.issue(rw, token)
				return
			}
			_ = json.NewEncoder(rw).Encode(map[string]any{"access_token": token, "expires_in": 3600})
			return
		}
		n := w.asked.Add(1)
		if w.answer != nil && w.answer(rw, n) {
			return
		}
		wants := w.wants
		if wants == nil {
			wants = func(r *http.Request, token string) bool { return r.Header.Get("Authorization") == "Bearer "+token }
		}
		if !wants(r, tokenText(w.issued.Load())) {
			rw.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(rw, r.Header.Get("Authorization")+r.RequestURI+body)
	})
	return w
}

func (w *tokenServer) service(t testing.TB, edit func(*Auth)) *Service {
	auth := Auth{Type: FetchToken, Token: &TokenRequest{URL: w.URL + "/token", Extract: "access_token", Fields: map[string]string{"grant_type": "client_credentials", "client_secret": "${SECRET}"}}}
	if edit != nil {
		edit(&auth)
	}
	return newTestService(t, &API{BaseURL: w.URL, Auth: auth})
}

// of returns the requests to a path.
func (w *tokenServer) of(path string) (list []arrival) {
	for _, r := range w.requests() {
		if p, _, _ := strings.Cut(r.uri, "?"); p == path {
			list = append(list, r)
		}
	}
	return list
}

func TestHowTokensAreAskedFor(t *testing.T) {
	secret := escape(testSecret)
	for _, test := range []struct {
		name string
		edit func(*TokenRequest)
		want []string
	}{
		{"form", func(*TokenRequest) {},
			[]string{"POST /token", "body: client_secret=" + secret + "&grant_type=client_credentials", "Content-Type: application/x-www-form-urlencoded"}},
		{"JSON", func(s *TokenRequest) { s.JSON = true; delete(s.Fields, "grant_type") },
			[]string{"POST /token", `body: {"client_secret":"` + testSecret + `"}`, "Content-Type: application/json"}},
		{"basic", func(s *TokenRequest) { s.User, s.Password = "${USER}", "${SECRET}"; delete(s.Fields, "client_secret") },
			[]string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("alice12:"+testSecret)), "body: grant_type=client_credentials"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTokenServer(t)
			s := w.service(t, func(a *Auth) { test.edit(a.Token) })
			for range 3 { // one token is enough
				mustSend(t, s, get())
			}
			got := w.of("/token")
			assert.Equal(t, len(got), 1, "requests for a token")
			assert.True(t, got[0].shows(test.want), "%+v shows %q", got[0], test.want)
		})
	}
}

func TestHowTokensAreSent(t *testing.T) {
	token := tokenText(1)
	for want, auth := range map[string]Auth{
		"X-Auth-Token: " + token:                {Name: "X-Auth-Token"},
		"Authorization: Token " + token:         {Value: "Token {{token}}"},
		"Authorization: alice12:" + token + "$": {Value: "${USER}:{{token}}$$"},
		"GET /x?access_token=" + escape(token):  {In: InQuery},
	} {
		w := newTokenServer(t)
		w.wants = func(*http.Request, string) bool { return true }
		mustSend(t, w.service(t, func(a *Auth) { a.In, a.Name, a.Value = auth.In, auth.Name, auth.Value }), get())
		got := w.of("/x")
		assert.True(t, len(got) == 1 && got[0].shows([]string{want}), "%+v shows %q", got, want)
	}
}

// What is sent for a token is hidden only if it is secret by its name.
func TestPlainFieldsAreNotHidden(t *testing.T) {
	w := newTokenServer(t)
	w.answer = func(rw http.ResponseWriter, _ int32) bool {
		_, _ = io.WriteString(rw, "client_credentials access_token alice12 hunter22 "+testSecret)
		return true
	}
	s := w.service(t, func(a *Auth) {
		a.Token.User, a.Token.Password = "${USER}", "${PASSWORD}"
		a.Token.Fields = map[string]string{"grant_type": "client_credentials", "requested_token_type": "access_token", "pass_key": "hunter22"}
	})
	assert.Equal(t, string(mustSend(t, s, get()).Body), "client_credentials access_token alice12 [redacted] [redacted]")
}

// A request that is refused with 401 is made once more, byte for byte, and never
// twice more.
func TestOneMoreAttemptAfter401(t *testing.T) {
	for _, test := range []struct {
		name   string
		refuse int32 // so many requests
		status int
	}{
		{"once", 1, 200},
		{"always", 99, 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTokenServer(t)
			w.answer = func(rw http.ResponseWriter, n int32) bool {
				if n <= test.refuse {
					rw.WriteHeader(401)
				}
				return n <= test.refuse
			}
			a := assert.Value(trySend(t, w.service(t, nil), &request{method: "POST", path: "/x", header: http.Header{"X-A": {"b"}}, query: []pair{{"q", "1"}}, body: payload{"form-data", "multipart/form-data; boundary=x"}}))(t)
			assert.Equal(t, a.Status, test.status, "the status")
			assert.Equal(t, len(w.of("/token")), 2, "fetches")
			got := w.of("/x")
			assert.Equal(t, len(got), 2, "attempts")
			first, second := got[0], got[1]
			assert.False(t, first.header.Get("Authorization") == second.header.Get("Authorization"), "both attempts have the same token")
			first.header.Del("Authorization")
			second.header.Del("Authorization")
			assert.Equal(t, fmt.Sprint(second), fmt.Sprint(first), "the second attempt")
			assert.Contains(t, first.body, "form-data")
		})
	}
}

// Without a token that could be fetched anew there is no second attempt.
func TestNoSecondAttemptElsewhere(t *testing.T) {
	refuse := func(rw http.ResponseWriter) bool { rw.WriteHeader(401); return true }
	server := newTestServer(t, func(w http.ResponseWriter, _ *http.Request, _ string) { refuse(w) })
	s := newTestService(t, &API{BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${KEY}"}})
	assert.Equal(t, assert.Value(trySend(t, s, get()))(t).Status, 401, "the status")
	assert.Equal(t, len(server.requests()), 1, "attempts without a token to fetch")

	w := newTokenServer(t) // which always issues the same
	w.issue = func(rw http.ResponseWriter, _ string) { _, _ = io.WriteString(rw, `{"access_token":"same"}`) }
	w.answer = func(rw http.ResponseWriter, _ int32) bool { return refuse(rw) }
	assert.Equal(t, assert.Value(trySend(t, w.service(t, nil), get()))(t).Status, 401, "the status")
	assert.Equal(t, len(w.of("/x")), 1, "attempts with the same token")
	assert.Equal(t, len(w.of("/token")), 2, "fetches of the same token")

	w = newTokenServer(t) // an answer that breaks off is none
	w.answer = func(rw http.ResponseWriter, _ int32) bool {
		rw.Header().Set("Content-Length", "99")
		return refuse(rw)
	}
	_, err := trySend(t, w.service(t, nil), get())
	assert.As[*callError](t, err)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "the outcome")
	assert.Equal(t, len(w.of("/x")), 1, "attempts after half an answer")
}

func TestAnswersThatRejectTheToken(t *testing.T) {
	for _, test := range []struct {
		name, body       string
		status, attempts int
	}{
		{"success", `{"ok":false,"error":"token_expired"}`, 200, 2},
		{"refusal", "Sorry, invalid token here", 403, 2},
		{"another word", `{"error":"expired"}`, 200, 1},
		{"other letters", `{"error":"TOKEN_EXPIRED"}`, 200, 1},
		{"far away", strings.Repeat(" ", 16<<10) + "token_expired", 200, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTokenServer(t)
			w.answer = func(rw http.ResponseWriter, n int32) bool {
				if n == 1 {
					rw.WriteHeader(test.status)
					_, _ = io.WriteString(rw, test.body)
				}
				return n == 1
			}
			s := w.service(t, func(a *Auth) { a.Token.Rejected = []string{"token_expired", "invalid token"} })
			assert.Value(trySend(t, s, &request{method: "POST", path: "/x"}))(t)
			assert.Equal(t, len(w.of("/x")), test.attempts, "attempts")
		})
	}
}

// manyCalls is how many want a token at once.
const manyCalls = 30

func TestManyCallsMakeOneFetch(t *testing.T) {
	w := newTokenServer(t)
	release := make(chan struct{})
	w.issue = func(rw http.ResponseWriter, token string) {
		<-release
		_, _ = fmt.Fprintf(rw, `{"access_token":%q}`, token)
	}
	s := w.service(t, nil)
	var calls, begun sync.WaitGroup
	begun.Add(manyCalls)
	for range manyCalls {
		calls.Go(func() {
			begun.Done()
			assert.Equal(t, assert.Err(trySend(t, s, get())), nil)
		})
	}
	begun.Wait()
	close(release)
	calls.Wait()
	assert.Equal(t, len(w.of("/token")), 1, "fetches")
	assert.Equal(t, len(w.of("/x")), manyCalls, "requests")
}

// Many calls whose token is rejected make one fetch, too.
func TestManyRejectionsMakeOneFetch(t *testing.T) {
	w := newTokenServer(t)
	s := w.service(t, nil)
	mustSend(t, s, get())
	var refused sync.WaitGroup
	refused.Add(manyCalls)
	w.answer = func(rw http.ResponseWriter, n int32) bool {
		if n > 1 && n <= 1+manyCalls {
			refused.Done()
			refused.Wait() // all were sent with the first token
			rw.WriteHeader(401)
			return true
		}
		return false
	}
	var calls sync.WaitGroup
	for range manyCalls {
		calls.Go(func() { assert.Equal(t, assert.Err(trySend(t, s, get())), nil) })
	}
	calls.Wait()
	assert.Equal(t, len(w.of("/token")), 2, "fetches")
}

// The token of one user is never sent for another, nor with other credentials.
func TestTokensOfUsers(t *testing.T) {
	w := newTokenServer(t)
	var mu sync.Mutex
	owner := map[string]string{} // of tokens
	w.issue = nil
	w.testServer.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/token" {
			body, _ := io.ReadAll(r.Body)
			token := fmt.Sprintf("t%d", len(owner))
			owner[token] = string(body)
			_, _ = fmt.Fprintf(rw, `{"access_token":%q}`, token)
			return
		}
		_, _ = io.WriteString(rw, owner[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")])
	})
	type tenantKey struct{}
	s := assert.Value(New(&API{Name: "shop", BaseURL: w.URL, Endpoints: []Endpoint{{Name: "a", Path: "/"}},
		Auth: Auth{Type: FetchToken, Token: &TokenRequest{URL: w.URL + "/token", Extract: "access_token", Fields: map[string]string{"u": "${U}"}}}},
		&Options{Secrets: func(ctx context.Context, _ string) (string, error) {
			user, _ := onbehalf.User(ctx)
			tenant, _ := ctx.Value(tenantKey{}).(string)
			return user + "-" + tenant, nil
		}}))(t)
	defer s.Close()
	ask := func(ctx context.Context) {
		user, _ := onbehalf.User(ctx)
		tenant, _ := ctx.Value(tenantKey{}).(string)
		a, err := s.send(ctx, get())
		if err != nil {
			t.Error(err)
			return
		}
		// What is sent is hidden in the answer, if it is long enough.
		assert.Equal(t, string(a.Body), "u="+user+"-"+tenant, "%s %s", user, tenant)
	}
	var calls sync.WaitGroup
	for i := range 24 {
		calls.Go(func() {
			ctx := onbehalf.With(t.Context(), string(rune('a'+i%4)))
			ask(context.WithValue(ctx, tenantKey{}, string(rune('x'+i%2))))
			ask(ctx)
		})
	}
	calls.Wait()
	ask(t.Context())
	ask(onbehalf.With(t.Context(), "")) // known to be no user
	assert.Equal(t, len(owner), 4+4+2)
}

// Users whose credentials are the same have tokens of their own all the same.
func TestUsersShareNoToken(t *testing.T) {
	w := newTokenServer(t)
	w.wants = func(*http.Request, string) bool { return true }
	s := w.service(t, nil)
	for _, user := range []string{"a", "b", "a", "b"} {
		assert.Equal(t, assert.Value(s.send(onbehalf.With(t.Context(), user), get()))(t).Status, 200)
	}
	assert.Equal(t, len(w.of("/token")), 2, "fetches")
	sent := w.of("/x")
	of := func(i int) string { return sent[i].header.Get("Authorization") }
	assert.False(t, of(0) == of(1), "both users have the same token")
	assert.Equal(t, of(2)+of(3), of(0)+of(1), "the tokens of the second requests")
}

func TestTokensThatCannotBeHad(t *testing.T) {
	page := "<html>" + testSecret + "</html>"
	for _, test := range []struct {
		name, extract string
		status        int
		body, want    string
	}{
		{"refused", "access_token", 401, `{"error":"invalid_client","error_description":"` + testSecret + `"}`, "HTTP status 401"},
		{"an odd code", "access_token", 400, `{"error":"` + testSecret + `"}`, "HTTP status 400"},
		{"in trouble", "access_token", 503, page, "try again later"},
		{"redirected", "access_token", 307, "", "redirect"},
		{"a page", "access_token", 200, page, "not JSON"},
		{"a page for a token", "", 200, page + " x", "a page for people"},
		{"JSON for a token", "", 200, `{"access_token":"` + testSecret + `"}`, "auth.token.extract"},
		{"nothing", "", 200, " \n", "empty"},
		{"nothing there", "a.b.0", 200, `{"a":{"b":["` + testSecret + `"]},"error":"slow_down"}`, ""},
		{"not there", "a.b.1", 200, `{"a":{"b":["` + testSecret + `"]}}`, "nothing at auth.token.extract"},
		{"null", "a", 200, `{"a":null}`, "no string"},
		{"object", "a", 200, `{"a":{"b":"` + testSecret + `"}}`, "no string"},
		{"twice", "a", 200, `{"a":"` + testSecret + `","a":"x"}`, "not JSON"},
		{"large", "a", 200, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "larger than 256 KiB"},
		{"long", "a", 200, `{"a":"` + strings.Repeat("x", 17<<10) + `"}`, "longer than 16 KiB"},
		{"header", "a", 200, `{"a":"` + testSecret + `\r\nX-Evil: 1"}`, "characters that none has"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTokenServer(t)
			w.issue = func(rw http.ResponseWriter, _ string) {
				rw.Header().Set("Location", "https://169.254.169.254/")
				rw.WriteHeader(test.status)
				_, _ = io.WriteString(rw, test.body)
			}
			s := w.service(t, func(a *Auth) { a.Token.Extract = test.extract })
			_, err := trySend(t, s, get())
			if test.want == "" { // it is there after all
				assert.OK(t, err)
				return
			}
			assert.Equal(t, assert.As[*callError](t, err).api, "shop")
			assert.Contains(t, err.Error(), "no token from 127.0.0.1: ")
			assert.Contains(t, err.Error(), test.want)
			assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
			// The next call does not ask again at once.
			_, again := trySend(t, s, get())
			assert.Equal(t, fmt.Sprint(again), err.Error())
			assert.Equal(t, len(w.of("/token")), 1)
			assert.Equal(t, len(w.of("/x")), 0)
		})
	}
}

func TestTokenEndpointThatIsNotThere(t *testing.T) {
	w := newTokenServer(t)
	gone := deadport.URL(t)
	_, err := trySend(t, w.service(t, func(a *Auth) { a.Token.URL = gone }), get())
	assert.As[*callError](t, err)
	assert.Contains(t, err.Error(), "refused")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
}

// A fetch that fails after a 401 is the error of the call.
func TestATokenThatCannotBeRenewed(t *testing.T) {
	w := newTokenServer(t)
	s := w.service(t, nil)
	mustSend(t, s, get())
	w.issue = func(rw http.ResponseWriter, _ string) { rw.WriteHeader(500) }
	w.answer = func(rw http.ResponseWriter, _ int32) bool { rw.WriteHeader(401); return true }
	assert.Contains(t, assert.As[*callError](t, assert.Err(trySend(t, s, get()))).Error(), "HTTP status 500")
}
