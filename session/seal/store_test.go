package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

// A testKey is 32 times the same letter.
func testKey(letter string) auth.Secret { return auth.Secret(strings.Repeat(letter, KeySize)) }

func openStore(t testing.TB, d storage.Store, source KeySource) *Store {
	t.Helper()
	s := assert.Value(NewStore(t.Context(), d, source))(t)
	return s
}

// memory returns a Store over memory.
func memory(t testing.TB) *Store { return openStore(t, storage.NewMemory(), StaticKey(testKey("m"))) }

func mustSave(t testing.TB, s *Store, name, data string, old storage.Revision) storage.Revision {
	t.Helper()
	at := assert.Value(s.Save(t.Context(), name, []byte(data), old))(t)
	return at
}

// expectData loads a record.
func expectData(t testing.TB, s *Store, name, want string) storage.Revision {
	t.Helper()
	r := assert.Value(s.Load(t.Context(), name, ""))(t)
	if string(r.Data) != want {
		t.Errorf("%s is %q, want %q", name, r.Data, want)
	}
	return r.Revision
}

// A Store keeps what every storage.Store promises.
func TestStoreIsAStore(t *testing.T) {
	storagetest.Run(t, func(t testing.TB) storage.Store {
		s := memory(t)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}, nil)
}

func TestStoreKeepsStates(t *testing.T) {
	ctx := t.Context()
	s := memory(t)
	defer s.Close()
	if _, err := s.Load(ctx, "a", ""); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("load of nothing: %v", err)
	}
	first := mustSave(t, s, "a", "one", "")
	if _, err := s.Save(ctx, "a", []byte("two"), ""); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("save over an unknown state: %v", err)
	}
	second := mustSave(t, s, "a", "two", first)
	if one, two := inside(first).generation, inside(second).generation; one != 1 || two != 2 {
		t.Errorf("generations %d and %d, want 1 and 2", one, two)
	}
	if got := expectData(t, s, "a", "two"); got != second {
		t.Errorf("loaded version %v, saved as %v", got, second)
	}
	if err := s.Delete(ctx, "a", first); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("remove of an earlier state: %v", err)
	}
	if err := s.Delete(ctx, "a", second); err != nil {
		t.Error(err)
	}
	if _, err := s.Load(ctx, "a", ""); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("load of a removed record: %v", err)
	}
}

func TestStoreNames(t *testing.T) {
	s := openStore(t, storage.NewMemory(), StaticKey(testKey("k")))
	defer s.Close()
	for _, name := range []string{"a.1", "a.2", "b.1"} {
		mustSave(t, s, name, name, "")
	}
	list := func(prefix string) (names []string) {
		for name, err := range s.Names(t.Context(), prefix) {
			assert.OK(t, err)
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	if got := list(""); !slices.Equal(got, []string{"a.1", "a.2", "b.1"}) {
		t.Errorf("all names are %q", got)
	}
	if got := list("a."); !slices.Equal(got, []string{"a.1", "a.2"}) {
		t.Errorf("names with a are %q", got)
	}
	if got := list(reserved); got != nil {
		t.Errorf("the store's own names are shown: %q", got)
	}
	if _, err := s.Load(t.Context(), keysRecord, ""); !errors.Is(err, storage.ErrName) {
		t.Errorf("load of a reserved name: %v", err)
	}
	if _, err := s.Save(t.Context(), keysRecord, nil, ""); !errors.Is(err, storage.ErrName) {
		t.Errorf("save under a reserved name: %v", err)
	}
	if err := s.Delete(t.Context(), keysRecord, ""); !errors.Is(err, storage.ErrName) {
		t.Errorf("remove of a reserved name: %v", err)
	}
}

func TestStoreLock(t *testing.T) {
	s := memory(t)
	defer s.Close()
	unlock, locked, err := s.Lock(t.Context(), "a")
	if err != nil || !locked {
		t.Fatalf("lock: %v, %v", locked, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Lock(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("second lock: %v", err)
	}
	unlock()

	plain := openStore(t, struct{ storage.Store }{storage.NewMemory()}, StaticKey(testKey("k")))
	defer plain.Close()
	unlock, locked, err = plain.Lock(t.Context(), "a")
	if err != nil || locked {
		t.Fatalf("lock of a driver that cannot: %v, %v", locked, err)
	}
	unlock()
}

// sealedRecord returns the bytes that the driver has.
func sealedRecord(t testing.TB, d storage.Store, name string) storage.Record {
	t.Helper()
	r := assert.Value(d.Load(t.Context(), name, ""))(t)
	return r
}

func replace(t testing.TB, d storage.Store, name string, data []byte) {
	t.Helper()
	var old storage.Revision
	if r, err := d.Load(t.Context(), name, ""); err == nil {
		old = r.Revision
	}
	assert.Value(d.Save(t.Context(), name, data, old))(t)
}

func TestStoreNoticesEveryAlteredByte(t *testing.T) {
	d := storage.NewMemory()
	s := openStore(t, d, StaticKey(testKey("k")))
	defer s.Close()
	mustSave(t, s, "a", "canary-7Qx", "")
	sealed := sealedRecord(t, d, "a").Data
	if bytes.Contains(sealed, []byte("canary")) {
		t.Fatal("the record is not sealed")
	}
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 0x10
		replace(t, d, "a", altered)
		r, err := s.Load(t.Context(), "a", "")
		var corrupt *CorruptError
		var key *KeyError
		if inID := i >= atKey && i < atGeneration; inID && !errors.As(err, &key) || !inID && !errors.As(err, &corrupt) {
			t.Errorf("byte %d altered: %q, %v", i, r.Data, err)
		}
		if inside(r.Revision).revision != sealedRecord(t, d, "a").Revision {
			t.Errorf("byte %d altered: no version to replace it by", i)
		}
	}
	for _, n := range []int{0, 1, sealHeader, len(sealed) - 1} {
		replace(t, d, "a", sealed[:n])
		var corrupt *CorruptError
		if _, err := s.Load(t.Context(), "a", ""); !errors.As(err, &corrupt) || corrupt.Name != "a" {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	replace(t, d, "a", sealed)
	expectData(t, s, "a", "canary-7Qx")
}

func TestStoreNoticesSwappedRecords(t *testing.T) {
	d := storage.NewMemory()
	s := openStore(t, d, StaticKey(testKey("k")))
	defer s.Close()
	mustSave(t, s, "alice", "of alice", "")
	mustSave(t, s, "bob", "of bob", "")
	replace(t, d, "bob", sealedRecord(t, d, "alice").Data)
	var corrupt *CorruptError
	if r, err := s.Load(t.Context(), "bob", ""); !errors.As(err, &corrupt) {
		t.Errorf("alice's record as bob's: %q, %v", r.Data, err)
	}
	// The check of the keys is sealed for another purpose, under another name.
	keys := s.keys.Load()
	replace(t, d, "bob", keys.seal(forCheck, "bob", opened{data: []byte("x")}))
	if r, err := s.Load(t.Context(), "bob", ""); !errors.As(err, &corrupt) {
		t.Errorf("a check as a record: %q, %v", r.Data, err)
	}
}

func TestStoreWrongKey(t *testing.T) {
	d := storage.NewMemory()
	s := openStore(t, d, StaticKey(testKey("k")))
	mustSave(t, s, "a", "x", "")
	_, err := NewStore(t.Context(), d, StaticKey(testKey("l")))
	var key *KeyError
	if !errors.As(err, &key) || key.Record != "" {
		t.Errorf("open with another key: %v", err)
	}
	for _, source := range []KeySource{
		nil,
		StaticKey("short"),
		StaticKey(testKey("k"), "short"),
		func(context.Context, []byte) (*Keys, error) { return nil, nil },
	} {
		if _, err := NewStore(t.Context(), d, source); !errors.As(err, &key) || strings.Contains(err.Error(), "short") {
			t.Errorf("open with a useless source: %v", err)
		}
	}
	// Without the record of the keys, a record has to open.
	assert.OK(t, d.Delete(t.Context(), keysRecord, sealedRecord(t, d, keysRecord).Revision))
	if _, err := NewStore(t.Context(), d, StaticKey(testKey("l"))); !errors.As(err, &key) {
		t.Errorf("open with another key and no record of the keys: %v", err)
	}
	expectData(t, openStore(t, d, StaticKey(testKey("k"))), "a", "x")
}

func TestStoreCreatedByMany(t *testing.T) {
	d := storage.NewMemory()
	// As with a passphrase, the key depends on the salt.
	salted := func(_ context.Context, salt []byte) (*Keys, error) {
		return &Keys{Current: auth.Secret(salt)}, nil
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s, err := NewStore(t.Context(), d, salted)
			if err == nil {
				_, err = s.Save(t.Context(), fmt.Sprint("r", i), []byte("x"), "")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := openStore(t, d, salted)
	for i := range 16 {
		expectData(t, s, fmt.Sprint("r", i), "x")
	}
}

func TestRotate(t *testing.T) {
	d := storage.NewMemory()
	s := openStore(t, d, StaticKey(testKey("k")))
	at := mustSave(t, s, "a", "1", "")
	mustSave(t, s, "b", "2", "")

	both := openStore(t, d, StaticKey(testKey("l"), testKey("k")))
	expectData(t, both, "a", "1")
	mustSave(t, both, "b", "3", expectData(t, both, "b", "2"))
	var key *KeyError
	if _, err := NewStore(t.Context(), d, StaticKey(testKey("l"))); !errors.As(err, &key) {
		t.Errorf("the old key was left out before Rotate: %v", err)
	}
	if _, err := s.Load(t.Context(), "b", ""); !errors.As(err, &key) || key.Record != "b" {
		t.Errorf("load of a record with a new key: %v", err)
	}
	if n, err := both.Rotate(t.Context()); n != 1 || err != nil {
		t.Errorf("Rotate: %d, %v, want 1 record", n, err)
	}
	if n, err := both.Rotate(t.Context()); n != 0 || err != nil {
		t.Errorf("second Rotate: %d, %v, want 0 records", n, err)
	}
	after := openStore(t, d, StaticKey(testKey("l")))
	before, now := inside(at), inside(expectData(t, after, "a", "1"))
	if now.generation != before.generation || now.revision == before.revision {
		t.Errorf("version %v became %v, want the same generation", before, now)
	}
	expectData(t, after, "b", "3")
}

// A store that is open while the key is replaced asks for the keys again.
func TestNewKeyIsTakenUp(t *testing.T) {
	var mu sync.Mutex
	now := StaticKey(testKey("k"))
	source := func(ctx context.Context, salt []byte) (*Keys, error) {
		mu.Lock()
		defer mu.Unlock()
		return now(ctx, salt)
	}
	d := storage.NewMemory()
	s, other := openStore(t, d, source), openStore(t, d, source)
	mustSave(t, s, "a", "1", "")
	mu.Lock()
	now = StaticKey(testKey("l"), testKey("k"))
	mu.Unlock()
	if n, err := s.Rotate(t.Context()); n != 1 || err != nil {
		t.Fatalf("Rotate: %d, %v", n, err)
	}
	expectData(t, other, "a", "1")
}

// A source that returns keys of another store by mistake does no harm to one that is
// open.
func TestWrongKeysAreNotTakenUp(t *testing.T) {
	now := StaticKey(testKey("k"))
	source := func(ctx context.Context, salt []byte) (*Keys, error) { return now(ctx, salt) }
	d := storage.NewMemory()
	s := openStore(t, d, source)
	mustSave(t, s, "a", "1", "")
	now = StaticKey(testKey("l")) // without the old one
	var key *KeyError
	if n, err := s.Rotate(t.Context()); n != 0 || !errors.As(err, &key) {
		t.Errorf("Rotate: %d, %v, want a *KeyError", n, err)
	}
	at := expectData(t, s, "a", "1")
	mustSave(t, s, "a", "2", at)
	expectData(t, openStore(t, d, StaticKey(testKey("k"))), "a", "2")

	assert.OK(t, d.Delete(t.Context(), keysRecord, sealedRecord(t, d, keysRecord).Revision))
	other := newKeyset(&Keys{Current: testKey("m")})
	replace(t, d, "a", other.seal(forRecord, "a", opened{data: []byte("3")}))
	if _, err := s.Load(t.Context(), "a", ""); !errors.As(err, &key) || key.Record != "a" || errors.Is(err, storage.ErrNotFound) {
		t.Errorf("load without the record of the keys: %v, want a *KeyError", err)
	}
}

// One record that nobody can read keeps no other from being sealed anew, and no old
// key from being taken away.
func TestRotatePassesOverCorruptRecords(t *testing.T) {
	d := storage.NewMemory()
	s := openStore(t, d, StaticKey(testKey("k")))
	for _, name := range []string{"a", "b", "c"} {
		mustSave(t, s, name, "of "+name, "")
	}
	replace(t, d, "b", sealedRecord(t, d, "a").Data)
	var corrupt *CorruptError
	n, err := openStore(t, d, StaticKey(testKey("l"), testKey("k"))).Rotate(t.Context())
	if n != 2 || !errors.As(err, &corrupt) || corrupt.Name != "b" {
		t.Errorf("Rotate: %d, %v, want 2 records and a *CorruptError", n, err)
	}
	after := openStore(t, d, StaticKey(testKey("l")))
	expectData(t, after, "a", "of a")
	expectData(t, after, "c", "of c")

	// What a later version has sealed may need the old key.
	later := bytes.Clone(sealedRecord(t, d, "a").Data)
	later[atVersion]++
	replace(t, d, "b", later)
	if _, err := openStore(t, d, StaticKey(testKey("m"), testKey("l"))).Rotate(t.Context()); !errors.As(err, &corrupt) || corrupt.Name != "b" {
		t.Errorf("Rotate: %v, want a *CorruptError", err)
	}
	openStore(t, d, StaticKey(testKey("m"), testKey("l")))
	var key *KeyError
	if _, err := NewStore(t.Context(), d, StaticKey(testKey("m"))); !errors.As(err, &key) {
		t.Errorf("the old key can be left out: %v", err)
	}
}

func TestRotateMemory(t *testing.T) {
	s := memory(t)
	mustSave(t, s, "a", "1", "")
	if n, err := s.Rotate(t.Context()); n != 0 || err != nil {
		t.Errorf("Rotate: %d, %v", n, err)
	}
}

func TestPrintingShowsNoKey(t *testing.T) {
	s := openStore(t, storage.NewMemory(), StaticKey(testKey("k"), testKey("o")))
	keys := &Keys{Current: testKey("k"), Old: []auth.Secret{testKey("o")}}
	k, o := testKey("k").Reveal(), testKey("o").Reveal()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, v := range []any{s, keys, *keys, StaticKey(testKey("k"))} {
			text := fmt.Sprintf(verb, v)
			for _, shown := range []string{
				k, o, fmt.Sprintf("%x", k), strings.Trim(fmt.Sprint([]byte(k[:4])), "[]"), strings.Trim(fmt.Sprint([]byte(o[:4])), "[]"),
			} {
				assert.Lacks(t, text, shown, "%s of %T shows a key", verb, v)
			}
		}
	}
}
