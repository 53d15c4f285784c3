package auth

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A posted request is one that a peer has received.
type posted struct {
	path   string
	header http.Header
	body   string
	form   url.Values
}

// A peer is an authorization server that answers as the test wants, and writes
// down what it was sent.
type peer struct {
	url string

	mu     sync.Mutex
	answer http.HandlerFunc
	got    []posted
}

func newPeer(t testing.TB, answer http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{answer: answer}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	p.url = srv.URL
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	p.mu.Lock()
	p.got = append(p.got, posted{r.URL.Path, r.Header.Clone(), string(body), form})
	answer := p.answer
	p.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	answer(w, r)
}

// says has it give another answer from now on.
func (p *peer) says(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// requests returns what it was sent so far.
func (p *peer) requests() []posted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]posted(nil), p.got...)
}

// only returns the one request that it was sent.
func (p *peer) only(t testing.TB) posted {
	t.Helper()
	got := p.requests()
	if len(got) != 1 {
		t.Fatalf("%d requests, want 1", len(got))
	}
	return got[0]
}

// authority returns what discovery would say of the peer.
func (p *peer) authority() *Authority {
	return &Authority{
		Resource:              "https://mcp.example.com/mcp",
		HasMetadata:           true,
		Issuer:                p.url,
		AuthorizationEndpoint: p.url + "/authorize",
		TokenEndpoint:         p.url + "/token",
		RegistrationEndpoint:  p.url + "/register",
		RevocationEndpoint:    p.url + "/revoke",
		PKCE:                  true,
	}
}

// public returns a client without secret, of the peer.
func (p *peer) public() *Client {
	return &Client{Issuer: p.url, ID: "client", AuthMethod: authNone, Source: Dynamic}
}

// flow returns the Flow of a server that is on this machine, like its peers.
func flow(t testing.TB, c Config) *Flow {
	t.Helper()
	c.Server = "files"
	if c.URL == "" {
		c.URL = "http://127.0.0.1:1/mcp"
	}
	f := assert.Value(New(&c))(t)
	t.Cleanup(f.Close)
	return f
}

// sends returns a handler that sends a JSON answer.
func sends(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// tokenAnswer is an answer to a token request that has all there is.
const tokenAnswer = `{"access_token":"AT","token_type":"Bearer","refresh_token":"RT2","expires_in":3600,"scope":"read write"}`

const redirectURI = "http://127.0.0.1:4711/callback"

// begin begins a login at a peer.
func begin(t testing.TB, f *Flow, a *Authority, c *Client) *Pending {
	t.Helper()
	return assert.Value(f.Begin(a, c, redirectURI, []string{"read"}))(t)
}

// callback returns the address at which a browser comes back.
func callback(p *Pending, members ...string) string {
	q := url.Values{"state": {p.State.Reveal()}}
	for i := 0; i+1 < len(members); i += 2 {
		q.Add(members[i], members[i+1])
	}
	return p.RedirectURI + "?" + q.Encode()
}

// grantOf returns a grant of a peer, for a client.
func grantOf(a *Authority, c *Client) *TokenSet {
	return &TokenSet{
		Authority: *a,
		Client:    *c,
		Token:     Token{Access: "AT", Type: "Bearer", Refresh: "RT", Obtained: time.Now()},
		Scopes:    []string{"read"},
		Requested: []string{"read"},
	}
}

// forms returns the ways in which a secret could be written.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	return []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		fmt.Sprintf("%x", secret),
	}
}

// keepsSecrets fails if an error shows one of the secrets, however it is printed.
func keepsSecrets(t testing.TB, err error, secrets ...string) {
	t.Helper()
	encoded, _ := json.Marshal(err)
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), string(encoded)} {
		for _, secret := range secrets {
			for _, form := range forms(secret) {
				assert.Lacks(t, text, form, "shows %q: %s", form, text)
			}
		}
	}
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
