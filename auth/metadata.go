package auth

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	// maxIssuers bounds the authorization servers of one server that are looked
	// at.
	maxIssuers = 8
	// maxList bounds the lists in a document that are kept, in bytes.
	maxList = 64 << 10
)

// list returns a member as a list of strings that can be kept with each session. One
// of another type, or one that is too long for that, says nothing.
func (d answer) list(name string) []string {
	if len(d[name]) > maxList {
		return nil
	}
	return d.anyList(name)
}

// anyList is list without its bound.
func (d answer) anyList(name string) []string {
	var values []string
	if json.Unmarshal(d[name], &values) != nil {
		return nil
	}
	return values
}

// flag returns a member as true or false. One of another type says nothing.
func (d answer) flag(name string) bool {
	var value bool
	return json.Unmarshal(d[name], &value) == nil && value
}

// A resourceMetadata is what a server publishes about itself (RFC 9728, section
// 2).
type resourceMetadata struct {
	resource     string
	issuers      []string
	scopes       []string
	dpopRequired bool
}

// newResourceMetadata decodes protected resource metadata. It returns nil if
// there is none in the document.
func newResourceMetadata(d answer) *resourceMetadata {
	if d["resource"] == nil && d["authorization_servers"] == nil {
		return nil
	}
	m := &resourceMetadata{
		scopes:       validScopes(d.list("scopes_supported")),
		dpopRequired: d.flag("dpop_bound_access_tokens_required"),
	}
	m.resource, _ = d.text("resource")
	for _, issuer := range d.anyList("authorization_servers") {
		if len(m.issuers) < maxIssuers && !slices.Contains(m.issuers, issuer) {
			m.issuers = append(m.issuers, issuer)
		}
	}
	return m
}

// newAuthority decodes the metadata of an authorization server (RFC 8414, section
// 2; OpenID Connect Discovery 1.0, section 3). Its issuer is known already.
func (f *Flow) newAuthority(d answer, issuer string) (*Authority, error) {
	a := &Authority{
		Issuer:            issuer,
		Scopes:            validScopes(d.list("scopes_supported")),
		AuthMethods:       d.list("token_endpoint_auth_methods_supported"),
		PKCE:              slices.Contains(d.list("code_challenge_methods_supported"), "S256") || isEntra(issuer) || isCognito(issuer),
		NamesIssuer:       d.flag("authorization_response_iss_parameter_supported"),
		MetadataDocuments: d.flag("client_id_metadata_document_supported"),
		DPoPAlgorithms:    d.list("dpop_signing_alg_values_supported"),
	}
	for _, e := range a.endpoints() {
		value, err := d.text(e.member)
		if err != nil {
			return nil, f.metadataError(issuer, e.member, "is not a string")
		}
		if value == "" {
			continue
		}
		if _, err := f.check(e.member, value); err != nil {
			return nil, err
		}
		*e.url = value
	}
	if a.AuthorizationEndpoint != "" {
		if _, err := f.browserURL("authorization_endpoint", a.AuthorizationEndpoint); err != nil {
			return nil, err
		}
	}
	if a.TokenEndpoint == "" {
		return nil, f.metadataError(issuer, "token_endpoint", "is missing")
	}
	return a, nil
}

// isEntra reports whether an issuer is Microsoft Entra, which supports PKCE with S256 and does
// not say so in its metadata, and refuses the resource parameter (AADSTS9010010).
func isEntra(issuer string) bool {
	u, err := url.Parse(issuer)
	hosts := []string{"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"}
	return err == nil && u.Scheme == "https" && slices.Contains(hosts, u.Host)
}

// isCognito reports whether an issuer is Amazon Cognito, which supports PKCE with S256 and does
// not say so in its metadata.
func isCognito(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && u.Scheme == "https" && strings.HasPrefix(u.Host, "cognito-idp.") && strings.HasSuffix(u.Host, ".amazonaws.com")
}

// checkGrant reports what an authorization server lacks for the Config's grant.
func (f *Flow) checkGrant(a *Authority) error {
	switch f.config.Grant {
	case AuthorizationCode:
		if a.AuthorizationEndpoint == "" {
			return f.metadataError(a.Issuer, "authorization_endpoint", "is missing: users cannot log in there by authorization code")
		}
		if !a.PKCE {
			return f.metadataError(a.Issuer, "code_challenge_methods_supported",
				"does not have S256: without PKCE, codes can be stolen; if it is known to support that nevertheless, give its endpoints as "+f.name("Authority"))
		}
	case DeviceCode:
		if a.DeviceEndpoint == "" {
			return f.metadataError(a.Issuer, "device_authorization_endpoint", "is missing: users cannot log in there by device code")
		}
	}
	return nil
}

func (f *Flow) metadataError(issuer, field, problem string) error {
	return &metadataError{server: f.config.Server, issuer: issuer, field: field, problem: problem}
}
