package authtest

import (
	"crypto/rand"
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

// A DPoP says whether tokens are bound to keys (RFC 9449).
type DPoP int

const (
	// DPoPOff: they are not, and proofs are ignored.
	DPoPOff DPoP = iota
	// DPoPSupported: they are if the token request has a proof.
	DPoPSupported
	// DPoPRequired: token requests without a proof are refused.
	DPoPRequired
)

const (
	codeNonce = "use_dpop_nonce"
	codeProof = "invalid_dpop_proof"
)

// nonces are those of one server or resource: one that stays good.
type nonces struct {
	needed  bool
	current string
}

func newNonces(needed bool) nonces { return nonces{needed, "nonce-" + rand.Text()} }

// offer puts the nonce into an answer, if one is needed.
func (n *nonces) offer(w http.ResponseWriter) {
	if n.needed {
		w.Header().Set("DPoP-Nonce", n.current)
	}
}

// A proof is what a DPoP proof has to be about.
type proof struct {
	target string
	token  string // presented with it; empty at the token endpoint
	body   []byte // of a request to a resource
	nonces *nonces
}

// check checks the proof of a request (RFC 9449, section 4.3) and returns the
// thumbprint of its key.
func (p *proof) check(s *Server, r *http.Request) (thumb string, err error) {
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
	target, _, _ := strings.Cut(j.claims.Target, "?")
	switch {
	case j.claims.Method != r.Method:
		return "", refusef(codeProof, "htm is %q", j.claims.Method)
	case target != p.target:
		return "", refusef(codeProof, "htu is %q, want %q", j.claims.Target, p.target)
	case math.Abs(age.Seconds()) > proofWindow.Seconds():
		return "", refusef(codeProof, "iat is %s ago", age)
	case p.token != "" && j.claims.TokenHash != hash(p.token):
		return "", refusef(codeProof, "ath is not the hash of the token")
	}
	if err := p.checkDigest(r, j.claims.Digest); err != nil {
		return "", err
	}
	if p.nonces.needed && j.claims.Nonce != p.nonces.current {
		return "", refusef(codeNonce, "the proof needs the nonce of this answer")
	}
	if !s.firstSight("proof " + thumb + " " + j.claims.ID) {
		return "", refusef(codeProof, "jti is missing or was used before")
	}
	return thumb, nil
}

// checkDigest checks what the MCP extension adds for resources.
func (p *proof) checkDigest(r *http.Request, digest string) error {
	if p.token == "" {
		if digest != "" {
			return refusef(codeProof, "content_digest is for resources only")
		}
		return nil
	}
	if digest == "" && r.Method != http.MethodPost {
		return nil // such requests have no body
	}
	sum := sha256.Sum256(p.body)
	if want := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"; digest != want {
		return refusef(codeProof, "content_digest is not that of the body")
	}
	return nil
}

// bind returns the thumbprint that the tokens of a request are to be bound to;
// empty for none.
func (s *Server) bind(r *http.Request) (string, error) {
	if s.options.DPoP == DPoPOff || s.options.DPoP == DPoPSupported && r.Header.Get("DPoP") == "" {
		return "", nil
	}
	p := &proof{target: s.URL(TokenEndpoint), nonces: &s.nonces}
	return p.check(s, r)
}

// possesses checks that the client that presents a bound token has its key.
func (p *Resource) possesses(r *http.Request, text string, t *accessToken, body []byte) *challenge {
	about := &proof{target: p.URL, token: text, body: body, nonces: &p.nonces}
	thumb, err := about.check(p.server, r)
	if err == nil && thumb == t.family.thumb {
		return nil
	}
	var e *refusal
	if err == nil || !errors.As(err, &e) {
		e = &refusal{code: codeProof}
	}
	return &challenge{status: http.StatusUnauthorized, code: e.code, scopes: p.options.ChallengeScopes, possession: true}
}
