package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// ask sends a token request to an authorization server that gives one answer.
func ask(t testing.TB, answer http.HandlerFunc, key Secret) (*Token, []string, error) {
	t.Helper()
	as := newPeer(t, answer)
	return flow(t, Config{}).token(t.Context(), &tokenRequest{"token", as.authority(), as.public(), url.Values{"grant_type": {"g"}}, key})
}

func TestTokenAnswers(t *testing.T) {
	for _, c := range []struct {
		body    string
		refresh string
		life    time.Duration
		scopes  string
	}{
		{body: `{"access_token":"A","token_type":"Bearer"}`},
		{body: `{"access_token":"A","token_type":"bearer","refresh_token":"R"}`, refresh: "R"},
		{body: `{"access_token":"A","token_type":"BEARER","refresh_token":null,"expires_in":null,"scope":null}`},
		{body: `{"access_token":"A","token_type":"Bearer","refresh_token":""}`},
		{body: `{"access_token":"A","refresh_token":"R"}`, refresh: "R"},
		{body: `{"access_token":"A","token_type":""}`},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":60}`, life: time.Minute},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":"60"}`, life: time.Minute},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":6e1}`, life: time.Minute},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":1.5}`, life: 1500 * time.Millisecond},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":0}`},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":-5}`},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":"soon"}`},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":[]}`},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":"NaN"}`},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":1e999}`, life: maxLifetime},
		{body: `{"access_token":"A","token_type":"Bearer","expires_in":9223372036854775807}`, life: maxLifetime},
		{body: `{"access_token":"A","token_type":"Bearer","scope":" read  write "}`, scopes: "read write"},
		{body: `{"access_token":"A","token_type":"Bearer","scope":["read"]}`},
		{body: `{"access_token":"A","token_type":"Bearer","scope":"read,write"}`, scopes: "read write"}, // GitHub
		{body: `{"access_token":"A","token_type":"Bearer","scope":"a,b read"}`, scopes: "a,b read"},
		{body: `{"access_token":"A","token_type":"Bearer","scope":"read \u001b[2J \u202e read"}`, scopes: "read"},
		{body: `{"access_token":"A","token_type":"Bearer","scope":"` + strings.Repeat("s ", 40<<10) + `"}`},
		{body: `{"access_token":"A","token_type":"Bearer","error":""}`},
		{body: `{"access_token":"A","token_type":"Bearer","error":null,"more":{"access_token":"B"},"Access_Token":"B"}`},
		{body: `{"access_token":"\u0041","token_type":"Bearer","refresh_token":"R +/="}`, refresh: "R +/="},
	} {
		before := time.Now()
		token, scopes, err := ask(t, sends(200, c.body), "")
		after := time.Now()
		assert.OK(t, err, "%s", c.body)
		assert.Equal(t, [...]any{token.Access, token.Type, token.Refresh.Reveal(), strings.Join(scopes, " ")},
			[...]any{Secret("A"), "Bearer", c.refresh, c.scopes}, "%s", c.body)
		assert.Equal(t, [...]any{token.Obtained, token.Expires},
			[...]any{token.Obtained.Round(0), token.Expires.Round(0)}, "%s: the times have a monotonic clock, which stops while the machine sleeps", c.body)
		assert.Equal(t, [...]any{token.Obtained.Before(before), token.Obtained.After(after)}, [...]any{false, false}, "%s: obtained", c.body)
		if life := token.Expires.Sub(token.Obtained); token.Expires.IsZero() != (c.life == 0) || c.life != 0 && life != c.life {
			t.Errorf("%s: lives %v, want %v", c.body, life, c.life)
		}
	}
}

func TestTokenAnswersOfNoUse(t *testing.T) {
	key := dpopKey(t)
	for _, c := range []struct {
		body string
		key  Secret
	}{
		{body: ``},
		{body: `null`},
		{body: `[]`},
		{body: `"CANARY"`},
		{body: `{"access_token":"CANARY"`},
		{body: `{}`},
		{body: `{"access_token":"CANARY"}`, key: key},
		{body: `{"access_token":"","token_type":"Bearer","refresh_token":"CANARY"}`},
		{body: `{"access_token":null,"token_type":"Bearer","refresh_token":"CANARY"}`},
		{body: `{"access_token":["CANARY"],"token_type":"Bearer"}`},
		{body: `{"access_token":"CANARY","token_type":"mac"}`},
		{body: `{"access_token":"CANARY","token_type":["Bearer"]}`},
		{body: `{"access_token":"CANARY","token_type":"DPoP"}`},
		{body: `{"access_token":"CANARY","token_type":"Bearer"}`, key: key},
		{body: `{"access_token":"CANARY with blank","token_type":"Bearer"}`},
		{body: `{"access_token":"CANARY\r\nX: y","token_type":"Bearer"}`},
		{body: `{"access_token":"CANARYä","token_type":"Bearer"}`},
		{body: `{"access_token":"CANARY\u0000","token_type":"Bearer"}`},
		{body: `{"access_token":"A","token_type":"Bearer","refresh_token":"CANARY\n"}`},
		{body: `{"access_token":"A","token_type":"Bearer","refresh_token":{"CANARY":1}}`},
		{body: `{"access_token":"CANARY","access_token":"B","token_type":"Bearer"}`},
		{body: `{"access_token":"` + strings.Repeat("CANARY", maxToken/6+1) + `","token_type":"Bearer"}`},
		{body: `{"access_token":"` + strings.Repeat("CANARY", 1<<18) + `","token_type":"Bearer"}`},
	} {
		_, _, err := ask(t, sends(200, c.body), c.key)
		useless := assert.As[*RequestError](t, err, "%.80s", c.body)
		assert.Equal(t, [...]any{useless.Server, useless.Request, useless.Host == "", useless.NotSent},
			[...]any{"files", "token", false, false}, "%.80s", c.body)
		keepsSecrets(t, err, "CANARY")
	}
}

func TestTokenRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		code   string
	}{
		{400, `{"error":"invalid_grant","error_description":"CANARY","error_uri":"https://as/CANARY"}`, "invalid_grant"},
		{401, `{"error":"invalid_client"}`, "invalid_client"},
		{200, `{"error":"invalid_grant","access_token":"CANARY"}`, "invalid_grant"},
		{200, `{"error":{"CANARY":1},"access_token":"CANARY","token_type":"Bearer"}`, ""},
		{400, `{"error":"CANARY <b>"}`, ""},
		{400, `{"error":["CANARY"]}`, ""},
		{400, `{"message":"CANARY"}`, ""},
		{400, `CANARY`, ""},
		{400, `{"error":"a","error":"CANARY"}`, ""},
		{500, ``, ""},
		{503, `{"error":"temporarily_unavailable"}`, "temporarily_unavailable"},
	} {
		_, _, err := ask(t, sends(c.status, c.body), "")
		no := assert.As[*OAuthError](t, err, "%d %s", c.status, c.body)
		assert.Equal(t, [...]any{no.Code, no.Status, no.Request, no.Server}, [...]any{c.code, c.status, "token", "files"}, "%d %s", c.status, c.body)
		keepsSecrets(t, err, "CANARY")
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"99999999":                      maxRetryAfter,
		"99999999999999999999":          0,
		"soon":                          0,
		"Fri, 31 Dec 1999 23:59:59 GMT": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": maxRetryAfter,
	} {
		_, _, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(429)
		}, "")
		no := assert.As[*OAuthError](t, err, "%q", value)
		assert.Equal(t, [...]any{no.RetryAfter, no.Status}, [...]any{want, 429}, "%q", value)
	}
}

// TestNoSecretsInErrors has the authorization server send all that it was sent
// back, by every part of an answer.
func TestNoSecretsInErrors(t *testing.T) {
	secrets := []string{"CODE/canary+1", "VERIFIER-canary-2", "RT canary=3", "SECRET:canary&4", "AT~canary5"}
	echo := func(status int, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			all, _ := json.Marshal(append(secrets, r.Header.Get("Authorization")))
			w.Header().Set("Content-Type", kind)
			w.Header().Set("WWW-Authenticate", `Basic realm="`+secrets[0]+`"`)
			w.Header().Set("Location", "/"+url.PathEscape(secrets[2]))
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":%s,"error_description":%s,"client_id":%[2]s,"access_token":%[2]s,"token_type":%[2]s,"x":1}`, all, all)
		}
	}
	for _, answer := range []http.HandlerFunc{
		echo(200, "application/json"), echo(400, "application/json"), echo(401, "text/html"), echo(200, "text/plain"),
		echo(302, "text/html"), echo(307, "application/json"), echo(500, ""),
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			fmt.Fprintf(conn, "HTTP/9.9 %s\r\n\r\n", strings.Join(secrets, " "))
			_ = conn.Close()
		},
	} {
		as := newPeer(t, answer)
		a := as.authority()
		c := &Client{Issuer: as.url, ID: "id", Secret: Secret(secrets[3])}
		f := flow(t, Config{Client: c})
		p := begin(t, f, a, c)
		p.Verifier = Secret(secrets[1])
		_, err1 := f.Complete(t.Context(), p, callback(p, "code", secrets[0]))
		g := grantOf(a, c)
		g.Token.Refresh, g.Token.Access = Secret(secrets[2]), Secret(secrets[4])
		_, err2 := f.Refresh(t.Context(), g)
		_, err3 := flow(t, Config{}).Register(t.Context(), a, redirectURI, nil)
		for i, err := range []error{err1, err2, err3, f.Revoke(t.Context(), g)} {
			if err == nil && i < 3 {
				t.Errorf("request %d: no error", i)
			}
			if err != nil {
				keepsSecrets(t, err, secrets...)
			}
		}
		assert.Equal(t, len(as.requests()) >= 4, true)
	}
}

func TestTokenRequestIsNotRedirected(t *testing.T) {
	canary := newPeer(t, sends(200, tokenAnswer))
	for _, status := range []int{301, 302, 303, 307, 308} {
		as := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", canary.url+"/token")
			w.WriteHeader(status)
		})
		_, err := flow(t, Config{}).Refresh(t.Context(), grantOf(as.authority(), as.public()))
		assert.Equal(t, assert.As[*RequestError](t, err, "%d", status).NotSent, false, "%d", status)
	}
	assert.Equal(t, len(canary.requests()), 0)
}

func TestTokenRequestThatCannotBeSent(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	a := as.authority()
	for endpoint, want := range map[string]string{
		"http://10.0.0.1/token":         "*auth.URLError",
		"http://169.254.169.254/token":  "*auth.URLError",
		"ftp://as.example.com/token":    "*auth.URLError",
		"http://as.example.com/token":   "*auth.URLError",
		"https://u:CANARY@as.example/t": "*auth.URLError",
		"http://127.0.0.1:1/token":      "*auth.RequestError",
	} {
		a.TokenEndpoint = endpoint
		_, err := flow(t, Config{}).Refresh(t.Context(), grantOf(a, as.public()))
		if got := fmt.Sprintf("%T", err); got != want {
			t.Errorf("%s: %s (%v), want %s", endpoint, got, err, want)
			continue
		}
		if failed := (*RequestError)(nil); errors.As(err, &failed) && !failed.NotSent {
			t.Errorf("%s: is said to have been sent", endpoint)
		}
		keepsSecrets(t, err, "CANARY")
	}
}

func TestTokenRequestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	as := newPeer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := flow(t, Config{}).Refresh(ctx, grantOf(as.authority(), as.public()))
	assert.Is(t, err, context.Canceled)
	assert.Equal(t, assert.As[*RequestError](t, err).NotSent, false)
}

func TestResourceIsNamed(t *testing.T) {
	for _, none := range []bool{false, true} {
		as := newPeer(t, sends(200, tokenAnswer))
		f, a := flow(t, Config{NoResource: none}), as.authority()
		want := []string{"https://mcp.example.com/mcp"}
		if none {
			want = nil
		}
		p := begin(t, f, a, as.public())
		assert.Equal(t, fmt.Sprint(assert.Value(url.Parse(p.URL))(t).Query()["resource"]), fmt.Sprint(want), "authorization: resource")
		g := assert.Value(f.Complete(t.Context(), p, callback(p, "code", "C")))(t)
		assert.Value(f.Refresh(t.Context(), g))(t)
		for _, r := range as.requests() {
			assert.Equal(t, fmt.Sprint(r.form["resource"]), fmt.Sprint(want), "%s: resource", r.form.Get("grant_type"))
		}
	}
}

// TestNonces follows the nonces that an authorization server wants in proofs: it
// is asked once more when it wants another one, with a new proof and a new
// assertion, and not for ever.
func TestNonces(t *testing.T) {
	nonce := "first"
	var mu sync.Mutex
	stubborn := false
	as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		claims, _ := openProof(t, r.Header.Get("DPoP"))
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("DPoP-Nonce", nonce)
		if stubborn || claims["nonce"] != nonce {
			sends(400, `{"error":"use_dpop_nonce"}`)(w, r)
			return
		}
		nonce += "x" // good for the next request
		w.Header().Set("DPoP-Nonce", nonce)
		sends(200, strings.Replace(tokenAnswer, "Bearer", "dpop", 1))(w, r)
	})
	f := flow(t, Config{})
	g := grantOf(as.authority(), as.public())
	g.DPoPKey = dpopKey(t)
	for i, want := range []int{2, 3, 4} { // the nonce of an answer spares a round
		fresh := assert.Value(f.Refresh(t.Context(), g))(t)
		assert.Equal(t, [...]any{fresh.Token.Type, fresh.DPoPKey}, [...]any{"DPoP", g.DPoPKey}, "fresh")
		assert.Equal(t, len(as.requests()), want, "refresh %d: requests so far", i)
	}
	proofs := map[string]bool{}
	for _, r := range as.requests() {
		proofs[r.header.Get("DPoP")] = true
		assert.Equal(t, r.form.Get("refresh_token"), "RT", "sent %q", r.body)
	}
	assert.Equal(t, len(proofs), len(as.requests()), "a proof was sent twice")

	mu.Lock()
	stubborn = true
	mu.Unlock()
	before := len(as.requests())
	_, err := f.Refresh(t.Context(), g)
	assert.Equal(t, [...]any{assert.As[*OAuthError](t, err).Code, len(as.requests())}, [...]any{"use_dpop_nonce", before + 2})
}

func TestNonceThatIsNone(t *testing.T) {
	for _, nonce := range []string{"", "with blank", `with"quote`, strings.Repeat("n", 2000)} {
		as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("DPoP-Nonce", nonce)
			sends(400, `{"error":"use_dpop_nonce"}`)(w, r)
		})
		g := grantOf(as.authority(), as.public())
		g.DPoPKey = dpopKey(t)
		assert.As[*OAuthError](t, errOf(flow(t, Config{}).Refresh(t.Context(), g)), "%.20q", nonce)
		assert.Equal(t, len(as.requests()), 1, "%.20q", nonce)
	}
}

func TestNoncesOfManyOrigins(t *testing.T) {
	var n nonces
	for i := range 10 * maxNonces {
		n.keep(fmt.Sprintf("https://as%d.example.com/token", i), "n")
	}
	assert.Equal(t, len(n.byOrigin) <= maxNonces, true, "keeps")
	n.keep("https://as.example.com/token", "newest")
	assert.Equal(t, n.newest("https://as.example.com/other?x=y"), "newest")
	assert.Equal(t, n.newest("https://as.example.com:8443/token"), "", "for another origin")
}

// TestManyRequestsAtOnce has one Flow used from many goroutines.
func TestManyRequestsAtOnce(t *testing.T) {
	as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("DPoP-Nonce", base64.RawURLEncoding.EncodeToString([]byte(r.RemoteAddr)))
		if claims, _ := openProof(t, r.Header.Get("DPoP")); claims["nonce"] == nil {
			sends(400, `{"error":"use_dpop_nonce"}`)(w, r)
			return
		}
		sends(200, strings.Replace(tokenAnswer, "Bearer", "DPoP", 1))(w, r)
	})
	f, key := flow(t, Config{}), dpopKey(t)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			g := grantOf(as.authority(), as.public())
			g.DPoPKey = key
			g.Token.Refresh = Secret(fmt.Sprintf("RT%d", i))
			if _, err := f.Refresh(t.Context(), g); err != nil {
				t.Error(err)
			}
			p, err := f.Begin(as.authority(), as.public(), redirectURI, nil)
			if err != nil {
				t.Error(err)
				return
			}
			p.DPoPKey = key
			if _, err := f.Complete(t.Context(), p, callback(p, "code", "C")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func FuzzTokenAnswer(f *testing.F) {
	f.Add([]byte(tokenAnswer))
	f.Add([]byte(`{"access_token":"A","token_type":"Bearer","expires_in":"1e3","scope":" a  b "}`))
	f.Add([]byte(`{"error":"invalid_grant","access_token":null}`))
	f.Add([]byte("{\"access_token\":\"\\ud800\",\"token_type\":\"\\u0042earer\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := readAnswer(body)
		if err != nil {
			return
		}
		if life, err := a.lifetime("expires_in"); err == nil && (life < 0 || life > maxLifetime) {
			t.Fatalf("lives %v", life)
		}
		if code := a.code(); len(code) > maxCode || strings.ContainsAny(code, " <>\"'\r\n\x1b") {
			t.Fatalf("code %q", code)
		}
		token, _, err := readToken(a, false)
		if err != nil {
			return
		}
		if token.Access == "" || token.Type != "Bearer" || strings.ContainsFunc(token.Access.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%s %q", token.Type, token.Access.Reveal())
		}
	})
}

func TestTokenAsOAuth2(t *testing.T) {
	expires := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := (&Token{Access: "a", Type: "Bearer", Refresh: "r", Expires: expires}).OAuth2()
	assert.Equal(t, *got, (oauth2.Token{AccessToken: "a", TokenType: "Bearer", RefreshToken: "r", Expiry: expires}))
}
