package auth

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// dpopAlgorithm is the algorithm of all proofs. Every authorization server with
// DPoP is known to take it.
const dpopAlgorithm = "ES256"

// noProof returns the error that no proof of possession could be made for a request. Nothing
// was sent.
func (f *Flow) noProof(err error) error { return noProof(f.config.Server, err) }

func noProof(server string, err error) error {
	return fmt.Errorf("auth: server %q: no proof of possession: %w", server, err)
}

// newDPoPKey returns a new private key for proofs, PKCS #8 in base64.
func newDPoPKey() (Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	return Secret(base64.StdEncoding.EncodeToString(der)), nil
}

func parseDPoPKey(text Secret) (*ecdsa.PrivateKey, error) {
	der, err := base64.StdEncoding.DecodeString(text.Reveal())
	if err != nil {
		return nil, errors.New("the key is not in base64")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("the key is no P-256 key in PKCS #8")
	}
	return key, nil
}

// A jwk is the public half of a key for proofs. Its members are those of a
// thumbprint, in their order (RFC 7638, section 3.2).
type jwk struct {
	Curve string `json:"crv"`
	Type  string `json:"kty"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

func jwkOf(key *ecdsa.PublicKey) (jwk, error) {
	point, err := key.Bytes() // 4, x, y
	if err != nil {
		return jwk{}, err
	}
	half := (len(point) - 1) / 2
	return jwk{
		Curve: "P-256",
		Type:  "EC",
		X:     base64.RawURLEncoding.EncodeToString(point[1 : 1+half]),
		Y:     base64.RawURLEncoding.EncodeToString(point[1+half:]),
	}, nil
}

func (k jwk) thumbprint() (string, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// thumbprint returns the thumbprint of a key made by newDPoPKey, for the parameter
// dpop_jkt (RFC 9449, section 10).
func thumbprint(text Secret) (string, error) {
	key, err := parseDPoPKey(text)
	if err != nil {
		return "", err
	}
	public, err := jwkOf(&key.PublicKey)
	if err != nil {
		return "", err
	}
	return public.thumbprint()
}

// proofClaims are the claims of a proof (RFC 9449, section 4.2).
type proofClaims struct {
	ID     string `json:"jti"`
	Method string `json:"htm"`
	Target string `json:"htu"`
	Issued int64  `json:"iat"`
	// TokenHash is set in proofs for resources.
	TokenHash string `json:"ath,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	// ContentDigest is set in proofs for MCP servers: all messages go to one
	// address by one method, and without it a proof would be good for another
	// one.
	ContentDigest string `json:"content_digest,omitempty"`
}

// prove signs a proof, filling in what is the same in all of them.
func prove(text Secret, target string, c proofClaims, now time.Time) (string, error) {
	if err := checkNonce(c.Nonce); err != nil {
		return "", err
	}
	key, err := parseDPoPKey(text)
	if err != nil {
		return "", err
	}
	public, err := jwkOf(&key.PublicKey)
	if err != nil {
		return "", err
	}
	if c.Target, err = proofTarget(target); err != nil {
		return "", err
	}
	c.ID, c.Issued = rand.Text(), now.Unix()
	a, err := algorithmOf(key) // ES256
	if err != nil {
		return "", err
	}
	return a.sign(key, map[string]any{"typ": "dpop+jwt", "jwk": public}, c)
}

// maxNonce bounds nonces, which are to be sent back with each request.
const maxNonce = 1 << 10

// checkNonce refuses what is no nonce (RFC 9449, section 8.1).
func checkNonce(nonce string) error {
	if len(nonce) > maxNonce {
		return fmt.Errorf("the nonce is longer than %d bytes", maxNonce)
	}
	if nonce != "" && !validScope(nonce) { // of the same characters
		return errors.New("the nonce has characters that nonces cannot have")
	}
	return nil
}

// proofTarget returns an address as proofs name it: without query and fragment,
// and as servers write their own, since many compare the text.
func proofTarget(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", errors.New("the request is not for an http or https address")
	}
	return strings.TrimSuffix(resourceOrigin(u), ":") + cmp.Or(u.EscapedPath(), "/"), nil
}

// tokenHash returns the hash of an access token, the claim ath.
func tokenHash(access Secret) string {
	sum := sha256.Sum256([]byte(access.Reveal()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// contentDigest returns the digest of a body as the MCP extension for DPoP wants
// it (RFC 9530, section 2).
func contentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// Authorize adds to header what a request needs to be let in with the token set: the
// token, and a proof of possession if the token is bound to a key (RFC 9449, and
// the DPoP extension of MCP). method and target are the request's; body is its
// body, nil if it has none; nonce is the newest DPoP-Nonce that the server has
// given, or empty; what cannot be a nonce is left out, so that the server is asked
// and can give another. A proof is good for one request only: authorize each again.
//
// With an error, no proof could be made, and header is as it was.
func (g *TokenSet) Authorize(header http.Header, method, target string, body []byte, nonce string) error {
	fail := func(err error) error { return noProof(hostOf(g.Authority.Resource), err) }
	switch {
	case header == nil:
		return fail(errors.New("the request has no header"))
	case g.Token.Access == "":
		return fail(errors.New("the token set has no token"))
	case !strings.EqualFold(g.Token.Type, "DPoP"):
		header.Del("DPoP")
		header.Set("Authorization", "Bearer "+g.Token.Access.Reveal())
		return nil
	}
	if checkNonce(nonce) != nil {
		nonce = ""
	}
	text, err := prove(g.DPoPKey, target, proofClaims{
		Method:        method,
		TokenHash:     tokenHash(g.Token.Access),
		Nonce:         nonce,
		ContentDigest: contentDigest(body),
	}, time.Now())
	if err != nil {
		return fail(err)
	}
	header.Set("DPoP", text)
	header.Set("Authorization", "DPoP "+g.Token.Access.Reveal())
	return nil
}
