package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// keyPrefix begins each key, so that scanners for secrets find it.
	keyPrefix = "mcpbelt_"
	idLength  = 12
	// lookEvery is how often Keys looks for changes of other processes, if it is used.
	lookEvery = time.Second
	// lookWithin is how long a request waits for a look.
	lookWithin = 5 * time.Second
	// goodFor is how long the keys that are known are good when the store cannot be read.
	goodFor = 5 * time.Minute
	// usedEvery is how often it is written down that a key is used.
	usedEvery = time.Hour
	maxKeys   = 10_000
	maxFile   = 32 << 20 // bytes of a file of keys
)

// ErrNoKey reports that there is no key of an id.
//
//cure:list the keys
var ErrNoKey = errors.New("access: there is no such key")

// KeyOptions are what is decided about a key.
type KeyOptions struct {
	// Label tells people what the key is for. At most 200 bytes.
	Label string `json:"label,omitempty"`
	// User is on whose behalf the key is used. Empty: on behalf of no user.
	User string `json:"user,omitempty"`
	// Grant is what the key allows. Nil: use all servers.
	Grant *Grant `json:"grant,omitempty"`
	// Expires is when the key is good for nothing any more. Zero: never.
	Expires time.Time `json:"expires,omitzero"`
}

// A Key is what is kept of an API key; the secret is not.
type Key struct {
	// ID names the key, also within the secret. It is no secret itself.
	ID string `json:"id"`
	KeyOptions
	// Created is when the key was made, in UTC and whole seconds.
	Created time.Time `json:"created"`
	// Used is when the key was used last, to within an hour. Zero: never.
	Used time.Time `json:"used,omitzero"`
}

// Keys are API keys that are kept in a store or a file. Make them with [LoadKeys] or [OpenKeys]. All
// methods are safe for concurrent use, also by several processes that share the store or the file, and return soon
// after their context ends, Authenticate within 5 seconds.
type Keys struct {
	kept *document.Value[map[string]*record]
	turn chan struct{} // capacity 1: held while this process changes them

	mu      sync.Mutex         // guards what follows
	known   map[string]*record // by id; not changed
	changes int                // of known by this process
	looked  time.Time          // when the store was read last
	next    time.Time          // when to look again
	looks   bool               // a request does
	used    map[string]time.Time
	noted   time.Time // when used was last tried to be written
}

// LoadKeys returns the keys that a store has under a name, see [storage.CheckName], such as
// "keys". It fails if they cannot be read.
func LoadKeys(ctx context.Context, store storage.Store, name string) (*Keys, error) {
	return loadKeys(ctx, store, name)
}

// OpenKeys returns the keys that are kept in the file at path. The file is made, for its owner alone, with the
// first key; a missing one has none. It fails if the file cannot be read, or others may write to it, where modes say
// so (on Windows they do not).
func OpenKeys(ctx context.Context, path string) (*Keys, error) {
	return loadKeys(ctx, &document.File{Path: path, Most: maxFile, Check: ownfile.Check(path, ownfile.Own)}, "keys")
}

func loadKeys(ctx context.Context, keeper document.Keeper, name string) (*Keys, error) {
	k := &Keys{kept: document.New(keeper, name, parse, render), turn: make(chan struct{}, 1), used: map[string]time.Time{}}
	records, err := k.kept.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("access: keys: %w", err)
	}
	k.known, k.looked = records, time.Now()
	k.next = k.looked.Add(lookEvery)
	return k, nil
}

// Create makes a key. The secret is what a client sends; it is nowhere else, and cannot be
// found out again.
func (k *Keys) Create(ctx context.Context, o KeyOptions) (secret string, key Key, err error) {
	if err := o.check(); err != nil {
		return "", Key{}, err
	}
	// 260 bits of chance.
	random := rand.Text() + rand.Text()
	r := &record{Key: Key{Created: time.Now().UTC().Truncate(time.Second)}}
	r.set(o)
	err = k.change(ctx, func(records map[string]*record) error {
		if len(records) >= maxKeys {
			return fmt.Errorf("there are %d: revoke some", len(records))
		}
		for r.ID == "" || records[r.ID] != nil {
			r.ID = rand.Text()[:idLength]
		}
		secret = keyPrefix + r.ID + "_" + random
		r.Hash = hash(secret)
		records[r.ID] = r
		return nil
	})
	if err != nil {
		return "", Key{}, err
	}
	return secret, r.key(), nil
}

// List returns the keys, the oldest first, those that have expired among them.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	if k.kept == nil {
		return nil, errNoKeys
	}
	records, err := k.kept.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("access: keys: %w", err)
	}
	var list []Key
	for _, r := range records {
		list = append(list, r.key())
	}
	slices.SortFunc(list, func(a, b Key) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range list {
		if at := k.used[list[i].ID]; at.After(list[i].Used) {
			list[i].Used = at
		}
	}
	return list, nil
}

// Change replaces what is decided about a key; its secret stays. It counts from the next request on, in other
// processes from a second later on. The error is ErrNoKey if there is none.
func (k *Keys) Change(ctx context.Context, id string, o KeyOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	return k.change(ctx, func(records map[string]*record) error {
		if records[id] == nil {
			return ErrNoKey
		}
		next := *records[id]
		next.set(o)
		records[id] = &next
		return nil
	})
}

// Revoke removes a key. It is good for no further request, in other processes from a second later
// on. The error is ErrNoKey if there is none.
func (k *Keys) Revoke(ctx context.Context, id string) error {
	return k.change(ctx, func(records map[string]*record) error {
		if records[id] == nil {
			return ErrNoKey
		}
		delete(records, id)
		return nil
	})
}

var errNoKeys = errors.New("access: keys: there is no store: make them with LoadKeys or OpenKeys")

// change changes what is kept, again if another process was faster.
func (k *Keys) change(ctx context.Context, edit func(map[string]*record) error) error {
	if k.kept == nil {
		return errNoKeys
	}
	select { // the last one that returns knows all that were made before
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return fmt.Errorf("access: keys: %w", ctx.Err())
	}
	var made map[string]*record
	err := k.kept.Change(ctx, func(now map[string]*record) (map[string]*record, bool, error) {
		made = map[string]*record{}
		maps.Copy(made, now)
		err := edit(made)
		return made, err == nil, err
	})
	switch {
	case errors.Is(err, ErrNoKey):
		return err
	case err != nil:
		return fmt.Errorf("access: keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	k.known = made
	k.next = time.Time{} // another one may have changed it since
	return nil
}

// Authenticate returns who has the key that a request carries, as a Bearer token or in the field
// X-API-Key. It is an [Authenticator]. The error is ErrUnrecognized if it carries none, and else a
// [*RefusedError]. If the store cannot be read, the keys are good for 5 more minutes; then the
// status is 503.
func (k *Keys) Authenticate(r *http.Request) (*Caller, error) {
	secret, err := keyOf(r)
	if err != nil {
		return nil, err
	}
	id, random, _ := strings.Cut(strings.TrimPrefix(secret, keyPrefix), "_")
	if len(id) != idLength || random == "" || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return nil, &RefusedError{Reason: "the key is not one that was ever made"}
	}
	records, err := k.look(r.Context())
	if err != nil {
		return nil, &RefusedError{Status: http.StatusServiceUnavailable, Credential: id, Reason: "the keys cannot be read", Err: err}
	}
	held, now := records[id], time.Now()
	switch {
	case held == nil:
		return nil, &RefusedError{Credential: id, Reason: "there is no such key, or it was revoked"}
	case subtle.ConstantTimeCompare([]byte(hash(secret)), []byte(held.Hash)) != 1:
		return nil, &RefusedError{Credential: id, Reason: "the secret is not that of the key"}
	case !held.Expires.IsZero() && !now.Before(held.Expires):
		return nil, &RefusedError{Credential: id, Reason: "the key has expired"}
	}
	if now.Sub(held.Used) >= usedEvery {
		k.mu.Lock()
		if _, ok := k.used[id]; !ok {
			k.used[id] = now.UTC().Truncate(time.Second)
		}
		k.mu.Unlock()
	}
	return &Caller{User: held.User, Credential: id, Grant: held.Grant}, nil
}

// keyOf returns the key of a request.
func keyOf(r *http.Request) (string, error) {
	if r == nil {
		return "", ErrUnrecognized
	}
	fields := r.Header.Values(keyField)
	secret, err := "", error(nil)
	switch {
	case len(fields) == 0:
		secret, err = BearerToken(r)
	case len(fields) > 1 || len(r.Header.Values("Authorization")) > 0:
		err = &RefusedError{Reason: "the request has more than one credential"}
	default:
		secret = fields[0]
	}
	if err == nil && !strings.HasPrefix(secret, keyPrefix) {
		err = ErrUnrecognized
	}
	return secret, err
}

// look returns the keys as they are, or were a moment ago. One request at a time reads them again; the others
// go on with those that are known. A client that goes away does not end that, so that it keeps no key good.
func (k *Keys) look(ctx context.Context) (map[string]*record, error) {
	if k.kept == nil {
		return nil, errNoKeys
	}
	k.mu.Lock()
	now := time.Now()
	good := now.Sub(k.looked) < goodFor
	if good && (k.looks || now.Before(k.next)) {
		defer k.mu.Unlock()
		return k.known, nil
	}
	k.looks = true
	changes := k.changes
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	k.noteUse(ctx, now)
	records, err := k.kept.Load(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looks = false
	k.next = time.Now().Add(lookEvery)
	switch {
	case err != nil && !good:
		return nil, err
	case err != nil || changes != k.changes: // this process has changed them since
		return k.known, nil
	}
	k.known, k.looked = records, now
	return records, nil
}

// noteUse writes down which keys were used. If it cannot, that is tried again later.
func (k *Keys) noteUse(ctx context.Context, now time.Time) {
	k.mu.Lock()
	used := maps.Clone(k.used)
	if len(used) == 0 || now.Sub(k.noted) < usedEvery/60 {
		k.mu.Unlock()
		return
	}
	k.noted = now
	k.mu.Unlock()
	err := k.kept.Change(ctx, func(records map[string]*record) (map[string]*record, bool, error) {
		next := maps.Clone(records)
		changed := false
		for id, at := range used {
			if r := next[id]; r != nil && at.Sub(r.Used) >= usedEvery {
				with := *r
				with.Used = at
				next[id], changed = &with, true
			}
		}
		return next, changed, nil
	})
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range used {
		delete(k.used, id)
	}
}

// hash returns what is kept of a secret. It is a fast hash: a secret of 260 random bits is not found by trying,
// whatever a try costs, as a password is.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
