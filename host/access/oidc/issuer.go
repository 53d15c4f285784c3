package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	exact "github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// refreshEvery is how long keys are used before they are read again: a key that the issuer has
	// withdrawn is good no longer.
	refreshEvery = time.Hour
	// askWithin bounds how long an issuer may take, and a request may wait for it.
	askWithin = 5 * time.Second
	// askApart is how often an issuer is asked: tokens that no one signed make no more requests.
	askApart = 2 * time.Second
	// maxDocument bounds what an issuer answers, in bytes.
	maxDocument = 1 << 20
)

// An awayError reports an issuer that cannot be asked.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

// An issuer is an authorization server whose tokens are accepted.
type issuer struct {
	name   string
	ctx    context.Context // ends all requests
	client *http.Client
	known  atomic.Pointer[keySet]

	turn  chan struct{} // capacity 1: held while the issuer is asked, guards the following
	asked time.Time     // the last time
	err   error         // of that
}

// A keySet is what an issuer signs with. It does not change.
type keySet struct {
	address string
	keys    []jose.JSONWebKey
	until   time.Time // when to find out again where it is
}

// nbfLeeway is how much later than the clock of this machine that of an issuer may be.
const nbfLeeway = 5 * time.Minute

// errExpired reports a token whose time is over, or that has none.
var errExpired = errors.New("the token has expired")

// verify returns what a token says that the issuer has signed. The error is an [*awayError] if that
// cannot be found out now.
func (i *issuer) verify(ctx context.Context, raw string) (claims jwt.Claims, all map[string]json.RawMessage, err error) {
	token, err := parse(raw, jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512,
		jose.PS256, jose.PS384, jose.PS512, jose.EdDSA)
	if err != nil {
		return claims, nil, err
	}
	s, err := i.keySet(ctx)
	if err == nil && s.read(token, &claims, &all) != nil { // the key may be new
		s, err = i.ask(ctx, s)
	}
	if err != nil {
		return claims, nil, &awayError{err}
	}
	if err := s.read(token, &claims, &all); err != nil {
		return claims, nil, err
	}
	now := time.Now()
	switch {
	case claims.Issuer != i.name:
		err = errors.New("it is of another issuer")
	case claims.Expiry == nil || claims.Expiry.Time().Before(now):
		err = errExpired
	case claims.NotBefore != nil && now.Add(nbfLeeway).Before(claims.NotBefore.Time()):
		err = errors.New("it is not valid yet")
	}
	return claims, all, err
}

// read reads the claims of a token that one of the keys has signed.
func (s *keySet) read(token *jwt.JSONWebToken, claims *jwt.Claims, all *map[string]json.RawMessage) error {
	err := errors.New("no key of the issuer has its name")
	id := token.Headers[0].KeyID
	for _, key := range s.keys {
		if id == "" || key.KeyID == id {
			if err = token.Claims(key, claims, all); err == nil {
				return nil
			}
		}
	}
	return err
}

// keySet returns the keys as far as they are known, and else asks for them. Those that are known are good also if
// the issuer cannot be asked, or another request asks it.
func (i *issuer) keySet(ctx context.Context) (*keySet, error) {
	known := i.known.Load()
	if known == nil {
		return i.ask(ctx, nil)
	}
	if time.Now().Before(known.until) || len(i.turn) > 0 {
		return known, nil
	}
	if s, err := i.ask(ctx, known); err == nil {
		return s, nil
	}
	later := &keySet{known.address, known.keys, time.Now().Add(time.Minute)}
	i.known.CompareAndSwap(known, later)
	return later, nil
}

// ask asks for the keys, unless there are others than those that are known, or it was asked just now.
func (i *issuer) ask(ctx context.Context, known *keySet) (*keySet, error) {
	waiting, stop := context.WithTimeout(ctx, askWithin)
	defer stop()
	select {
	case i.turn <- struct{}{}:
	case <-waiting.Done():
		return nil, waiting.Err()
	}
	defer func() { <-i.turn }()
	if now := i.known.Load(); now != known || time.Since(i.asked) < askApart {
		return now, i.err
	}
	by, _ := waiting.Deadline()
	asking, cancel := context.WithDeadline(i.ctx, by) // it does not end with the request: others wait for it too
	defer cancel()
	s, err := i.readKeys(asking, known)
	if i.asked, i.err = time.Now(), err; err == nil {
		i.known.Store(s)
	}
	return s, err
}

// readKeys reads the keys. What is no key that this program knows is left out.
func (i *issuer) readKeys(ctx context.Context, known *keySet) (*keySet, error) {
	s := &keySet{until: time.Now().Add(refreshEvery)}
	var err error
	if known != nil && time.Now().Before(known.until) {
		s.address, s.until = known.address, known.until
	} else if s.address, err = i.discover(ctx); err != nil {
		return nil, err
	}
	var said struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.get(ctx, s.address, &said); err != nil {
		return nil, err
	}
	for _, text := range said.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil {
			s.keys = append(s.keys, key)
		}
	}
	return s, nil
}

// discover returns the address of the keys. It is in the metadata, which is at one of three places.
func (i *issuer) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(i.name)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	var failed []error
	for _, address := range []string{
		origin + path + "/.well-known/openid-configuration",
		origin + "/.well-known/oauth-authorization-server" + path, // RFC 8414
		origin + "/.well-known/openid-configuration" + path,
	} {
		if ctx.Err() != nil {
			break
		}
		var said struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		switch err := i.get(ctx, address, &said); {
		case err != nil:
			failed = append(failed, err)
		case said.Issuer != i.name:
			failed = append(failed, fmt.Errorf("%s: the metadata is that of another issuer, %.200q", address, said.Issuer))
		case !isSecure(said.Keys):
			failed = append(failed, fmt.Errorf("%s: the metadata has no keys at an address with https", address))
		default:
			return said.Keys, nil
		}
	}
	return "", errors.Join(failed...)
}

// get reads the document at an address.
func (i *issuer) get(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := i.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", address, resp.StatusCode)
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxDocument))
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	if exact.Unmarshal(data, into) != nil { // names have one case, and stand there once
		return fmt.Errorf("%s: it is not the JSON that is wanted", address)
	}
	return nil
}
