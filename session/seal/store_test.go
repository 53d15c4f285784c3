package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

// A testKey is 32 times the same letter.
func testKey(letter string) auth.Secret { return auth.Secret(strings.Repeat(letter, KeySize)) }

func openStore(t testing.TB, d storage.Store, source KeySource) *Store {
	t.Helper()
	return assert.Value(NewStore(t.Context(), d, source))(t)
}

// openWith opens a store with the testKeys of some letters, the first of which is in use.
func openWith(t testing.TB, d storage.Store, letters string) *Store {
	t.Helper()
	return openStore(t, d, StaticKey(testKey(letters[:1]), testKeys(letters[1:])...))
}

func testKeys(letters string) (keys []auth.Secret) {
	for _, letter := range letters {
		keys = append(keys, testKey(string(letter)))
	}
	return keys
}

// wantNoStore checks that a store does not open with a source.
func wantNoStore(t testing.TB, d storage.Store, source KeySource) *KeyError {
	t.Helper()
	return assert.As[*KeyError](t, errOf(NewStore(t.Context(), d, source)))
}

// wantRotated checks how many records Rotate seals anew.
func wantRotated(t testing.TB, s *Store, want int) {
	t.Helper()
	assert.Equal(t, assert.Value(s.Rotate(t.Context()))(t), want, "records sealed anew")
}

// memory returns a Store over memory.
func memory(t testing.TB) *Store { return openStore(t, storage.NewMemory(), StaticKey(testKey("m"))) }

func mustSave(t testing.TB, s *Store, name, data string, old storage.Revision) storage.Revision {
	t.Helper()
	return assert.Value(s.Save(t.Context(), name, []byte(data), old))(t)
}

// expectData loads a record.
func expectData(t testing.TB, s *Store, name, want string) storage.Revision {
	t.Helper()
	r := assert.Value(s.Load(t.Context(), name, ""))(t)
	assert.Equal(t, string(r.Data), want, "%s", name)
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

func TestStoreCountsGenerations(t *testing.T) {
	s := memory(t)
	defer s.Close()
	first := mustSave(t, s, "a", "one", "")
	second := mustSave(t, s, "a", "two", first)
	assert.Equal(t, inside(first).generation, 1, "generation")
	assert.Equal(t, inside(second).generation, 2, "generation")
	assert.Equal(t, expectData(t, s, "a", "two"), second, "revision")
}

func TestStoreNames(t *testing.T) {
	s := openStore(t, storage.NewMemory(), StaticKey(testKey("k")))
	defer s.Close()
	for _, name := range []string{"a.1", "a.2", "b.1"} {
		mustSave(t, s, name, name, "")
	}
	list := func(prefix string) string {
		var names []string
		for name, err := range s.Names(t.Context(), prefix) {
			assert.OK(t, err)
			names = append(names, name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	assert.Equal(t, list(""), "a.1 a.2 b.1", "all names")
	assert.Equal(t, list("a."), "a.1 a.2", "names with a")
	assert.Equal(t, list(reserved), "", "the store's own names")
	assert.Is(t, errOf(s.Load(t.Context(), keysRecord, "")), storage.ErrName, "load of a reserved name")
	assert.Is(t, errOf(s.Save(t.Context(), keysRecord, nil, "")), storage.ErrName, "save under a reserved name")
	assert.Is(t, s.Delete(t.Context(), keysRecord, ""), storage.ErrName, "remove of a reserved name")
}

func TestStoreLock(t *testing.T) {
	s := memory(t)
	defer s.Close()
	unlock := assert.Value(s.Lock(t.Context(), "a"))(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, errOf(s.Lock(ended, "a")), context.Canceled, "a second lock")
	unlock()

	plain := openStore(t, struct{ storage.Store }{storage.NewMemory()}, StaticKey(testKey("k")))
	defer plain.Close()
	assert.Is(t, errOf(plain.Lock(t.Context(), "a")), errors.ErrUnsupported, "a driver that cannot lock")
	assert.False(t, plain.Locks(), "locks")
}

// sealedRecord returns the bytes that the driver has.
func sealedRecord(t testing.TB, d storage.Store, name string) storage.Record {
	t.Helper()
	return assert.Value(d.Load(t.Context(), name, ""))(t)
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
	s := openWith(t, d, "k")
	defer s.Close()
	mustSave(t, s, "a", "canary-7Qx", "")
	sealed := sealedRecord(t, d, "a").Data
	assert.Lacks(t, string(sealed), "canary", "sealed record")
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 0x10
		replace(t, d, "a", altered)
		r, err := s.Load(t.Context(), "a", "")
		if i >= atKey && i < atGeneration {
			assert.As[*KeyError](t, err, "byte %d altered", i)
		} else {
			assert.As[*CorruptError](t, err, "byte %d altered", i)
		}
		assert.Equal(t, inside(r.Revision).revision, sealedRecord(t, d, "a").Revision, "byte %d altered: revision to replace it by", i)
	}
	for _, n := range []int{0, 1, sealHeader, len(sealed) - 1} {
		replace(t, d, "a", sealed[:n])
		assert.Equal(t, assert.As[*CorruptError](t, errOf(s.Load(t.Context(), "a", "")), "cut to %d bytes", n).name, "a", "cut to %d bytes", n)
	}
	replace(t, d, "a", sealed)
	expectData(t, s, "a", "canary-7Qx")
}

func TestStoreNoticesSwappedRecords(t *testing.T) {
	d := storage.NewMemory()
	s := openWith(t, d, "k")
	defer s.Close()
	mustSave(t, s, "alice", "of alice", "")
	mustSave(t, s, "bob", "of bob", "")
	replace(t, d, "bob", sealedRecord(t, d, "alice").Data)
	assert.As[*CorruptError](t, errOf(s.Load(t.Context(), "bob", "")), "alice's record as bob's")
	// The check of the keys is sealed for another purpose, under another name.
	replace(t, d, "bob", s.keys.Load().seal(forCheck, "bob", opened{data: []byte("x")}))
	assert.As[*CorruptError](t, errOf(s.Load(t.Context(), "bob", "")), "a check as a record")
}

func TestStoreWrongKey(t *testing.T) {
	d := storage.NewMemory()
	mustSave(t, openWith(t, d, "k"), "a", "x", "")
	assert.Equal(t, wantNoStore(t, d, StaticKey(testKey("l"))).record, "", "record")
	for _, source := range []KeySource{
		nil,
		StaticKey("short"),
		StaticKey(testKey("k"), "short"),
		func(context.Context) (*Keys, error) { return nil, nil },
	} {
		assert.Lacks(t, wantNoStore(t, d, source).Error(), "short")
	}
	// Without the record of the keys, a record has to open.
	assert.OK(t, d.Delete(t.Context(), keysRecord, sealedRecord(t, d, keysRecord).Revision))
	wantNoStore(t, d, StaticKey(testKey("l")))
	expectData(t, openWith(t, d, "k"), "a", "x")
}

func TestStoreCreatedByMany(t *testing.T) {
	d := storage.NewMemory()
	source := StaticKey(testKey("k"))
	errs := make(chan error)
	for i := range 16 {
		go func() {
			s, err := NewStore(t.Context(), d, source)
			if err == nil {
				_, err = s.Save(t.Context(), fmt.Sprint("r", i), []byte("x"), "")
			}
			errs <- err
		}()
	}
	for range 16 {
		assert.OK(t, <-errs)
	}
	s := openStore(t, d, source)
	for i := range 16 {
		expectData(t, s, fmt.Sprint("r", i), "x")
	}
}

func TestRotate(t *testing.T) {
	d := storage.NewMemory()
	s := openWith(t, d, "k")
	at := mustSave(t, s, "a", "1", "")
	mustSave(t, s, "b", "2", "")

	both := openWith(t, d, "lk")
	expectData(t, both, "a", "1")
	mustSave(t, both, "b", "3", expectData(t, both, "b", "2"))
	wantNoStore(t, d, StaticKey(testKey("l")))
	assert.Equal(t, assert.As[*KeyError](t, errOf(s.Load(t.Context(), "b", ""))).record, "b", "load of a record with a new key")
	wantRotated(t, both, 1)
	wantRotated(t, both, 0)
	after := openWith(t, d, "l")
	before, now := inside(at), inside(expectData(t, after, "a", "1"))
	assert.Equal(t, now.generation, before.generation, "generation")
	assert.True(t, now.revision != before.revision, "there is another revision")
	expectData(t, after, "b", "3")
}

// A store that is open while the key is replaced asks for the keys again.
func TestNewKeyIsTakenUp(t *testing.T) {
	now := StaticKey(testKey("k"))
	source := func(ctx context.Context) (*Keys, error) { return now(ctx) }
	d := storage.NewMemory()
	s, other := openStore(t, d, source), openStore(t, d, source)
	mustSave(t, s, "a", "1", "")
	now = StaticKey(testKey("l"), testKey("k"))
	wantRotated(t, s, 1)
	expectData(t, other, "a", "1")
}

// A source that returns keys of another store by mistake does no harm to one that is
// open.
func TestWrongKeysAreNotTakenUp(t *testing.T) {
	now := StaticKey(testKey("k"))
	source := func(ctx context.Context) (*Keys, error) { return now(ctx) }
	d := storage.NewMemory()
	s := openStore(t, d, source)
	mustSave(t, s, "a", "1", "")
	now = StaticKey(testKey("l")) // without the old one
	n, err := s.Rotate(t.Context())
	assert.Equal(t, n, 0, "Rotate")
	assert.As[*KeyError](t, err)
	mustSave(t, s, "a", "2", expectData(t, s, "a", "1"))
	expectData(t, openWith(t, d, "k"), "a", "2")

	assert.OK(t, d.Delete(t.Context(), keysRecord, sealedRecord(t, d, keysRecord).Revision))
	replace(t, d, "a", newKeyset(&Keys{Current: testKey("m")}).seal(forRecord, "a", opened{data: []byte("3")}))
	err = errOf(s.Load(t.Context(), "a", ""))
	assert.Equal(t, assert.As[*KeyError](t, err).record, "a", "load without the record of the keys")
	assert.False(t, errors.Is(err, storage.ErrNotFound), "not found")
}

// One record that nobody can read keeps no other from being sealed anew, and no old
// key from being taken away.
func TestRotatePassesOverCorruptRecords(t *testing.T) {
	d := storage.NewMemory()
	s := openWith(t, d, "k")
	for _, name := range []string{"a", "b", "c"} {
		mustSave(t, s, name, "of "+name, "")
	}
	replace(t, d, "b", sealedRecord(t, d, "a").Data)
	n, err := openWith(t, d, "lk").Rotate(t.Context())
	assert.Equal(t, n, 2, "Rotate")
	assert.Equal(t, assert.As[*CorruptError](t, err).name, "b", "Rotate")
	after := openWith(t, d, "l")
	expectData(t, after, "a", "of a")
	expectData(t, after, "c", "of c")

	// What a later version has sealed may need the old key.
	later := bytes.Clone(sealedRecord(t, d, "a").Data)
	later[atVersion]++
	replace(t, d, "b", later)
	assert.Equal(t, assert.As[*CorruptError](t, errOf(openWith(t, d, "ml").Rotate(t.Context()))).name, "b", "Rotate")
	openWith(t, d, "ml")
	wantNoStore(t, d, StaticKey(testKey("m")))
}

func TestRotateMemory(t *testing.T) {
	s := memory(t)
	mustSave(t, s, "a", "1", "")
	wantRotated(t, s, 0)
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
				assert.Lacks(t, text, shown, "%s of %T", verb, v)
			}
		}
	}
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
