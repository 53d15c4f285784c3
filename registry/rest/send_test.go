package rest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// What an answer repeats of the secrets is taken out of it, however it is written.
func TestAnswersDoNotShowSecrets(t *testing.T) {
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		inJSON, _ := json.Marshal(r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "["+string(inJSON)+`,"`+strings.ReplaceAll(testSecret, "/", `\/`)+`","`+url.QueryEscape(testSecret)+`","`+
			base64.StdEncoding.EncodeToString([]byte(testSecret))+`","`+base64.RawURLEncoding.EncodeToString([]byte(testSecret))+`","alice12",123456789012345678901]`)
	})
	s := newTestService(t, &API{BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${TOKEN}"}, Headers: map[string]string{"X-User": "alice12"}})
	a := mustSend(t, s, get())
	assert.Equal(t, string(a.Body), `["Bearer [redacted]","[redacted]","[redacted]","[redacted]","[redacted]","alice12",123456789012345678901]`)
	assert.Equal(t, a.Header.Get("X-Echo"), "Bearer [redacted]", "header")
	// Of what is cut off no part of a secret is left.
	for n := 1; n < 40; n++ {
		r := get()
		r.maxBytes = n
		a := mustSend(t, s, r)
		for i := minHidden; i <= len(testSecret); i++ {
			assert.False(t, bytes.HasSuffix(a.Body, []byte(testSecret[:i])), "%d bytes, %s, end with a part of the secret", n, a.Body)
			assert.True(t, a.Truncated, "%d: a.Truncated", n)
		}
	}
}

// What is sent is hidden, wherever it was written down: a header that refers to it, a value
// behind a word, the path of the base URL.
func TestSecretsOfEachPlace(t *testing.T) {
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		_, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		w.Header().Set("Location", "https://elsewhere.example"+r.RequestURI)
		_, _ = fmt.Fprint(w, r.RequestURI, " ", r.URL.Path, " ", r.Header["X-Custom"], r.Header["User"], secret, url.QueryEscape(r.Header.Get("X-Secret")))
	})
	for _, test := range []struct {
		api  API
		want string
	}{
		{API{Headers: map[string]string{"X-Custom": "v1 ${TENANT}", "User": "${USER}"}}, "/x /x [v1 [redacted]] [[redacted]]"},
		{API{Auth: Auth{Type: APIKey, Name: "Authorization", Value: "Token " + testSecret}, Headers: map[string]string{"X-Secret": "two words/" + testSecret}}, "/x /x [] [][redacted][redacted]"},
		{API{BaseURL: "/bot${TOKEN}/v1"}, "/bot[redacted]/v1/x /bot[redacted]/v1/x [] []"},
	} {
		test.api.BaseURL = server.URL + test.api.BaseURL
		assert.Equal(t, string(mustSend(t, newTestService(t, &test.api), get()).Body), test.want)
	}
	assert.Equal(t, server.take().uri, "/bot"+url.PathEscape(testSecret)+"/v1/x", "asked for")
}

// Writers of JSON escape what they like, and an echo has JSON in a string of JSON.
func TestEscapedSecretsInAnswers(t *testing.T) {
	const secret = `p&ss"w\ord<é+` + "\U0001f600>"
	inGo, _ := json.Marshal(secret)
	net := `"p\u0026ss\u0022w\\ord\u003C\u00E9\u002B\uD83D\uDE00\u003E"`
	php := `"p&ss\"w\\ord<\u00e9+\ud83d\ude00>"`
	once, _ := json.Marshal(map[string]json.RawMessage{"a": inGo})
	twice, _ := json.Marshal(map[string]string{"body": string(once)})
	thrice, _ := json.Marshal(map[string]string{"log\n": string(twice)})
	for body, want := range map[string]string{
		`{"k":` + string(inGo) + `,"n":1}`: `{"k":"[redacted]","n":1}`,
		`[` + net + `,"a\nb",` + php + `]`: `["[redacted]","a\nb","[redacted]"]`,
		string(twice):                      `{"body":"{\"a\":\"[redacted]\"}"}`,
		string(thrice):                     `{"log\n":"{\"body\":\"{\\\"a\\\":\\\"[redacted]\\\"}\"}"}`,
		`<p title="x\y">"p&ss" \`:          `<p title="x\y">"p&ss" \`,
		`{"a":"\u0041`:                     `{"a":"\u0041`,
		`"\"`:                              `"\"`,
	} {
		k := &keyring{hidden: []string{secret}}
		a := &guardhttp.Answer{Body: []byte(body)}
		k.clean(a)
		assert.Equal(t, string(a.Body), want, "%s", body)
	}
}

func BenchmarkClean(b *testing.B) {
	k := &keyring{}
	k.hide(testSecret)
	k.hide("another secret")
	body := bytes.Repeat([]byte("abcdefghij s3cr3t/v=luez "), 40<<10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		k.clean(&guardhttp.Answer{Body: body})
	}
}

func TestAnswersThatAreCutOff(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 4 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	s := newTestService(t, &API{BaseURL: server.URL})
	for _, max := range []int{0, 1000} {
		r := get()
		r.maxBytes = max
		a := mustSend(t, s, r)
		assert.True(t, a.Truncated, "truncated")
		assert.Equal(t, len(a.Body), cmp.Or(max, 1<<20), "bytes")
	}
}

// The end of the caller's context is an error, and tells whether anything was sent.
func TestCallersWhoGiveUp(t *testing.T) {
	var end func()
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, testSecret)
			w.(http.Flusher).Flush()
		}
		end()
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // an answer could still arrive
	})
	for _, path := range []string{"/header", "/body"} {
		s := newTestService(t, &API{BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${TOKEN}"}, Endpoints: []Endpoint{{Name: "slow", Method: "POST", Path: path}}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end = cancel
		for _, outcome := range []mcp.Outcome{mcp.Unknown, mcp.NotSent} { // while it is sent, and before
			res, err := s.Tools()[0].Call(ctx, nil)
			noSecretIn(t, err)
			assert.Is(t, err, context.Canceled)
			assert.Equal(t, mcp.OutcomeOf(err), outcome, "%s: the outcome", path)
			assert.True(t, res == nil, "there is no result")
		}
		assert.Equal(t, len(server.requests()), 1, "%s: requests", path)
		server.take()
	}
}

// The time of a call is over for both attempts together.
func TestSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestService(t, &API{BaseURL: "https://api.example", Auth: Auth{Type: FetchToken, Token: &TokenRequest{URL: "https://login.example"}}})
		s.do = func(ctx context.Context, r *guardhttp.Request) (*guardhttp.Answer, error) {
			select {
			case <-time.After(4 * time.Second):
			case <-ctx.Done():
				return nil, &guardhttp.Failure{Host: "api.example", Err: ctx.Err()}
			}
			if strings.HasPrefix(r.URL, "https://login.example") {
				return &guardhttp.Answer{Status: 200, Body: []byte(strconv.FormatInt(time.Now().Unix(), 10))}, nil
			}
			return &guardhttp.Answer{Status: 401}, nil
		}
		for _, test := range []struct {
			timeout time.Duration
			outcome mcp.Outcome
		}{{3 * time.Second, mcp.NotSent}, {7 * time.Second, mcp.Unknown}, {3 * time.Second, mcp.Unknown}} {
			began := time.Now()
			_, err := trySend(t, s, &request{endpoint: "slow", method: "POST", timeout: test.timeout})
			assert.Equal(t, mcp.OutcomeOf(err), test.outcome)
			assert.Equal(t, time.Since(began), test.timeout)
			assert.Equal(t, err.Error(), `rest: API "shop": endpoint "slow": no whole answer within `+test.timeout.String())
		}
		// Fetched, used, fetched again, used again: 16 s of the 30 that are usual.
		began := time.Now()
		s.tokens = tokens{}
		assert.Equal(t, assert.Value(trySend(t, s, &request{method: "POST"}))(t).Status, 401)
		assert.Equal(t, time.Since(began), 16*time.Second)
	})
}

// A canary is a server that nothing may reach.
func newCanary(t testing.TB) *httptest.Server {
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s got through with %v", r.Method, r.URL, r.Header)
	}))
	t.Cleanup(c.Close)
	return c
}

func TestRedirects(t *testing.T) {
	canary := newCanary(t)
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		switch r.URL.Path {
		case "/x":
			http.Redirect(w, r, "/y", http.StatusFound)
		case "/away":
			http.Redirect(w, r, canary.URL+"/?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusMovedPermanently)
		}
	})
	s := newTestService(t, &API{BaseURL: server.URL, Auth: Auth{Type: APIKey, In: InQuery, Value: "${KEY}"}})
	mustSend(t, s, get())
	for _, r := range []*request{
		{method: "GET", path: "/x"},
		{method: "POST", path: "/x"},
		{method: "GET", path: "/away", safe: true},
		{method: "GET", path: "/metadata", safe: true},
	} {
		before := len(server.requests())
		a, err := trySend(t, s, r)
		assert.OK(t, err)
		assert.Equal(t, a.Status/100, 3, "%s %s: the status %d", r.method, r.path, a.Status)
		assert.True(t, a.Header.Get("Location") != "", "%s %s: there is a Location", r.method, r.path)
		assert.Equal(t, len(server.requests()), before+1, "%s %s: requests", r.method, r.path)
	}
}

// An API of another author reaches nothing that is not public.
func TestPublicOnly(t *testing.T) {
	canary := newCanary(t)
	for _, api := range []API{
		{BaseURL: canary.URL},
		{BaseURL: strings.Replace(canary.URL, "http:", "https:", 1)},
		{BaseURL: strings.Replace(canary.URL, "127.0.0.1", "localhost", 1)},
		{BaseURL: "https://10.0.0.1"},
		{BaseURL: "https://[::1]"},
		{BaseURL: "https://api.example", Auth: Auth{Type: FetchToken, Token: &TokenRequest{URL: "https://192.168.0.1/token"}}},
	} {
		api.Name, api.Endpoints = "shop", []Endpoint{{Name: "a", Path: "/"}}
		s, err := New(&api, &Options{Network: Network{PublicOnly: true, AllowHTTP: true}})
		if err == nil {
			_ = s.Close()
		}
		assert.Equal(t, len(assert.As[*APIError](t, err, "%s", api.BaseURL).Problems), 1, "%s", api.BaseURL)
		assert.Contains(t, err.Error(), "leads to", "%s", api.BaseURL)
	}
	// A name shows where it leads when it is connected to.
	at := assert.Value(url.Parse(canary.URL))(t)
	names := namesOf(t, "127.0.0.1")
	for _, n := range []Network{{PublicOnly: true, AllowHTTP: true}, {AllowHTTP: true}} {
		api := &API{Name: "shop", BaseURL: "http://api.example:" + at.Port(), Endpoints: []Endpoint{{Name: "a", Path: "/"}}}
		if !n.PublicOnly {
			names = namesOf(t, "169.254.169.254") // never, though the host is the API's own
		}
		n.names = names
		s, err := New(api, &Options{Network: n})
		assert.OK(t, err)
		_, err = trySend(t, s, get())
		assert.As[*callError](t, err, "%+v", n)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%+v", n)
		assert.Contains(t, err.Error(), "leads to", "%+v", n)
		_ = s.Close()
	}
}

// A name that leads to a public place at first, and to a private one then.
func TestRebinding(t *testing.T) {
	at := assert.Value(url.Parse(newCanary(t).URL))(t)
	n := Network{PublicOnly: true, AllowHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, names: namesOf(t, "127.0.0.2", "127.0.0.1")}
	s := assert.Value(New(&API{Name: "shop", BaseURL: "http://api.example:" + at.Port(), Endpoints: []Endpoint{{Name: "a", Path: "/"}}}, &Options{Network: n}))(t)
	defer s.Close()
	for i, want := range []string{"refused", "leads to this machine"} {
		_, err := trySend(t, s, get())
		assert.Fails(t, err, "%d", i)
		assert.Contains(t, err.Error(), want, "%d", i)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%d", i)
	}
}

// The owner of an API may have it on a private network, and on this machine, with a
// certificate of their own.
func TestOwnNetworks(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for base, n := range map[string]Network{
		server.URL: {TLS: &tls.Config{RootCAs: roots}}, "https://10.0.0.1": {}, "http://10.0.0.1": {AllowHTTP: true},
		"https://169.254.169.254": {Allow: []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")}},
	} {
		s := assert.Value(New(&API{Name: "shop", BaseURL: base, Endpoints: []Endpoint{{Name: "a", Path: "/"}}}, &Options{Network: n}))(t)
		if base == server.URL {
			mustSend(t, s, get())
		}
		assert.OK(t, s.Close())
	}
}

func TestCloseEndsTheService(t *testing.T) {
	w := newTokenServer(t)
	s := w.service(t, nil)
	mustSend(t, s, get())
	for range 2 {
		assert.OK(t, s.Close())
	}
	plain := newTestService(t, &API{BaseURL: w.URL})
	_ = plain.Close()
	before := len(w.requests())
	for _, s := range []*Service{s, plain} {
		_, err := trySend(t, s, get())
		assert.Is(t, err, ErrClosed)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
		assert.Equal(t, len(w.requests()), before, "requests")
	}
}
