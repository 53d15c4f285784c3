package rest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A bench of tokens without a network: fetches take a second.
type tokenStore struct {
	tokens
	mu       sync.Mutex
	fetched  int
	lifetime time.Duration
	err      error
}

func (b *tokenStore) fetch(ctx context.Context) (*token, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fetched++
	if b.err != nil {
		return nil, b.err
	}
	return &token{text: strconv.Itoa(b.fetched), until: time.Now().Add(b.lifetime)}, nil
}

func (b *tokenStore) ask(ctx context.Context, key byte) (string, error) {
	t, err := b.get(ctx, tokenKey{key}, func() (*token, error) { return b.fetch(ctx) })
	if err != nil {
		return "", err
	}
	return t.text, nil
}

func (b *tokenStore) want(t *testing.T, key byte, text string) {
	t.Helper()
	got, err := b.ask(t.Context(), key)
	assert.Equal(t, got, text, "the token (%v)", err)
}

func TestTokensAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &tokenStore{lifetime: time.Minute}
		b.want(t, 1, "1")
		time.Sleep(59 * time.Second)
		b.want(t, 1, "1")
		time.Sleep(time.Second)
		b.want(t, 1, "2")
		b.close()
	})
}

func TestFailuresAreRememberedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &tokenStore{lifetime: time.Minute, err: errors.New("down")}
		for range 3 {
			assert.Is(t, assert.Err(b.ask(t.Context(), 1)), b.err)
		}
		assert.Equal(t, b.fetched, 1, "fetches")
		b.err = nil
		time.Sleep(failureTTL)
		b.want(t, 1, "2")
		b.close()
	})
}

// A caller that gives up ends its own fetch, which is no failure for those that wait.
func TestThoseWhoWaitFetchWhenOneGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &tokenStore{lifetime: time.Minute}
		first, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			began := time.Now()
			assert.Is(t, assert.Err(b.ask(first, 1)), context.DeadlineExceeded)
			assert.Equal(t, time.Since(began), 100*time.Millisecond, "an error after")
		})
		synctest.Wait()
		for range 3 {
			callers.Go(func() { b.want(t, 1, "1") })
		}
		callers.Go(func() { assert.Is(t, assert.Err(b.ask(first, 1)), context.DeadlineExceeded) })
		callers.Wait()
		assert.Equal(t, b.fetched, 1, "fetches")
		b.close()
	})
}

func TestClosedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &tokenStore{lifetime: time.Minute}
		b.want(t, 1, "1")
		b.close()
		assert.Is(t, assert.Err(b.ask(t.Context(), 1)), ErrClosed)
		b.close()
	})
}

func TestTokensAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &tokenStore{lifetime: 100 * time.Hour}
		ask := func(n int) string {
			got := assert.Value(b.get(t.Context(), tokenKey{byte(n), byte(n >> 8)}, func() (*token, error) { return b.fetch(t.Context()) }))(t)
			return got.text
		}
		for n := range maxTokens {
			ask(n)
		}
		ask(0)
		ask(maxTokens) // in the place of 1
		assert.Equal(t, b.kept.Len(), maxTokens, "tokens that are kept")
		assert.Equal(t, ask(0), "1", "the one that was used is gone")
		assert.Equal(t, ask(1), strconv.Itoa(maxTokens+2), "the one that was not used is kept")
		b.close()
	})
}

func TestOnlyTheRejectedTokenIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &tokenStore{lifetime: time.Hour}
		fetch := func() (*token, error) { return b.fetch(t.Context()) }
		old, _ := b.get(t.Context(), tokenKey{1}, fetch)
		old.rejected.Store(true)
		b.want(t, 1, "2")
		old.rejected.Store(true) // too late
		b.want(t, 1, "2")
		b.close()
	})
}

// What an answer says of the time that a token is good.
func TestTokenLifetimes(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		source TokenRequest
		body   string
		want   time.Duration // that it is used
	}{
		{TokenRequest{}, `abc`, 4*time.Minute + 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc"}`, 4*time.Minute + 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":3600}`, time.Hour - 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":"60"}`, 54 * time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":1e300}`, 24*time.Hour - 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":1e999}`, 24*time.Hour - 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":0}`, 0},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":-1e999}`, 0},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":"NaN"}`, 4*time.Minute + 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":"soon"}`, 4*time.Minute + 30*time.Second},
		{TokenRequest{Extract: "t"}, `{"t":"abc","expires_in":null}`, 4*time.Minute + 30*time.Second},
		{TokenRequest{Extract: "a.t"}, `{"a":{"t":"abc","expires_in":100},"expires_in":7}`, 90 * time.Second},
		{TokenRequest{Extract: "a.0.t"}, `{"a":[{"t":"abc","expires_in":10}],"expires_in":7}`, 9 * time.Second},
		{TokenRequest{Extract: "$.t"}, `{"t":123}`, 4*time.Minute + 30*time.Second},
	} {
		p := &problems{}
		test.source.URL = "https://login.example/"
		s := &test.source
		s.check(p)
		assert.Equal(t, fmt.Sprint(p.list), "[]", "the problems")
		got := assert.Value(s.read([]byte(test.body), began))(t)
		assert.True(t, got.text == "abc" || got.text == "123", "%s: %q is the token", test.body, got.text)
		assert.Equal(t, got.until.Sub(began), test.want, "%s: used for", test.body)
	}
}

// A token is visible ASCII (RFC 6749, appendix A.12), and nothing else is sent as one.
func TestTextsThatAreNoTokens(t *testing.T) {
	for _, text := range []string{"", "a b", "a\x7fb", "a\u00e9", "a\r\nb", "\x00", strings.Repeat("a", maxToken+1)} {
		assert.Fails(t, assert.Err(newToken(text, time.Hour, time.Now())), "%.20q", text)
	}
	assert.Value(newToken("a~!", time.Hour, time.Now()))(t)
}
