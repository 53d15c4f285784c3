package authtest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// proofWindow is how far the clocks of clients may differ from ours.
const proofWindow = 5 * time.Minute

const (
	codeNonce = "use_dpop_nonce"
	codeProof = "invalid_dpop_proof"
)

// offerNonce puts the nonce of the site into an answer, if proofs need one.
func (s *site) offerNonce(w http.ResponseWriter) {
	if s.nonce != "" {
		w.Header().Set("DPoP-Nonce", s.nonce)
	}
}

// prove checks the proof of a request to a site (RFC 9449, section 4.3), which is at an address,
// and returns the thumbprint of its key. token is what is presented with it at a resource.
func (s *Server) prove(r *http.Request, at *site, target, token string, body []byte) (thumb string, err error) {
	fields := r.Header.Values("DPoP")
	if len(fields) != 1 {
		return "", refusef(codeProof, "want one field DPoP, there are %d", len(fields))
	}
	j, err := parseJWT(fields[0])
	if err != nil {
		return "", refusef(codeProof, "%v", err)
	}
	if j.header.Type != "dpop+jwt" || !slices.Contains(algorithms(), j.header.Algorithm) {
		return "", refusef(codeProof, "typ %q or alg %q is wrong", j.header.Type, j.header.Algorithm)
	}
	key, thumb, err := parseJWK(j.header.Key)
	if err != nil {
		return "", refusef(codeProof, "jwk: %v", err)
	}
	if err := j.verify(key); err != nil {
		return "", refusef(codeProof, "%v", err)
	}
	age := time.Since(time.UnixMilli(int64(j.claims.Issued * 1000)))
	htu, _, _ := strings.Cut(j.claims.Target, "?")
	switch {
	case j.claims.Method != r.Method:
		return "", refusef(codeProof, "htm is %q", j.claims.Method)
	case htu != target:
		return "", refusef(codeProof, "htu is %q, want %q", j.claims.Target, target)
	case math.Abs(age.Seconds()) > proofWindow.Seconds():
		return "", refusef(codeProof, "iat is %s ago", age)
	case token != "" && j.claims.TokenHash != hash(token):
		return "", refusef(codeProof, "ath is not the hash of the token")
	}
	// What the MCP extension adds for resources. Requests other than POST have no body.
	sum, digest := sha256.Sum256(body), j.claims.Digest
	want := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if token == "" {
		want = ""
	}
	if digest != want && (digest != "" || r.Method == http.MethodPost) {
		return "", refusef(codeProof, "content_digest is not that of the body, or is not for a resource")
	}
	if at.nonce != "" && j.claims.Nonce != at.nonce {
		return "", refusef(codeNonce, "the proof needs the nonce of this answer")
	}
	if !s.firstSight("proof " + thumb + " " + j.claims.ID) {
		return "", refusef(codeProof, "jti is missing or was used before")
	}
	return thumb, nil
}

// bind returns the thumbprint that the tokens of a request are to be bound to;
// empty for none.
func (s *Server) bind(r *http.Request) (string, error) {
	if !s.options.DPoP || r.Header.Get("DPoP") == "" {
		return "", nil
	}
	return s.prove(r, &s.site, s.URL(TokenEndpoint), "", nil)
}

// possesses checks that the client that presents a bound token has its key.
func (p *Resource) possesses(r *http.Request, text string, t *accessToken, body []byte) *challenge {
	thumb, err := p.server.prove(r, &p.site, p.URL, text, body)
	if err == nil && thumb == t.family.thumb {
		return nil
	}
	var e *refusal
	if err == nil || !errors.As(err, &e) {
		e = &refusal{code: codeProof}
	}
	return &challenge{status: http.StatusUnauthorized, code: e.code, scopes: p.options.ChallengeScopes, possession: true}
}
