package consenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
)

// Run checks a store. The function open returns a store that keeps nothing yet,
// another one each time, and closes it when the test ends. The function reopen
// returns another store over the same place, as another process would have it; nil
// means that this cannot be, and the same one is used twice.
func Run(t *testing.T, open func(t testing.TB) consent.Store, reopen func(t testing.TB, s consent.Store) consent.Store) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, one, two consent.Store)
	}{
		{"empty", checkEmpty},
		{"save and load", checkSave},
		{"known revision", checkKnown},
		{"conflict", checkConflict},
		{"the same again", checkSameAgain},
		{"data belong to the caller", checkOwnership},
		{"context ended", checkEnded},
		{"writers", checkWriters},
		{"books", checkBooks},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := open(t)
			two := one
			if reopen != nil {
				two = reopen(t, one)
			}
			c.run(t, one, two)
		})
	}
}

func load(t testing.TB, s consent.Store, known string) ([]byte, string) {
	t.Helper()
	data, revision, err := s.Load(t.Context(), known)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return data, revision
}

func save(t testing.TB, s consent.Store, data, old string) string {
	t.Helper()
	revision, err := s.Save(t.Context(), []byte(data), old)
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	if revision == "" || revision == old {
		t.Fatalf("Save returned the revision %q after %q", revision, old)
	}
	return revision
}

func checkEmpty(t *testing.T, one, _ consent.Store) {
	if _, revision := load(t, one, ""); revision != "" {
		t.Errorf("nothing is kept, and the revision is %q", revision)
	}
	if _, revision := load(t, one, "unknown"); revision != "" {
		t.Errorf("nothing is kept, and the revision is %q", revision)
	}
	if _, err := one.Save(t.Context(), []byte("{}"), "unknown"); !errors.Is(err, consent.ErrConflict) {
		t.Errorf("Save over what was never there: %v, want ErrConflict", err)
	}
}

func checkSave(t *testing.T, one, two consent.Store) {
	for _, text := range []string{"{}", "", "\x00\xff ", string(bytes.Repeat([]byte("ä€\n"), 100_000))} {
		_, old := load(t, one, "")
		revision := save(t, one, text, old)
		data, found := load(t, two, old)
		if string(data) != text || found != revision {
			t.Errorf("%d bytes were saved with revision %q, %d were loaded with %q", len(text), revision, len(data), found)
		}
	}
}

func checkKnown(t *testing.T, one, two consent.Store) {
	first := save(t, one, "1", "")
	if _, revision := load(t, two, first); revision != first {
		t.Errorf("nothing was changed, and the revision is %q after %q", revision, first)
	}
	second := save(t, two, "2", first)
	if data, revision := load(t, one, first); string(data) != "2" || revision != second {
		t.Errorf("loaded %q with revision %q, want what the other has saved", data, revision)
	}
}

func checkConflict(t *testing.T, one, two consent.Store) {
	first := save(t, one, "1", "")
	second := save(t, two, "2", first)
	for _, old := range []string{"", first, second + "x"} {
		if _, err := one.Save(t.Context(), []byte("3"), old); !errors.Is(err, consent.ErrConflict) {
			t.Errorf("Save over revision %q: %v, want ErrConflict", old, err)
		}
	}
	if data, revision := load(t, two, ""); string(data) != "2" || revision != second {
		t.Errorf("a refused Save left %q with revision %q", data, revision)
	}
}

// Two saves of one text may have one revision, but never one with another text.
func checkSameAgain(t *testing.T, one, two consent.Store) {
	first := save(t, one, "1", "")
	second := save(t, two, "2", first)
	third := save(t, one, "1", second)
	if data, revision := load(t, two, second); string(data) != "1" || revision != third {
		t.Errorf("loaded %q with revision %q, want the third save", data, revision)
	}
}

func checkOwnership(t *testing.T, one, two consent.Store) {
	given := []byte("mine")
	if _, err := one.Save(t.Context(), given, ""); err != nil {
		t.Fatal(err)
	}
	clear(given)
	data, _ := load(t, one, "")
	if string(data) != "mine" {
		t.Fatalf("the store keeps the bytes of its caller: %q", data)
	}
	clear(data)
	for _, s := range []consent.Store{one, two} {
		if data, _ := load(t, s, ""); string(data) != "mine" {
			t.Errorf("the store gave away its own bytes: %q", data)
		}
	}
}

func checkEnded(t *testing.T, one, two consent.Store) {
	first := save(t, one, "1", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := one.Save(ctx, []byte("2"), first); err == nil {
		t.Error("Save succeeded after its context had ended")
	}
	if _, _, err := one.Load(ctx, ""); err == nil {
		t.Error("Load succeeded after its context had ended")
	}
	if data, _ := load(t, two, ""); string(data) != "1" {
		t.Errorf("a Save that failed left %q", data)
	}
}

// Many add a byte each, and none is lost.
func checkWriters(t *testing.T, one, two consent.Store) {
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for i := range writers {
		s := one
		if i%2 == 1 {
			s = two
		}
		wg.Go(func() {
			for range each {
				for {
					data, old, err := s.Load(t.Context(), "")
					if err == nil {
						_, err = s.Save(t.Context(), append(data, byte('a'+i)), old)
					}
					if err == nil {
						break
					}
					if !errors.Is(err, consent.ErrConflict) {
						t.Errorf("writer %d: %v", i, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	data, _ := load(t, one, "")
	for i := range writers {
		if n := bytes.Count(data, []byte{byte('a' + i)}); n != each {
			t.Errorf("of %d writes of writer %d there are %d", each, i, n)
		}
	}
}

// Two books over one place see what the other decides.
func checkBooks(t *testing.T, one, two consent.Store) {
	open := func(s consent.Store) *consent.Book {
		b, err := consent.Load(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ann, bob := open(one), open(two)
	for i, step := range []struct {
		who     *consent.Book
		verdict consent.Verdict
	}{{ann, consent.Approved}, {bob, consent.Rejected}, {ann, consent.Approved}, {bob, consent.Approved}} {
		l := &consent.Launch{Server: "s", Project: "/p", Transport: "stdio", Path: "/bin/s", Args: []string{fmt.Sprint(i / 2)}}
		if err := step.who.Decide(t.Context(), "somebody", l, step.verdict); err != nil {
			t.Fatal(err)
		}
		for _, b := range []*consent.Book{ann, bob} {
			if v, err := b.Verdict(t.Context(), l); err != nil || v != step.verdict {
				t.Errorf("step %d: verdict %q, %v, want %q", i, v, err, step.verdict)
			}
		}
	}
	records, err := ann.Records(t.Context())
	if err != nil || len(records) != 2 {
		t.Errorf("%d records, %v, want 2", len(records), err)
	}
}
