package authtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

// algorithms returns the JWS algorithms that are taken.
func algorithms() []string {
	return []string{"ES256", "RS256", "EdDSA"}
}

// A jwt is a JSON Web Token in its compact form (RFC 7519), taken apart.
type jwt struct {
	header    jwtHeader
	claims    jwtClaims
	signed    []byte
	signature []byte
}

type jwtHeader struct {
	Type      string          `json:"typ,omitempty"`
	Algorithm string          `json:"alg"`
	Key       json.RawMessage `json:"jwk,omitempty"`
}

// jwtClaims are the claims that some kind of token has.
type jwtClaims struct {
	Issuer   string   `json:"iss,omitempty"`
	Subject  string   `json:"sub,omitempty"`
	Audience audience `json:"aud,omitempty"`
	Expires  float64  `json:"exp,omitempty"` // seconds
	Issued   float64  `json:"iat,omitempty"` // seconds
	ID       string   `json:"jti,omitempty"`

	// Of an ID-JAG.
	ClientID string `json:"client_id,omitempty"`
	Resource string `json:"resource,omitempty"`
	Scope    string `json:"scope,omitempty"`

	// Of a DPoP proof.
	Method    string `json:"htm,omitempty"`
	Target    string `json:"htu,omitempty"`
	TokenHash string `json:"ath,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	Digest    string `json:"content_digest,omitempty"`
}

// An audience is a string or a list of strings.
type audience []string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *audience) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte{'['}) {
		return json.Unmarshal(data, (*[]string)(a))
	}
	*a = []string{""}
	return json.Unmarshal(data, &(*a)[0])
}

func parseJWT(text string) (*jwt, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errors.New("that is no JWT")
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil, errors.New("a part of the JWT is not base64url")
		}
	}
	j := &jwt{signed: []byte(parts[0] + "." + parts[1]), signature: raw[2]}
	if err := json.Unmarshal(raw[0], &j.header); err != nil {
		return nil, fmt.Errorf("header of the JWT: %w", err)
	}
	if err := json.Unmarshal(raw[1], &j.claims); err != nil {
		return nil, fmt.Errorf("claims of the JWT: %w", err)
	}
	return j, nil
}

// verify checks the signature.
func (j *jwt) verify(key crypto.PublicKey) error {
	ok := false
	sum := sha256.Sum256(j.signed)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() && j.header.Algorithm == "ES256" && len(j.signature) == 64 {
			r, s := new(big.Int).SetBytes(j.signature[:32]), new(big.Int).SetBytes(j.signature[32:])
			ok = ecdsa.Verify(key, sum[:], r, s)
		}
	case *rsa.PublicKey:
		ok = j.header.Algorithm == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], j.signature) == nil
	case ed25519.PublicKey:
		ok = j.header.Algorithm == "EdDSA" && ed25519.Verify(key, j.signed, j.signature)
	}
	if !ok {
		return fmt.Errorf("the signature is wrong, or %q does not fit the key", j.header.Algorithm)
	}
	return nil
}

// check checks that one of the keys has signed, and exp and iat.
func (j *jwt) check(keys ...crypto.PublicKey) error {
	now := float64(time.Now().UnixMilli()) / 1000
	switch {
	case !slices.ContainsFunc(keys, func(key crypto.PublicKey) bool { return j.verify(key) == nil }):
		return errors.New("none of the keys has signed the JWT")
	case j.claims.Expires == 0:
		return errors.New("exp is missing")
	case j.claims.Expires <= now:
		return errors.New("the JWT has expired")
	case j.claims.Issued > now+60:
		return errors.New("the JWT is of the future")
	}
	return nil
}

// sign makes a JWT with a P-256 key.
func sign(key *ecdsa.PrivateKey, kind string, claims any) (string, error) {
	header, err := json.Marshal(jwtHeader{Type: kind, Algorithm: "ES256"})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
