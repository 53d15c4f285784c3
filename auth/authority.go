package auth

// An Authority is what discovery has found out about a server: the resource that
// it is, and one authorization server that it trusts. It holds no secrets.
type Authority struct {
	// Resource is the server's identifier, for the resource parameter.
	Resource string `json:"resource"`
	// ResourceScopes are the scopes that the resource names for basic use.
	ResourceScopes []string `json:"resource_scopes,omitempty"`
	// DPoPRequired says that the resource takes only tokens bound to a key.
	DPoPRequired bool `json:"dpop_required,omitempty"`
	// HasMetadata says that the resource has protected resource metadata.
	// It is false after the fallback to revision 2025-03-26.
	HasMetadata bool `json:"has_metadata,omitempty"`

	// Issuer identifies the authorization server.
	Issuer string `json:"issuer"`
	// AuthorizationEndpoint is where the user logs in; empty if nowhere.
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	// TokenEndpoint issues tokens.
	TokenEndpoint string `json:"token_endpoint"`
	// RegistrationEndpoint registers clients; empty if there is none.
	RegistrationEndpoint string `json:"registration_endpoint,omitempty"`
	// RevocationEndpoint revokes tokens; empty if there is none.
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`
	// DeviceEndpoint begins logins by device code; empty if there is none.
	DeviceEndpoint string `json:"device_authorization_endpoint,omitempty"`
	// Scopes are those that the authorization server says it supports.
	Scopes []string `json:"scopes,omitempty"`
	// GrantTypes are those that it says it supports.
	GrantTypes []string `json:"grant_types,omitempty"`
	// AuthMethods are how clients can authenticate themselves at TokenEndpoint;
	// empty if it does not say.
	AuthMethods []string `json:"auth_methods,omitempty"`
	// PKCE says that it supports PKCE with S256.
	PKCE bool `json:"pkce,omitempty"`
	// NamesIssuer says that its responses name their issuer (RFC 9207).
	NamesIssuer bool `json:"names_issuer,omitempty"`
	// MetadataDocuments says that it takes Client ID Metadata Documents.
	MetadataDocuments bool `json:"metadata_documents,omitempty"`
	// DPoPAlgorithms are the algorithms it takes for DPoP; empty if it does not
	// support DPoP.
	DPoPAlgorithms []string `json:"dpop_algorithms,omitempty"`
}
