package rest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/lru"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

// failureTTL is how long a failure stands for those who come after it. Tests have a longer
// time.
var failureTTL = 2 * time.Second

const (
	// maxTokens is how many tokens, and failures to get one, a Service keeps. The
	// one that was not used for the longest time goes first.
	maxTokens = 1000

	maxLifetime = 24 * time.Hour
	maxMargin   = 30 * time.Second
)

// A token is one that was fetched, or why there is none.
type token struct {
	text     string
	err      error
	until    time.Time // when it is not used any more
	rejected atomic.Bool
}

// tokens are those that a Service has fetched, by user and credentials. One call at a time looks
// at those of a key or fetches another one; the others wait for that.
type tokens struct {
	turns keylock.Set

	mu     sync.Mutex // guards the following
	closed bool
	kept   lru.Map[tokenKey, *token]
}

// get returns the token of a key: the one that is kept, or a new one. It waits no longer
// than ctx. The end of a fetch with the context of its caller is no failure for others.
func (t *tokens) get(ctx context.Context, key tokenKey, fetch func() (*token, error)) (*token, error) {
	unlock, err := t.turns.Lock(ctx, string(key[:]))
	if err != nil {
		return nil, err
	}
	defer unlock()
	t.mu.Lock()
	k, _ := t.kept.Get(key)
	closed := t.closed
	t.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case k != nil && time.Now().Before(k.until) && !k.rejected.Load():
		return k, k.err
	}
	k, err = fetch()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		k = &token{err: err, until: time.Now().Add(failureTTL)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.kept.Put(key, k)
	}
	for key := range t.kept.Oldest() {
		if t.kept.Len() <= maxTokens {
			break
		}
		t.kept.Delete(key)
	}
	return k, err
}

// close forgets all tokens.
func (t *tokens) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.kept = lru.Map[tokenKey, *token]{}
}

// A tokenKey identifies the user and the credentials of a fetched token.
type tokenKey [sha256.Size]byte

func tokenKeyOf(ctx context.Context, r *guardhttp.Request) tokenKey {
	user, known := onbehalf.User(ctx)
	return sha256.Sum256(fmt.Appendf(nil, "%t %q %q %q %q", known, user, r.URL, r.Header.Get("Authorization"), r.Body))
}

// token makes the keyring hold the token of the user, and returns it: one that is
// kept, or a new one. It returns nil if the API wants none.
func (s *Service) token(ctx context.Context, k *keyring) (*token, error) {
	if s.login.Type != FetchToken {
		return nil, nil
	}
	r, err := s.login.Token.request(ctx, k, &s.login.source)
	if err != nil {
		return nil, err
	}
	t, err := s.tokens.get(ctx, tokenKeyOf(ctx, r), func() (*token, error) { return s.fetch(ctx, r) })
	if err != nil {
		return nil, err
	}
	k.token = t.text
	return t, nil
}
