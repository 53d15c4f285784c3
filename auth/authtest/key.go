package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// A jwk is a public key as JSON (RFC 7517).
type jwk struct {
	Type  string `json:"kty"`
	ID    string `json:"kid,omitempty"`
	Use   string `json:"use,omitempty"`
	Curve string `json:"crv,omitempty"`
	X     string `json:"x,omitempty"`
	Y     string `json:"y,omitempty"`
	N     string `json:"n,omitempty"`
	E     string `json:"e,omitempty"`
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

// parseJWK returns a public key and its thumbprint (RFC 7638).
func parseJWK(data json.RawMessage) (crypto.PublicKey, string, error) {
	var members map[string]json.RawMessage
	var k jwk
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, "", err
	}
	for _, private := range []string{"d", "p", "q", "k"} {
		if members[private] != nil {
			return nil, "", errors.New("the key is not public")
		}
	}
	key, err := k.public()
	if err != nil {
		return nil, "", err
	}
	return key, k.thumbprint(), nil
}

func (k *jwk) public() (crypto.PublicKey, error) {
	x, err1 := base64.RawURLEncoding.DecodeString(k.X)
	y, err2 := base64.RawURLEncoding.DecodeString(k.Y)
	n, err3 := base64.RawURLEncoding.DecodeString(k.N)
	e, err4 := base64.RawURLEncoding.DecodeString(k.E)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	switch k.Type {
	case "EC":
		curve := curveOf(k.Curve)
		if curve == nil {
			return nil, fmt.Errorf("curve %q is not supported", k.Curve)
		}
		return ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, x, y))
	case "OKP":
		if k.Curve != "Ed25519" || len(x) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("curve %q is not supported, or its key is broken", k.Curve)
		}
		return ed25519.PublicKey(x), nil
	case "RSA":
		exponent := new(big.Int).SetBytes(e)
		if len(n) < 256 || !exponent.IsInt64() {
			return nil, errors.New("an RSA key with less than 2048 bits or a broken exponent")
		}
		return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, nil
	}
	return nil, fmt.Errorf("key type %q is not supported", k.Type)
}

func curveOf(name string) elliptic.Curve {
	switch name {
	case "P-256":
		return elliptic.P256()
	case "P-384":
		return elliptic.P384()
	case "P-521":
		return elliptic.P521()
	}
	return nil
}

func (k *jwk) thumbprint() string {
	var members any
	switch k.Type { // in the order of their names
	case "EC":
		members = struct {
			Curve string `json:"crv"`
			Type  string `json:"kty"`
			X     string `json:"x"`
			Y     string `json:"y"`
		}{k.Curve, k.Type, k.X, k.Y}
	case "OKP":
		members = struct {
			Curve string `json:"crv"`
			Type  string `json:"kty"`
			X     string `json:"x"`
		}{k.Curve, k.Type, k.X}
	default:
		members = struct {
			E    string `json:"e"`
			Type string `json:"kty"`
			N    string `json:"n"`
		}{k.E, k.Type, k.N}
	}
	data, err := json.Marshal(members)
	if err != nil {
		return ""
	}
	return hash(string(data))
}

// hash returns the SHA-256 of a text in base64url.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// publicJWK returns the JWK of a P-256 key.
func publicJWK(key *ecdsa.PublicKey) (*jwk, error) {
	point, err := key.Bytes()
	if err != nil {
		return nil, err
	}
	half := len(point) / 2
	return &jwk{
		Type:  "EC",
		Use:   "sig",
		Curve: "P-256",
		X:     base64.RawURLEncoding.EncodeToString(point[1 : 1+half]),
		Y:     base64.RawURLEncoding.EncodeToString(point[1+half:]),
	}, nil
}
