package access_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// request returns a request with the given fields, "Name: value".
func request(fields ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://belt.example/mcp", nil)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func loadKeys(t *testing.T, store storage.Store) *access.Keys {
	t.Helper()
	return assert.Value(access.LoadKeys(t.Context(), store, "keys"))(t)
}

func create(t *testing.T, k *access.Keys, o access.KeyOptions) (secret string, key access.Key) {
	t.Helper()
	secret, key, err := k.Create(t.Context(), o)
	assert.OK(t, err)
	return secret, key
}

// reason returns why a request is refused.
func reason(t *testing.T, k *access.Keys, r *http.Request) string {
	t.Helper()
	caller, err := k.Authenticate(r)
	var refused *access.RefusedError
	switch {
	case err == nil:
		t.Errorf("got the caller %+v, want an error", caller)
		return ""
	case errors.As(err, &refused):
		return refused.Reason
	}
	return err.Error()
}

// A key lets its user in by either field, and nothing that is nearly the key does.
func TestKeys(t *testing.T) {
	k := loadKeys(t, storage.NewMemory())
	grant := &access.Grant{Servers: []string{"git*"}, ReadOnly: true}
	secret, key := create(t, k, access.KeyOptions{Label: "laptop", User: "ada", Grant: grant})
	other, _ := create(t, k, access.KeyOptions{User: "bob"})
	for _, field := range []string{"Authorization: Bearer " + secret, "Authorization: bearer  " + secret, "X-API-Key: " + secret} {
		caller, err := k.Authenticate(request(field))
		if err != nil {
			t.Errorf("%.20s: got %v, want no error", field, err)
			continue
		}
		want := (&access.Caller{User: "ada", Credential: key.ID, Grant: grant})
		assert.True(t, reflect.DeepEqual(caller, want), "%.20s: %+v", field, want)
	}
	last := secret[len(secret)-1]
	if last++; last > 'Z' {
		last = 'A'
	}
	idOf := func(s string) string { return s[:strings.LastIndexByte(s, '_')+1] }
	for name, c := range map[string]struct {
		fields []string
		want   string
	}{
		"none":           {nil, access.ErrUnrecognized.Error()},
		"basic":          {[]string{"Authorization: Basic " + secret}, access.ErrUnrecognized.Error()},
		"other token":    {[]string{"Authorization: Bearer a.b.c"}, access.ErrUnrecognized.Error()},
		"other key":      {[]string{"X-API-Key: sk-1"}, access.ErrUnrecognized.Error()},
		"prefix alone":   {[]string{"X-API-Key: mcpbelt_"}, "the key is not one that was ever made"},
		"no secret":      {[]string{"X-API-Key: " + idOf(secret)}, "the key is not one that was ever made"},
		"foreign id":     {[]string{"X-API-Key: mcpbelt_../../../../_x"}, "the key is not one that was ever made"},
		"unknown id":     {[]string{"X-API-Key: mcpbelt_AAAAAAAAAAAA_" + secret[21:]}, "there is no such key, or it was revoked"},
		"last character": {[]string{"X-API-Key: " + secret[:len(secret)-1] + string(last)}, "the secret is not that of the key"},
		"longer":         {[]string{"X-API-Key: " + secret + "A"}, "the secret is not that of the key"},
		"another's":      {[]string{"X-API-Key: " + idOf(other) + secret[len(idOf(secret)):]}, "the secret is not that of the key"},
		"two fields":     {[]string{"X-API-Key: " + secret, "Authorization: Bearer " + secret}, "the request has more than one credential"},
		"two keys":       {[]string{"X-API-Key: " + secret, "X-API-Key: " + other}, "the request has more than one credential"},
		"two tokens":     {[]string{"Authorization: Bearer " + secret, "Authorization: Bearer " + other}, "the request has more than one credential"},
	} {
		assert.Equal(t, reason(t, k, request(c.fields...)), c.want, "%s", name)
	}
}

// What is kept is no key, and none is in an error.
func TestNoSecretIsKept(t *testing.T) {
	store := storage.NewMemory()
	k := loadKeys(t, store)
	secret, _ := create(t, k, access.KeyOptions{User: "ada"})
	kept, err := store.Load(t.Context(), "keys", "")
	assert.OK(t, err)
	_, err = k.Authenticate(request("X-API-Key: " + secret + "A"))
	random := secret[strings.LastIndexByte(secret, '_')+1:]
	for _, text := range []string{string(kept.Data), err.Error()} {
		assert.Lacks(t, text, random[:20], "the secret in")
	}
	assert.True(t, len(random) >= 52, "%d characters of 5 bits, at least 52", len(random))
}

// A request whose client goes away at once does not keep a key good that another process has revoked.
func TestRevokedKeyOfClientThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		one, two := loadKeys(t, store), loadKeys(t, store)
		secret, key := create(t, one, access.KeyOptions{})
		left, leave := context.WithCancel(t.Context())
		leave()
		r := request("X-API-Key: " + secret)
		time.Sleep(2 * time.Second)
		assert.Value(two.Authenticate(r))(t)
		assert.OK(t, one.Revoke(t.Context(), key.ID))
		time.Sleep(2 * time.Second)
		assert.Equal(t, reason(t, two, r.WithContext(left)), "there is no such key, or it was revoked")
	})
}

// A key is changed and revoked from the next request on; another process sees that 2 s later.
func TestKeysOfTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		one, two := loadKeys(t, store), loadKeys(t, store)
		secret, key := create(t, one, access.KeyOptions{User: "ada", Expires: time.Now().Add(24 * time.Hour)})
		field := "X-API-Key: " + secret
		user := func(k *access.Keys) string {
			caller, err := k.Authenticate(request(field))
			if err != nil {
				return err.Error()
			}
			return caller.User
		}
		assert.Equal(t, user(one), "ada")
		time.Sleep(2 * time.Second)
		assert.Equal(t, user(two), "ada", "in the other process")
		assert.OK(t, one.Change(t.Context(), key.ID, access.KeyOptions{User: "bob", Expires: key.Expires}))
		assert.Equal(t, user(one), "bob", "after the change")
		time.Sleep(2 * time.Second)
		assert.Equal(t, user(two), "bob", "in the other process after the change")
		time.Sleep(time.Hour)
		user(two)
		time.Sleep(2 * time.Minute)
		user(two)
		list := assert.Value(one.List(t.Context()))(t)
		assert.Equal(t, len(list), 1)
		ago := time.Since(list[0].Used)
		assert.True(t, ago <= time.Hour+time.Minute, "the last use, %v ago, is of the last hour", ago)
		time.Sleep(24 * time.Hour)
		assert.Equal(t, reason(t, one, request(field)), "the key has expired")
		assert.OK(t, one.Revoke(t.Context(), key.ID))
		for _, k := range []*access.Keys{one, two} {
			assert.Equal(t, reason(t, k, request(field)), "there is no such key, or it was revoked")
			time.Sleep(2 * time.Second)
		}
		assert.Is(t, one.Revoke(t.Context(), key.ID), access.ErrNoKey)
	})
}

// An awayStore is a store that can be away.
type awayStore struct {
	storage.Store
	mu   sync.Mutex
	away bool
}

func (s *awayStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	if away {
		<-ctx.Done()
		return storage.Record{}, ctx.Err()
	}
	return s.Store.Load(ctx, name, known)
}

func (s *awayStore) goAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// While the store is away the keys are good for 5 minutes; each request is answered in bounded time.
func TestKeysWithoutTheirStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &awayStore{Store: storage.NewMemory()}
		k := loadKeys(t, store)
		secret, _ := create(t, k, access.KeyOptions{User: "ada"})
		r := request("X-API-Key: " + secret)
		store.goAway(true)
		for _, c := range []struct {
			after time.Duration
			good  bool
		}{{time.Second, true}, {4 * time.Minute, true}, {2 * time.Minute, false}} {
			time.Sleep(c.after)
			begun := time.Now()
			_, err := k.Authenticate(r)
			took := time.Since(begun)
			assert.True(t, took <= 5*time.Second, "after %v: the answer in %v is within 5 s", c.after, took)
			assert.Equal(t, err == nil, c.good, "after %v", c.after)
			if !c.good {
				assert.Equal(t, assert.As[*access.RefusedError](t, err).Status, http.StatusServiceUnavailable, "after %v", c.after)
			}
		}
		store.goAway(false)
		assert.Value(k.Authenticate(r))(t)
	})
}

// Keys that many make, change, use and revoke at once are neither lost nor good for longer.
func TestKeysAtOnce(t *testing.T) {
	store := storage.NewMemory()
	all := []*access.Keys{loadKeys(t, store), loadKeys(t, store)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			k := all[i%2]
			for range 20 {
				secret, key, err := k.Create(t.Context(), access.KeyOptions{User: "ada"})
				if err != nil {
					t.Error(err)
					return
				}
				r := request("X-API-Key: " + secret)
				assert.Equal(t, assert.Err(k.Authenticate(r)), nil)
				assert.Equal(t, k.Revoke(t.Context(), key.ID), nil)
				assert.Fails(t, assert.Err(k.Authenticate(r)), "for a key that was revoked")
			}
		})
	}
	wg.Wait()
	assert.Equal(t, len(assert.Value(all[0].List(t.Context()))(t)), 0, "keys")
}

// What cannot be a key is refused, and what is kept has to be what was written.
func TestKeysRefuse(t *testing.T) {
	k := loadKeys(t, storage.NewMemory())
	for name, o := range map[string]access.KeyOptions{
		"label":   {Label: strings.Repeat("a", 201)},
		"user":    {User: "\xff"},
		"pattern": {Grant: &access.Grant{Tools: []string{"["}}},
	} {
		_, _, err := k.Create(t.Context(), o)
		assert.Fails(t, err, "%s: the key", name)
	}
	for _, data := range []string{"", "{}", `{"version":2,"keys":[]}`, `{"version":1,"keys":[{"id":"A","hash":"b"}]}`, `{"version":1,"keys":[],"more":1}`} {
		store := storage.NewMemory()
		assert.Value(store.Save(t.Context(), "keys", []byte(data), ""))(t)
		assert.Fails(t, assert.Err(access.LoadKeys(t.Context(), store, "keys")), "%q", data)
	}
	var none access.Keys
	assert.Fails(t, assert.Err(none.List(t.Context())), "the zero Keys")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
