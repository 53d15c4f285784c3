package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestRegistrationOrder has several ways open at once: the first of the
// specification's order is taken.
func TestRegistrationOrder(t *testing.T) {
	//report: Logins | MoonshotAI/kimi-code#2606, nicobailon/pi-mcp-adapter#97, punkpeye/mcp-remote#72, NousResearch/hermes-agent#16653 | a login comes back to another port than the one that its client was registered with, and is refused | a client is used only with the redirect URIs that it was registered with; for another one there is another client
	const document = "https://agent.example.com/client.json"
	as := newPeer(t, sends(201, `{"client_id":"new"}`))
	known := &Client{Issuer: as.url, ID: "known", Source: Dynamic, AuthMethod: authNone, RedirectURIs: []string{redirectURI}}
	own := &Client{Issuer: as.url, ID: "own"}
	changed := func(change func(c *Client)) *Client {
		c := *known
		change(&c)
		return &c
	}
	for _, c := range []struct {
		name           string
		config         Config
		documents      bool
		known          *Client
		redirect, want string
		source         ClientSource
	}{
		{"all", Config{Client: own, Registration: Registration{ClientMetadataURL: document}}, true, known, redirectURI, "own", Preregistered},
		{"no own", Config{Registration: Registration{ClientMetadataURL: document}}, true, known, redirectURI, document, MetadataDocument},
		{"document not taken", Config{Registration: Registration{ClientMetadataURL: document}}, false, known, redirectURI, "known", Dynamic},
		{"no document", Config{}, true, known, redirectURI, "known", Dynamic},
		{"nothing known", Config{}, false, nil, redirectURI, "new", Dynamic},
		{"of another issuer", Config{}, false, changed(func(c *Client) { c.Issuer = "https://as.example.com" }), redirectURI, "new", Dynamic},
		{"issuer with a slash", Config{}, false, changed(func(c *Client) { c.Issuer += "/" }), redirectURI, "new", Dynamic},
		{"of the Config before", Config{}, false, changed(func(c *Client) { c.Source = Preregistered }), redirectURI, "new", Dynamic},
		{"a document before", Config{}, false, changed(func(c *Client) { c.Source = MetadataDocument }), redirectURI, "new", Dynamic},
		{"expired", Config{}, false, changed(func(c *Client) { c.SecretExpires = time.Now().Add(-time.Second) }), redirectURI, "new", Dynamic},
		{"not yet expired", Config{}, false, changed(func(c *Client) { c.SecretExpires = time.Now().Add(time.Hour) }), redirectURI, "known", Dynamic},
		{"another redirect URI", Config{}, false, known, "http://127.0.0.1:4712/callback", "new", Dynamic},
		{"no redirect URI", Config{Grant: DeviceCode}, false, known, "", "new", Dynamic},
		{"known for none", Config{Grant: DeviceCode}, false, changed(func(c *Client) { c.RedirectURIs = nil }), "", "known", Dynamic},
		{"known for none, now one", Config{}, false, changed(func(c *Client) { c.RedirectURIs = nil }), redirectURI, "new", Dynamic},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(as.requests())
			a := as.authority()
			a.MetadataDocuments = c.documents
			got := assert.Value(flow(t, c.config).Register(t.Context(), a, c.redirect, nil, c.known))(t)
			assert.Equal(t, [...]any{got.ID, got.Source, got.Issuer}, [...]any{c.want, c.source, as.url}, "got")
			assert.Equal(t, len(as.requests()) > before, c.want == "new", "registers")
		})
	}
}

// TestScopesOfARegistration: a client that may ask only for some scopes is replaced by one for all
// that are asked for, and where no scopes are taken there is one for any.
func TestScopesOfARegistration(t *testing.T) {
	refusal, status := "", 0
	as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if status != 0 && strings.Contains(string(body), `"scope"`) {
			sends(status, refusal)(w, r)
			return
		}
		sends(201, `{"client_id":"new"}`)(w, r)
	})
	for _, test := range []struct {
		known, asked []string
		status       int
		refusal      string
		sent         []string // scopes of the registrations
	}{
		{asked: []string{"read"}, sent: []string{"read"}},
		{known: []string{"read", "write"}, asked: []string{"write"}},
		{known: []string{"read"}, asked: []string{"write", "read"}, sent: []string{"read write"}},
		{known: []string{"read"}, asked: []string{"read", "offline_access"}}, // which was not registered
		{known: []string{}, asked: []string{"any"}},
		{asked: []string{"read"}, status: 400, refusal: `{"error":"invalid_client_metadata"}`, sent: []string{"read", ""}},
		{asked: []string{"read"}, status: 422, refusal: `{"detail":"extra fields not permitted"}`, sent: []string{"read", ""}},
		{asked: []string{"read"}, status: 403, refusal: `{"error":"insufficient_scope"}`, sent: []string{"read", ""}},
		{asked: nil, status: 400, refusal: `{"error":"invalid_client_metadata"}`, sent: []string{""}},
	} {
		before := len(as.requests())
		refusal, status = test.refusal, test.status
		var known *Client
		if test.known != nil {
			known = &Client{Issuer: as.url, ID: "known", Source: Dynamic, RedirectURIs: []string{redirectURI}, Scopes: test.known}
		}
		c := assert.Value(flow(t, Config{}).Register(t.Context(), as.authority(), redirectURI, test.asked, known))(t)
		var sent []string
		for _, r := range as.requests()[before:] {
			var body struct{ Scope string }
			assert.OK(t, json.Unmarshal([]byte(r.body), &body))
			sent = append(sent, body.Scope)
		}
		assert.Equal(t, fmt.Sprintf("%q", sent), fmt.Sprintf("%q", test.sent), "%v", test)
		if len(test.sent) > 0 {
			assert.Equal(t, strings.Join(c.Scopes, " "), test.sent[len(test.sent)-1], "%v", test)
		}
	}
}

func TestRegisterWithNothingOffered(t *testing.T) {
	as := newPeer(t, sends(500, ""))
	a := as.authority()
	a.RegistrationEndpoint = ""
	none := assert.As[*RegistrationError](t, errOf(flow(t, Config{}).Register(t.Context(), a, redirectURI, nil, nil)))
	assert.Equal(t, none.issuer+" "+none.server, as.url+" files")
	assert.Contains(t, none.Error(), "give it as Config.Client")
}

// TestConfiguredClientOfAnotherIssuer: the server names another authorization
// server than that which has registered the client. It is not asked, not even for
// another client.
func TestConfiguredClientOfAnotherIssuer(t *testing.T) {
	evil := newPeer(t, sends(201, `{"client_id":"new"}`))
	f := flow(t, Config{Client: &Client{Issuer: "https://as.example.com", ID: "own", Secret: "s"}})
	mismatch := assert.As[*IssuerMismatchError](t, assert.Err(f.Register(t.Context(), evil.authority(), redirectURI, nil, nil)))
	assert.Equal(t, [...]any{mismatch.what, mismatch.want, mismatch.got}, [...]any{"registered client", evil.url, "https://as.example.com"}, "mismatch")
	assert.Equal(t, len(evil.requests()), 0)
}

func TestMetadataDocumentWithKey(t *testing.T) {
	a := newPeer(t, sends(500, "")).authority()
	a.MetadataDocuments = true
	config := Config{Registration: Registration{ClientMetadataURL: "https://agent.example.com/client.json"}}
	for _, want := range []string{authNone, authKey} {
		assert.Equal(t, assert.Value(flow(t, config).Register(t.Context(), a, redirectURI, nil, nil))(t).AuthMethod, want)
		config.SigningKey = signingKey(t)
	}
}

func TestRegistrationRequest(t *testing.T) {
	const web = "https://agent.example.com/callback"
	for _, c := range []struct {
		name              string
		config            Config
		methods, redirect string
		dpop              bool
		want              string
	}{
		{"terminal", Config{}, "", redirectURI, false,
			`{"client_name":"MCP client","application_type":"native","redirect_uris":["http://127.0.0.1:4711/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`},
		{"web", Config{Registration: Registration{ClientName: "Agent <1>"}}, "client_secret_post client_secret_basic", web, false,
			`{"client_name":"Agent <1>","application_type":"web","redirect_uris":["https://agent.example.com/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"client_secret_post"}`},
		{"none listed last", Config{}, "client_secret_basic none", "http://localhost:1/cb", false,
			`{"client_name":"MCP client","application_type":"native","redirect_uris":["http://localhost:1/cb"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`},
		{"post only", Config{}, "private_key_jwt client_secret_post", "http://[::1]:1/cb", false,
			`{"client_name":"MCP client","application_type":"native","redirect_uris":["http://[::1]:1/cb"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"client_secret_post"}`},
		{"device", Config{Grant: DeviceCode, DPoP: true}, "", "", false,
			`{"client_name":"MCP client","application_type":"native","grant_types":["urn:ietf:params:oauth:grant-type:device_code","refresh_token"],"token_endpoint_auth_method":"none","dpop_bound_access_tokens":true}`},
		{"bound tokens", Config{}, "", redirectURI, true,
			`{"client_name":"MCP client","application_type":"native","redirect_uris":["http://127.0.0.1:4711/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none","dpop_bound_access_tokens":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			as := newPeer(t, sends(201, `{"client_id":"new"}`))
			a := as.authority()
			a.AuthMethods, a.DPoPRequired = strings.Fields(c.methods), c.dpop
			assert.Value(flow(t, c.config).Register(t.Context(), a, c.redirect, nil, nil))(t)
			r := as.only(t)
			assert.Equal(t, r.path+" "+r.header.Get("Content-Type"), "/register application/json")
			assert.Equal(t, r.header.Get("Authorization"), "")
			var got, want any
			assert.OK(t, errors.Join(json.Unmarshal([]byte(r.body), &got), json.Unmarshal([]byte(c.want), &want)))
			assert.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "sends")
		})
	}
}

func TestRegistrationAnswers(t *testing.T) {
	//report: Logins | punkpeye/mcp-remote#292, freelawproject/courtlistener#7225, GluuFederation/oxAuth#1790 | a registration is answered with status 200, with redirect URIs of the server, or with a secret and no end of it | what is needed is read, and the login keeps to its own redirect URI
	at := time.Date(2035, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		body, methods string
		want          Client
	}{
		{`{"client_id":"id"}`, "", Client{ID: "id", AuthMethod: authNone}},
		{`{"client_id":"id","client_secret":null,"token_endpoint_auth_method":null}`, "client_secret_basic", Client{ID: "id", AuthMethod: authNone}},
		{`{"client_id":"id","client_secret":"s"}`, "", Client{ID: "id", Secret: "s", AuthMethod: authBasic}},
		{`{"client_id":"id","client_secret":"s"}`, "client_secret_post", Client{ID: "id", Secret: "s", AuthMethod: authPost}},
		{`{"client_id":"id","client_secret":"s"}`, "none", Client{ID: "id", AuthMethod: authNone}},
		{`{"client_id":"id","client_secret":"s","token_endpoint_auth_method":"none"}`, "client_secret_post", Client{ID: "id", AuthMethod: authNone}},
		{`{"client_id":"id","client_secret":"s","token_endpoint_auth_method":"client_secret_post"}`, "none", Client{ID: "id", Secret: "s", AuthMethod: authPost}},
		{`{"client_id":"id","token_endpoint_auth_method":"client_secret_basic"}`, "client_secret_basic", Client{ID: "id", AuthMethod: authNone}},
		{`{"client_id":"id","client_secret":"s","client_secret_expires_at":0}`, "", Client{ID: "id", Secret: "s", AuthMethod: authBasic}},
		{`{"client_id":"id","client_secret":"s","client_secret_expires_at":2051319845}`, "", Client{ID: "id", Secret: "s", AuthMethod: authBasic, SecretExpires: at}},
		{`{"client_id":"id","client_secret":"s","client_secret_expires_at":"2051319845"}`, "", Client{ID: "id", Secret: "s", AuthMethod: authBasic, SecretExpires: at}},
		{`{"client_id":"id","client_secret":"s","client_secret_expires_at":1e300}`, "", Client{ID: "id", Secret: "s", AuthMethod: authBasic, SecretExpires: time.Unix(maxUnix, 0).UTC()}},
		{`{"client_id":"id","redirect_uris":["http://127.0.0.1/callback"],"error":""}`, "", Client{ID: "id", AuthMethod: authNone}},
	} {
		for _, status := range []int{201, 200} {
			as := newPeer(t, sends(status, c.body))
			a := as.authority()
			a.AuthMethods = strings.Fields(c.methods)
			got, err := flow(t, Config{}).Register(t.Context(), a, redirectURI, nil, nil)
			assert.OK(t, err, "%s", c.body)
			want := c.want
			want.Issuer, want.Source, want.RedirectURIs = as.url, Dynamic, []string{redirectURI}
			assert.True(t, reflect.DeepEqual(*got, want), "%s", c.body)
			// It can be stored, found again and used for the next login.
			assert.Equal(t, assert.Value(flow(t, Config{}).Register(t.Context(), a, redirectURI, nil, got))(t).ID, "id", "%s: again", c.body)
			as.only(t)
		}
	}
}

func TestRegistrationRefusals(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, code string
	}{
		{400, `{"error":"invalid_redirect_uri","error_uri":"CANARY"}`, "invalid_redirect_uri"},
		{400, `{"error":"invalid_client_metadata"}`, "invalid_client_metadata"},
		{200, `{"error":"invalid_client_metadata","client_id":"CANARY"}`, "invalid_client_metadata"},
		{403, `<html>CANARY`, ""},
		{500, ``, ""},
	} {
		as := newPeer(t, sends(c.status, c.body))
		_, err := flow(t, Config{}).Register(t.Context(), as.authority(), redirectURI, nil, nil)
		assert.Equal(t, assert.As[*RegistrationError](t, err, "%s", c.body).issuer, as.url, "%s", c.body)
		wantRefused(t, err, "registration", c.status, c.code, "%s", c.body)
		assert.Equal(t, strings.Count(err.Error(), "auth:"), 1, "times that it is said")
		assert.Contains(t, err.Error(), "give it as Config.Client", "the cure")
		keepsSecrets(t, err, "CANARY")
	}
	for _, body := range []string{
		`{}`, `[]`, ``, `{"client_id":""}`, `{"client_id":["CANARY"]}`, `{"client_id":"CANARY\n"}`, `{"client_id":"a","client_id":"CANARY"}`,
		`{"client_id":"a","client_secret":"CANARY\u0007"}`, `{"client_id":"a","client_secret":3}`,
		`{"client_id":"a","client_secret":"CANARY","token_endpoint_auth_method":"tls_client_auth"}`,
		`{"client_id":"a","client_secret":"CANARY","client_secret_expires_at":"never"}`,
		`{"client_id":"a","client_secret":"CANARY","client_secret_expires_at":"NaN"}`,
	} {
		as := newPeer(t, sends(201, body))
		_, err := flow(t, Config{}).Register(t.Context(), as.authority(), redirectURI, nil, nil)
		wantFailed(t, err, "registration", false, "%s", body)
		keepsSecrets(t, err, "CANARY")
	}
}

func TestRegistrationIsNotRedirected(t *testing.T) {
	//report: Logins | CALLE-AI/call-e-integrations#155 | a registration is answered with a redirect | it is not followed, as what is posted is for the address that was named; the error has the status
	canary := newPeer(t, sends(201, `{"client_id":"new"}`))
	a := newPeer(t, redirects(http.StatusTemporaryRedirect, canary.url)).authority()
	wantFailed(t, errOf(flow(t, Config{}).Register(t.Context(), a, redirectURI, nil, nil)), "registration", false)
	assert.Equal(t, len(canary.requests()), 0)
	a.RegistrationEndpoint = "http://192.168.0.1/register"
	err := errOf(flow(t, Config{}).Register(t.Context(), a, redirectURI, nil, nil))
	assert.Equal(t, assert.As[*URLError](t, err).Field, "registration_endpoint", "refused")
}

// TestRegisterSharesNothing: what Register returns can be changed.
func TestRegisterSharesNothing(t *testing.T) {
	f := flow(t, Config{Client: &Client{Issuer: "https://as.example.com", ID: "own", RedirectURIs: []string{redirectURI}}})
	a := &Authority{Issuer: "https://as.example.com"}
	assert.Value(f.Register(t.Context(), a, redirectURI, nil, nil))(t).RedirectURIs[0] = "changed"
	assert.Equal(t, fmt.Sprint(assert.Value(f.Register(t.Context(), a, redirectURI, nil, nil))(t).RedirectURIs), fmt.Sprint([]string{redirectURI}))
}

// TestClientAuthentication looks at each method on the wire, with characters that
// have to be encoded.
func TestClientAuthentication(t *testing.T) {
	const id, secret = "client:1 +ä%/", "se:cret &=+%ü~"
	for method, want := range map[string]url.Values{
		authNone:  {"client_id": {id}},
		authBasic: {},
		authPost:  {"client_id": {id}, "client_secret": {secret}},
		authKey:   {"client_id": {id}, "client_assertion": {"3 parts"}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}},
	} {
		t.Run(method, func(t *testing.T) {
			as := newPeer(t, sends(200, tokenAnswer))
			c := &Client{Issuer: as.url, ID: id, Secret: secret, AuthMethod: method}
			assert.Value(flow(t, Config{Client: c, SigningKey: signingKey(t)}).Refresh(t.Context(), grantOf(as.authority(), c)))(t)
			r := as.only(t)
			r.form.Del("grant_type")
			r.form.Del("refresh_token")
			r.form.Del("resource")
			if jwt := r.form.Get("client_assertion"); jwt != "" {
				r.form.Set("client_assertion", fmt.Sprint(strings.Count(jwt, ".")+1, " parts"))
			}
			header := ""
			if method == authBasic {
				wantBasic(t, r, "client%3A1+%2B%C3%A4%25%2F", "se%3Acret+%26%3D%2B%25%C3%BC~")
				header = r.header.Get("Authorization")
			}
			assert.Equal(t, r.header.Get("Authorization"), header, "Authorization")
			assert.Equal(t, r.form.Encode(), want.Encode(), "the client in the form")
		})
	}
}

func TestAuthMethod(t *testing.T) {
	key := signingKey(t)
	for _, c := range []struct {
		client       Client
		key          *SigningKey
		listed, want string
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
	c := assert.Value(f.Register(t.Context(), a, redirectURI, nil, nil))(t)
	p := begin(t, f, a, c)
	given.Secret = "changed behind its back"
	p.Client.Secret = "old CANARY" // as if another version had stored it
	g, err := f.Complete(t.Context(), p, callback(p, "code", "C"))
	assert.OK(t, err)
	// Also if a caller hands over the Config's own, with its secret.
	direct := begin(t, f, a, &Client{Issuer: as.url, ID: "id", Secret: "old CANARY"})
	for name, v := range map[string]interface{ MarshalBinary() ([]byte, error) }{"Pending": direct, "Grant": g} {
		data := assert.Value(v.MarshalBinary())(t)
		for _, form := range forms("old CANARY") {
			assert.Lacks(t, string(data), form, "%s is stored with the client's secret", name)
		}
	}
	assert.Equal(t, [...]any{c.Secret, g.Client.Source}, [...]any{Secret(""), Preregistered})
	rotated := flow(t, Config{Client: &Client{Issuer: as.url, ID: "id", Secret: "new"}})
	g = assert.Value(rotated.Refresh(t.Context(), g))(t)
	assert.OK(t, rotated.Revoke(t.Context(), g))
	for i, r := range as.requests() {
		wantBasic(t, r, "id", []string{"old+CANARY", "new", "new", "new"}[i])
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
			if name == "another issuer" && i < 2 {
				assert.Equal(t, assert.As[*IssuerMismatchError](t, err, "%s, step %d", name, i).got, as.url, "%s, step %d", name, i)
			} else {
				assert.Equal(t, assert.As[*RegistrationError](t, err, "%s, step %d", name, i).issuer, as.url, "%s, step %d", name, i)
			}
		}
	}
	assert.True(t, len(as.requests()) <= before)
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
		assert.Equal(t, [...]any{mismatch.want, mismatch.got}, [...]any{evil.url, as.url}, "step %d", i)
	}
	assert.Equal(t, len(as.requests())+len(evil.requests()), 0)
}

// TestWorkloadHasNoClient: nothing tells the authorization server of a client.
func TestWorkloadHasNoClient(t *testing.T) {
	as := newPeer(t, sends(200, `{"access_token":"A","token_type":"Bearer"}`))
	f := flow(t, Config{Grant: WorkloadIdentity, Assertion: noAssertion})
	a := as.authority()
	c := assert.Value(f.Register(t.Context(), a, "", nil, nil))(t)
	_, _, err := f.token(t.Context(), &clientPost{request: "token", authority: a, client: c, form: url.Values{"assertion": {"JWT"}}, key: ""})
	assert.OK(t, err)
	r := as.only(t)
	wantPosted(t, r, "/token", "assertion", "JWT", "resource", a.Resource)
	assert.Equal(t, r.header.Get("Authorization"), "")
}
