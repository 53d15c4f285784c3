package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func signingKey(t testing.TB) *SigningKey {
	t.Helper()
	key := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return &SigningKey{Signer: key}
}

// TestClientAuthentication looks at each method on the wire, with characters that
// have to be encoded.
func TestClientAuthentication(t *testing.T) {
	const id, secret = "client:1 +ä%/", "se:cret &=+%ü~"
	for _, method := range []string{authNone, authBasic, authPost, authKey} {
		t.Run(method, func(t *testing.T) {
			as := newPeer(t, sends(200, tokenAnswer))
			c := &Client{Issuer: as.url, ID: id, Secret: secret, AuthMethod: method}
			assert.Value(flow(t, Config{Client: c, SigningKey: signingKey(t)}).Refresh(t.Context(), grantOf(as.authority(), c)))(t)
			r := as.only(t)
			header := r.header.Get("Authorization")
			assert.Equal(t, (header != ""), (method == authBasic), "Authorization")
			assert.Equal(t, (r.form.Get("client_id") == id), (method != authBasic), "client_id")
			if got := r.form.Get("client_secret"); (got == secret) != (method == authPost) || got != secret && got != "" {
				t.Errorf("client_secret %q", got)
			}
			if method == authBasic {
				pair, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(header, "Basic "))
				gotID, gotSecret, _ := strings.Cut(string(pair), ":")
				assert.OK(t, err, "%q", pair)
				assert.Equal(t, [...]any{gotID, gotSecret}, [...]any{"client%3A1+%2B%C3%A4%25%2F", "se%3Acret+%26%3D%2B%25%C3%BC~"}, "%q", pair)
			}
			assert.Equal(t, [...]any{strings.Count(r.form.Get("client_assertion"), ".") != 2 == (method == authKey), r.form.Has("client_assertion_type")},
				[...]any{false, (method == authKey)}, "client_assertion")
			if method != authBasic && method != authPost && strings.Contains(r.body+header, "cret") {
				t.Errorf("sends the secret: %s", r.body)
			}
		})
	}
}

func TestAuthMethod(t *testing.T) {
	key := signingKey(t)
	for _, c := range []struct {
		client Client
		key    *SigningKey
		listed string
		want   string
	}{
		{Client{}, nil, "", authNone},
		{Client{}, nil, "client_secret_basic", authNone},
		{Client{}, nil, "client_secret_basic none", authNone},
		{Client{Secret: "s"}, nil, "", authBasic},
		{Client{Secret: "s"}, nil, "client_secret_post", authPost},
		{Client{Secret: "s"}, nil, "client_secret_post client_secret_basic", authBasic},
		{Client{Secret: "s"}, nil, "none", authNone},
		{Client{Secret: "s"}, nil, "none client_secret_post", authPost},
		{Client{Secret: "s"}, nil, "tls_client_auth", authBasic},
		{Client{Secret: "s"}, key, "", authKey},
		{Client{Secret: "s"}, key, "client_secret_post", authPost},
		{Client{Secret: "s"}, key, "client_secret_post private_key_jwt", authKey},
		{Client{Secret: "s", Source: Dynamic}, key, "private_key_jwt client_secret_post", authPost},
		{Client{}, key, "private_key_jwt", authKey},
		{Client{Secret: "s", AuthMethod: authPost}, key, "private_key_jwt", authPost},
	} {
		a := &Authority{AuthMethods: strings.Fields(c.listed)}
		assert.Equal(t, authMethod(a, &c.client, c.key), c.want, "%+v, key %t, of %q", c.client, c.key != nil, c.listed)
	}
}

func TestClientThatCannotAuthenticate(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	for field, c := range map[string]*Client{
		"Client.Secret":     {Issuer: as.url, ID: "id", AuthMethod: authBasic, Source: Dynamic},
		"SigningKey":        {Issuer: as.url, ID: "id", AuthMethod: authKey, Source: MetadataDocument},
		"Client.AuthMethod": {Issuer: as.url, ID: "id", AuthMethod: "tls_client_auth", Source: Dynamic},
	} {
		_, err := flow(t, Config{}).Refresh(t.Context(), grantOf(as.authority(), c))
		assert.Equal(t, assert.As[*ConfigError](t, err, "%s", field).Field, field, "%s", field)
	}
	assert.Equal(t, len(as.requests()), 0)
}

// TestConfiguredClient follows a client of the Config through a login: what is
// stored has no secret, and each step takes it from the Config that there is then.
func TestConfiguredClient(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	given := &Client{Issuer: as.url, ID: "id", Secret: "old CANARY", RedirectURIs: []string{redirectURI}}
	f, a := flow(t, Config{Client: given}), as.authority()
	c := assert.Value(f.Register(t.Context(), a, redirectURI, nil))(t)
	p := begin(t, f, a, c)
	given.Secret = "changed behind its back"
	p.Client.Secret = "old CANARY" // as if it had been stored by somebody else
	g, err := f.Complete(t.Context(), p, callback(p, "code", "C"))
	assert.OK(t, err)
	// Also if somebody hands over the Config's own, with its secret.
	direct := begin(t, f, a, &Client{Issuer: as.url, ID: "id", Secret: "old CANARY"})
	for name, v := range map[string]interface{ MarshalBinary() ([]byte, error) }{"Pending": direct, "Grant": g} {
		data := assert.Value(v.MarshalBinary())(t)
		for _, form := range forms("old CANARY") {
			assert.Lacks(t, string(data), form, "%s is stored with the client's secret", name)
		}
	}
	assert.Equal(t, [...]any{c.Secret, g.Client.Source}, [...]any{Secret(""), Preregistered})
	rotated := flow(t, Config{Client: &Client{Issuer: as.url, ID: "id", Secret: "new"}})
	g, err = rotated.Refresh(t.Context(), g)
	assert.OK(t, err)
	assert.OK(t, rotated.Revoke(t.Context(), g))
	for i, r := range as.requests() {
		want := "new"
		if i == 0 {
			want = "old CANARY"
		}
		pair := base64.StdEncoding.EncodeToString([]byte("id:" + url.QueryEscape(want)))
		assert.Equal(t, r.header.Get("Authorization"), "Basic "+pair, "request %d: Authorization", i)
	}

	before := len(as.requests())
	for name, config := range map[string]Config{
		"no client":      {},
		"other client":   {Client: &Client{Issuer: as.url, ID: "other", Secret: "s"}},
		"another issuer": {Client: &Client{Issuer: "https://as.example.com", ID: "id", Secret: "s"}},
	} {
		f := flow(t, config)
		p := begin(t, f, a, c)
		_, err1 := f.Complete(t.Context(), p, callback(p, "code", "C"))
		_, err2 := f.Refresh(t.Context(), g)
		for i, err := range []error{err1, err2, f.Revoke(t.Context(), g)} {
			var gone *RegistrationError
			if name == "another issuer" && i < 2 {
				assert.Equal(t, assert.As[*IssuerMismatchError](t, err, "%s, step %d", name, i).Got, as.url, "%s, step %d", name, i)
			} else if !errors.As(err, &gone) || gone.Issuer != as.url {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
	}
	assert.Equal(t, len(as.requests()) <= before, true)
}

// TestClientOfAnotherIssuer has nothing sent as a client, or to one, that belongs
// to another authorization server.
func TestClientOfAnotherIssuer(t *testing.T) {
	as, evil := newPeer(t, sends(200, tokenAnswer)), newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{})
	c := &Client{Issuer: as.url, ID: "id", Secret: "s", Source: Dynamic}
	moved := grantOf(evil.authority(), c)
	_, err1 := f.Begin(evil.authority(), c, redirectURI, nil)
	_, err2 := f.Refresh(t.Context(), moved)
	p := begin(t, f, as.authority(), c)
	p.Authority = *evil.authority()
	_, err3 := f.Complete(t.Context(), p, callback(p, "code", "C"))
	for i, err := range []error{err1, err2, err3, f.Revoke(t.Context(), moved)} {
		mismatch := assert.As[*IssuerMismatchError](t, err, "step %d", i)
		assert.Equal(t, [...]any{mismatch.Want, mismatch.Got}, [...]any{evil.url, as.url}, "step %d", i)
	}
	assert.Equal(t, len(as.requests())+len(evil.requests()), 0)
}

// TestWorkloadHasNoClient: nothing tells the authorization server of a client.
func TestWorkloadHasNoClient(t *testing.T) {
	as := newPeer(t, sends(200, `{"access_token":"A","token_type":"Bearer"}`))
	f := flow(t, Config{Grant: WorkloadIdentity, Assertion: noAssertion})
	a := as.authority()
	c := assert.Value(f.Register(t.Context(), a, "", nil))(t)
	_, _, err := f.token(t.Context(), &tokenRequest{"token", a, c, url.Values{"assertion": {"JWT"}}, ""})
	assert.OK(t, err)
	r := as.only(t)
	assert.Equal(t, [...]any{fmt.Sprint(r.form), r.header.Get("Authorization")},
		[...]any{fmt.Sprint(url.Values{"assertion": {"JWT"}, "resource": {a.Resource}}), ""}, "sends")
}
