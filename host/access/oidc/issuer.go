package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// refreshEvery is how long metadata and keys are used before they are read again: a key that the issuer has
// withdrawn is good no longer.
const refreshEvery = time.Hour

// An awayError reports an issuer that cannot be asked.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

// An issuer is an authorization server whose tokens are accepted.
type issuer struct {
	name  string
	fetch *fetcher
	turn  chan struct{} // capacity 1: held while its metadata is read
	known atomic.Pointer[metadata]
}

// A metadata is what an issuer said of itself. It does not change.
type metadata struct {
	keys     *keySet
	verifier *oidc.IDTokenVerifier
	until    time.Time // when to read it again
}

func newIssuer(name string, f *fetcher) *issuer {
	return &issuer{name: name, fetch: f, turn: make(chan struct{}, 1)}
}

// verify returns what a token says that the issuer has signed. The error is an [*awayError] if that
// cannot be found out now.
func (i *issuer) verify(ctx context.Context, raw string) (*oidc.IDToken, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	m, err := i.metadata(ctx)
	if err != nil {
		return nil, &awayError{err}
	}
	var unsigned error
	token, err := m.verifier.Verify(context.WithValue(ctx, unsignedKey{}, &unsigned), raw)
	if err != nil && unsigned != nil {
		if ctx.Err() != nil {
			return nil, &awayError{ctx.Err()}
		}
		if failed := i.fetch.failure(m.keys.address); failed != nil {
			return nil, &awayError{failed}
		}
	}
	return token, err
}

// metadata returns the metadata as far as it is known, and else reads it.
func (i *issuer) metadata(ctx context.Context) (*metadata, error) {
	known := i.known.Load()
	switch {
	case known == nil:
		select {
		case i.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case time.Now().Before(known.until):
		return known, nil
	default:
		select {
		case i.turn <- struct{}{}:
		default: // another request reads it
			return known, nil
		}
	}
	defer func() { <-i.turn }()
	if now := i.known.Load(); now != known {
		return now, nil
	}
	m, err := i.discover(ctx)
	switch {
	case err == nil:
	case known == nil:
		return nil, err
	default:
		m = &metadata{known.keys, known.verifier, time.Now().Add(time.Minute)}
	}
	i.known.Store(m)
	return m, nil
}

// discover reads the metadata, which is at one of three places.
func (i *issuer) discover(ctx context.Context) (*metadata, error) {
	u, err := url.Parse(i.name)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	var failed []error
places:
	for _, address := range []string{
		origin + path + "/.well-known/openid-configuration",
		origin + "/.well-known/oauth-authorization-server" + path, // RFC 8414
		origin + "/.well-known/openid-configuration" + path,
	} {
		data, err := i.fetch.get(ctx, address)
		if err != nil {
			if failed = append(failed, err); ctx.Err() != nil {
				break places
			}
			continue
		}
		var said struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		switch err := json.Unmarshal(data, &said); {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: the metadata cannot be read", address))
		case said.Issuer != i.name:
			failed = append(failed, fmt.Errorf("%s: the metadata is that of another issuer, %.200q", address, said.Issuer))
		case !isSecure(said.Keys):
			failed = append(failed, fmt.Errorf("%s: the metadata has no keys at an address with https", address))
		default:
			keys := &keySet{said.Keys, oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), i.fetch.cached()), said.Keys)}
			return &metadata{keys, oidc.NewVerifier(i.name, keys, &oidc.Config{
				SkipClientIDCheck: true, // the audience is that of the view
				SupportedSigningAlgs: []string{
					oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512,
					oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
				},
			}), time.Now().Add(refreshEvery)}, nil
		}
	}
	return nil, errors.Join(failed...)
}

// A keySet says of a token whether what is wrong with it is its signature.
type keySet struct {
	address string
	*oidc.RemoteKeySet
}

type unsignedKey struct{}

// VerifySignature implements [oidc.KeySet].
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, jwt)
	if unsigned, ok := ctx.Value(unsignedKey{}).(*error); ok && err != nil {
		*unsigned = err
	}
	return payload, err
}
