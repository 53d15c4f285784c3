package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
)

// serveKeys answers with the key of ID tokens.
func (s *Server) serveKeys(w http.ResponseWriter) error {
	point, err := s.key.PublicKey.Bytes()
	if err != nil {
		return err
	}
	encode := base64.RawURLEncoding.EncodeToString
	writeJSON(w, http.StatusOK, map[string]any{"keys": []any{
		map[string]string{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "x": encode(point[1:33]), "y": encode(point[33:])},
	}})
	return nil
}

// parseJWKS reads the keys of a JWKS document.
func parseJWKS(data json.RawMessage) ([]crypto.PublicKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("there are no keys")
	}
	keys := make([]crypto.PublicKey, len(set.Keys))
	for i, data := range set.Keys {
		key, _, err := parseJWK(data)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

// parseJWK returns a public key of P-256 (RFC 7517) and its thumbprint (RFC 7638).
func parseJWK(data json.RawMessage) (crypto.PublicKey, string, error) {
	var k struct { // in the order of their names, for the thumbprint
		Curve string `json:"crv"`
		Type  string `json:"kty"`
		X     string `json:"x"`
		Y     string `json:"y"`
		D     any    `json:"d,omitempty"`
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, "", err
	}
	if k.D != nil || k.Type != "EC" || k.Curve != "P-256" {
		return nil, "", errors.New("only public keys of P-256 are supported")
	}
	x, err1 := base64.RawURLEncoding.DecodeString(k.X)
	y, err2 := base64.RawURLEncoding.DecodeString(k.Y)
	if err := errors.Join(err1, err2); err != nil {
		return nil, "", err
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(k)
	return key, hash(string(text)), err
}

// hash returns the SHA-256 of a text in base64url.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
