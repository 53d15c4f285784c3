package authtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRegistration(t *testing.T) {
	s := authtest.NewServer(t, nil)
	a := &app{t: t, server: s}
	_, answer := a.register(`{"redirect_uris":["` + redirectURI + `"],"application_type":"native","client_name":"x"}`)
	assert.Equal(t, [...]any{answer["token_endpoint_auth_method"], answer["client_secret_expires_at"], answer["application_type"]},
		[...]any{"client_secret_basic", 0.0, "native"}, "answer")
	assert.True(t, answer["client_secret"] != nil, "there is a secret")
	for document, code := range map[string]string{
		`{}`:                               "invalid_redirect_uri",
		`{"redirect_uris":["relative"]}`:   "invalid_redirect_uri",
		`{"redirect_uris":["http://x#"]}`:  "",
		`{"redirect_uris":["http://x#y"]}`: "invalid_redirect_uri",
		`{"redirect_uris":"http://x"}`:     "invalid_client_metadata",
		`[]`:                               "invalid_client_metadata",
		`{"redirect_uris":["http://x"],"token_endpoint_auth_method":"magic"}`:           "invalid_client_metadata",
		`{"redirect_uris":["http://x"],"token_endpoint_auth_method":"private_key_jwt"}`: "invalid_client_metadata",
	} {
		status, answer := a.register(document)
		if code == "" {
			assert.Equal(t, status, 201, "%s", document)
		} else {
			a.want(code)(status, answer)
		}
	}
	assert.Contains(t, s.Requests()[0].Body, "client_name", "recorded")
	assert.Equal(t, s.Count(authtest.RegistrationEndpoint), 9, "recorded")
	none := authtest.NewServer(t, &authtest.Options{NoRegistration: true})
	a.server = none
	assert.Equal(t, a.document(none.URL(authtest.MetadataEndpoint))["registration_endpoint"], nil, "metadata")
	status, _ := a.register(`{}`)
	assert.Equal(t, status, 404, "status")
}

// A server may register a client otherwise than it asks for, and for a time.
func TestRegistrationOverruled(t *testing.T) {
	_, a := newServer(t, &authtest.Options{ClientAuth: "client_secret_post", SecretLifetime: time.Nanosecond})
	_, answer := a.register(`{"redirect_uris":["` + redirectURI + `"],"token_endpoint_auth_method":"none"}`)
	assert.Equal(t, answer["token_endpoint_auth_method"], "client_secret_post", "method")
	a.id = answer["client_id"].(string)
	a.want("invalid_client")(a.exchange(a.approve().Get("code"), "client_secret", answer["client_secret"].(string)))
}

func TestMetadataDocument(t *testing.T) {
	const id = "https://app.example/client.json"
	documents := map[string]string{
		id:                                `{"client_id":"` + id + `","client_name":"App","redirect_uris":["` + redirectURI + `"]}`,
		"https://app.example/other.json":  `{"client_id":"` + id + `","client_name":"App","redirect_uris":["` + redirectURI + `"]}`,
		"https://app.example/secret.json": `{"client_id":"https://app.example/secret.json","client_name":"App","redirect_uris":["` + redirectURI + `"],"token_endpoint_auth_method":"client_secret_basic"}`,
		"https://app.example/broken.json": `{`,
		"https://app.example/":            `{"client_id":"https://app.example/","client_name":"App","redirect_uris":["` + redirectURI + `"]}`,
		"http://app.example/client.json":  `{"client_id":"http://app.example/client.json","client_name":"App","redirect_uris":["` + redirectURI + `"]}`,
	}
	s, a := newServer(t, &authtest.Options{Documents: func(_ context.Context, clientID string) ([]byte, error) {
		if document, ok := documents[clientID]; ok {
			return []byte(document), nil
		}
		return nil, errors.New("there is no such document")
	}})
	assert.Equal(t, a.document(s.URL(authtest.MetadataEndpoint))["client_id_metadata_document_supported"], any(true), "metadata")
	for _, wrong := range []string{
		"https://app.example/other.json", "https://app.example/secret.json", "https://app.example/broken.json",
		"https://app.example/", "http://app.example/client.json", "https://app.example/none.json",
	} {
		a.id = wrong
		assert.Fails(t, errOf(s.Approve(t.Context(), s.URL(authtest.AuthorizationEndpoint)+"?"+a.query().Encode())), "%s", wrong)
	}
	a.id = id
	access, refresh := a.login()
	a.wantCall(access, 200)
	assert.True(t, refresh != "", "there is a refresh token")
	s.Purge() // knows the document still
	a.granted(a.refresh(refresh))
}
