package authtest

import (
	"net/http"
	"slices"
)

func (s *Server) metadataPath() string {
	return "/.well-known/oauth-authorization-server" + s.options.Path
}

func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return &refusal{code: "invalid_request", status: http.StatusMethodNotAllowed, text: "metadata is read with GET"}
	}
	writeJSON(w, http.StatusOK, s.metadata())
	return nil
}

// grantTypes returns the grant types that are supported.
func (s *Server) grantTypes() []string {
	o := &s.options
	grants := []string{grantCode, grantRefresh, grantExchange}
	if slices.ContainsFunc(o.Clients, func(c Client) bool { return c.Secret != "" || c.Keys != nil }) {
		grants = append(grants, grantClient)
	}
	if o.IdP != nil || o.Assertion != nil {
		grants = append(grants, grantAssertion)
	}
	if o.Device != 0 {
		grants = append(grants, grantDevice)
	}
	return grants
}

func (s *Server) metadata() map[string]any {
	o := &s.options
	document := map[string]any{
		"issuer":                                s.Issuer,
		"authorization_endpoint":                s.URL(AuthorizationEndpoint),
		"token_endpoint":                        s.URL(TokenEndpoint),
		"revocation_endpoint":                   s.URL(RevocationEndpoint),
		"jwks_uri":                              s.URL(keysEndpoint),
		"response_types_supported":              []string{"code"},
		"grant_types_supported":                 s.grantTypes(),
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{authNone, authBasic, authPost, authJWT},
		"token_endpoint_auth_signing_alg_values_supported": algorithms(),
		"authorization_response_iss_parameter_supported":   true,
	}
	if !o.NoRegistration {
		document["registration_endpoint"] = s.URL(RegistrationEndpoint)
	}
	if o.Device != 0 {
		document["device_authorization_endpoint"] = s.URL(DeviceEndpoint)
	}
	if o.DPoP {
		document["dpop_signing_alg_values_supported"] = algorithms()
	}
	if o.IdP != nil {
		document["authorization_grant_profiles_supported"] = []string{"urn:ietf:params:oauth:grant-profile:id-jag"}
	}
	if o.Scopes != nil {
		document["scopes_supported"] = o.Scopes
	}
	if o.Documents != nil {
		document["client_id_metadata_document_supported"] = true
	}
	if o.Metadata != nil {
		o.Metadata(document)
	}
	return document
}
