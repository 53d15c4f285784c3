package authtest_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestClientCredentials(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{Clients: []authtest.Client{
		{ID: "basic:1", Secret: "s3cret/&:%"},
		{ID: "post", Secret: "other", AuthMethod: "client_secret_post"},
		{ID: "public"},
	}})
	r := s.Protect(echo(), nil)
	a := &app{t: t, server: s, resource: r.URL}
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {r.URL}, "scope": {"read"}}
	basic := func(id, secret string) (int, map[string]any) {
		q, _ := http.NewRequest(http.MethodPost, s.URL(authtest.TokenEndpoint), strings.NewReader(form.Encode()))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		q.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		response, err := s.Client().Do(q)
		return a.read(response, err)
	}
	answer := a.granted(basic("basic:1", "s3cret/&:%"))
	assert.Equal(t, [...]any{answer["refresh_token"], answer["scope"]}, [...]any{nil, "read"}, "answer")
	a.wantCall(answer["access_token"].(string), 200)
	a.granted(a.token("grant_type", "client_credentials", "client_id", "post", "client_secret", "other"))
	a.want("invalid_client")(basic("basic:1", "wrong"))
	a.want("invalid_client")(basic("post", "other"))
	a.want("invalid_client")(a.token("grant_type", "client_credentials", "client_id", "basic:1", "client_secret", "s3cret/&:%"))
	a.want("invalid_client")(a.token("grant_type", "client_credentials", "client_id", "basic:1"))
	a.want("invalid_client")(a.token("grant_type", "client_credentials", "client_id", "post", "client_secret", "wrong"))
	a.want("unauthorized_client")(a.token("grant_type", "client_credentials", "client_id", "public"))
	grants := a.document(s.URL(authtest.MetadataEndpoint))["grant_types_supported"].([]any)
	assert.Equal(t, grants[len(grants)-1], "client_credentials", "grant types")
}

func TestPrivateKeyJWT(t *testing.T) {
	rsaKey := assert.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	assert.OK(t, err)
	ecKey := newKey(t)
	s := authtest.NewServer(t, &authtest.Options{Clients: []authtest.Client{
		{ID: "robot", Keys: []crypto.PublicKey{&ecKey.PublicKey, &rsaKey.PublicKey, edKey.Public()}},
	}})
	a := &app{t: t, server: s, resource: s.Protect(echo(), nil).URL}
	now := time.Now()
	claims := func(changes ...any) map[string]any {
		c := map[string]any{
			"iss": "robot", "sub": "robot", "aud": s.Issuer, "jti": rand.Text(),
			"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		}
		for i := 0; i < len(changes); i += 2 {
			c[changes[i].(string)] = changes[i+1]
		}
		return c
	}
	send := func(assertion string, more ...string) (int, map[string]any) {
		return a.token(append([]string{
			"grant_type", "client_credentials", "client_id", "", "client_assertion", assertion,
			"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
		}, more...)...)
	}
	for _, key := range []crypto.Signer{ecKey, rsaKey, edKey} {
		a.granted(send(jws(t, key, map[string]any{}, claims())))
	}
	a.granted(send(jws(t, ecKey, map[string]any{}, claims("aud", []string{s.URL(authtest.TokenEndpoint)})), "client_id", "robot"))
	for _, c := range []map[string]any{
		claims("iss", "other"), claims("sub", "other"), claims("aud", "https://other.example"), claims("jti", ""),
		claims("exp", now.Add(-time.Minute).Unix()), claims("exp", 0), claims("iat", now.Add(time.Hour).Unix()),
	} {
		a.want("invalid_client")(send(jws(t, ecKey, map[string]any{}, c)))
	}
	a.want("invalid_client")(send(jws(t, newKey(t), map[string]any{}, claims())))
	a.want("invalid_client")(send("a.b.c"))
	a.want("invalid_client")(send(jws(t, ecKey, map[string]any{}, claims()), "client_id", "other"))
	a.want("invalid_client")(send(jws(t, ecKey, map[string]any{}, claims()), "client_assertion_type", "other"))
	again := jws(t, ecKey, map[string]any{}, claims())
	send(again)
	a.want("invalid_client")(send(again))
}

func TestWorkload(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{Assertion: func(assertion string) (string, error) {
		if assertion != "good" {
			return "", errors.New("not vouched for")
		}
		return "workload-7", nil
	}})
	a := &app{t: t, server: s, resource: s.Protect(echo(), nil).URL}
	const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	answer := a.granted(a.token("grant_type", grantType, "client_id", "", "assertion", "good"))
	assert.Equal(t, [...]any{answer["refresh_token"], s.Families()[0].User}, [...]any{nil, "workload-7"}, "answer")
	a.wantCall(answer["access_token"].(string), 200)
	a.want("invalid_grant")(a.token("grant_type", grantType, "client_id", "", "assertion", "bad"))
	a.want("invalid_client")(a.token("grant_type", grantType, "client_id", "unknown", "assertion", "good"))
	a.want("invalid_client")(a.token("grant_type", "refresh_token", "client_id", ""))

	none := authtest.NewServer(t, nil)
	a.server = none
	a.want("unsupported_grant_type")(a.token("grant_type", grantType, "client_id", "", "assertion", "good"))
}

func TestEnterpriseManaged(t *testing.T) {
	idp := authtest.NewServer(t, &authtest.Options{
		Clients: []authtest.Client{{ID: "app", Secret: "one", AuthMethod: "client_secret_post"}},
	})
	s := authtest.NewServer(t, &authtest.Options{
		IdP:     idp,
		Clients: []authtest.Client{{ID: "app", Secret: "two", AuthMethod: "client_secret_post"}, {ID: "public"}},
	})
	r := s.Protect(echo(), nil)
	atIdP := &app{t: t, server: idp, id: "app", resource: r.URL}
	exchange := func(changes ...string) (int, map[string]any) {
		return atIdP.token(append([]string{
			"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange", "client_secret", "one",
			"requested_token_type", "urn:ietf:params:oauth:token-type:id-jag",
			"subject_token_type", "urn:ietf:params:oauth:token-type:id_token",
			"subject_token", idp.IDToken("app", "alice"), "audience", s.Issuer, "scope", "read",
		}, changes...)...)
	}
	jag := func() string {
		t.Helper()
		answer := atIdP.granted(exchange())
		assert.Equal(t, [...]any{answer["token_type"], answer["issued_token_type"]}, [...]any{"N_A", "urn:ietf:params:oauth:token-type:id-jag"}, "answer")
		return answer["access_token"].(string)
	}
	atIdP.want("invalid_request")(exchange("audience", ""))
	atIdP.want("invalid_request")(exchange("resource", ""))
	atIdP.want("invalid_request")(exchange("requested_token_type", "other"))
	atIdP.want("invalid_grant")(exchange("subject_token", idp.IDToken("another", "alice")))
	atIdP.want("invalid_grant")(exchange("subject_token", s.IDToken("app", "alice")))
	atIdP.want("invalid_grant")(exchange("subject_token", jag()))
	atIdP.want("invalid_client")(exchange("client_secret", "wrong"))

	a := &app{t: t, server: s, id: "app", resource: r.URL}
	send := func(assertion string, changes ...string) (int, map[string]any) {
		return a.token(append([]string{
			"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "client_secret", "two", "assertion", assertion,
		}, changes...)...)
	}
	used := jag()
	answer := a.granted(send(used))
	assert.Equal(t, [...]any{answer["scope"], answer["refresh_token"]}, [...]any{"read", nil}, "answer")
	a.wantCall(answer["access_token"].(string), 200)
	f := s.Families()[0]
	assert.Equal(t, [...]any{f.User, f.Resource}, [...]any{"alice", r.URL}, "family")
	a.want("invalid_grant")(send(used))
	a.want("invalid_grant")(send(idp.IDToken("app", "alice")))
	a.want("invalid_target")(send(jag(), "resource", "https://other.example"))
	a.want("invalid_client")(send(jag(), "client_id", "", "client_secret", ""))
	a.want("invalid_grant")(send(jag(), "client_id", "public", "client_secret", ""))
	forged := jws(t, newKey(t), map[string]any{"typ": "oauth-id-jag+jwt"}, map[string]any{
		"iss": idp.Issuer, "sub": "alice", "aud": s.Issuer, "client_id": "app", "resource": r.URL,
		"jti": "forged", "exp": time.Now().Add(time.Minute).Unix(),
	})
	a.want("invalid_grant")(send(forged))
	_, wrong := exchange("audience", "https://other.example")
	a.want("invalid_grant")(send(wrong["access_token"].(string)))
}

func TestDevice(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{
		Device:  time.Nanosecond,
		Clients: []authtest.Client{{ID: "tv"}, {ID: "other"}},
	})
	a := &app{t: t, server: s, id: "tv", resource: s.Protect(echo(), nil).URL}
	begin := func() (device, user string) {
		t.Helper()
		answer := a.granted(a.post(authtest.DeviceEndpoint, url.Values{"client_id": {"tv"}, "resource": {a.resource}, "scope": {"read"}}))
		assert.Equal(t, answer["verification_uri"], any(s.Issuer+"/device"), "page")
		return answer["device_code"].(string), answer["user_code"].(string)
	}
	poll := func(code string, changes ...string) (int, map[string]any) {
		return a.token(append([]string{"grant_type", "urn:ietf:params:oauth:grant-type:device_code", "device_code", code}, changes...)...)
	}
	code, user := begin()
	a.want("authorization_pending")(poll(code))
	assert.OK(t, s.ApproveDevice(user))
	assert.Fails(t, s.ApproveDevice(user), "codes are good twice")
	assert.Fails(t, s.ApproveDevice("XXXX-XXXX"), "codes are made up")
	a.want("invalid_grant")(poll(code, "client_id", "other"))
	a.want("invalid_target")(poll(code, "resource", "https://other.example"))
	answer := a.granted(poll(code))
	assert.True(t, answer["refresh_token"] != nil, "there is a refresh token")
	a.wantCall(answer["access_token"].(string), 200)
	a.want("invalid_grant")(poll(code))

	code, user = begin()
	assert.OK(t, s.DenyDevice(user))
	a.want("access_denied")(poll(code))
}

func TestDeviceTimes(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{
		Device:  time.Hour,
		Clients: []authtest.Client{{ID: "tv"}},
	})
	a := &app{t: t, server: s, id: "tv", resource: "https://mcp.example/mcp"}
	form := url.Values{"client_id": {"tv"}, "resource": {a.resource}}
	_, answer := a.post(authtest.DeviceEndpoint, form)
	assert.Equal(t, answer["interval"], any(3600.0), "interval")
	poll := []string{"grant_type", "urn:ietf:params:oauth:grant-type:device_code", "device_code", answer["device_code"].(string)}
	a.want("authorization_pending")(a.token(poll...))
	a.want("slow_down")(a.token(poll...))
}

func TestIDTokenOfLogin(t *testing.T) {
	s, a := newServer(t, nil)
	callback := assert.Value(s.ApproveAs(context.Background(), "alice", s.URL(authtest.AuthorizationEndpoint)+"?"+a.query("scope", "openid").Encode()))(t)
	u := assert.Value(url.Parse(callback))(t)
	_, answer := a.exchange(u.Query().Get("code"))
	parts := strings.Split(answer["id_token"].(string), ".")
	claims := assert.Value(base64.RawURLEncoding.DecodeString(parts[1]))(t)
	assert.Contains(t, string(claims), `"sub":"alice"`, "claims")
	assert.Contains(t, string(claims), a.id, "claims")
	assert.Equal(t, len(a.document(s.URL("jwks"))["keys"].([]any)), 1, "keys")
}
