package storagetest

import (
	"errors"
	"strings"

	"github.com/mcpbelt/mcpbelt/storage"
)

// largeData is what a record holds that is large, in bytes: MaxData would take too much
// memory where many tests run at once.
const largeData = 4 << 20

func checkLoad(p *pair) {
	p.expectNone("a")
	at := p.save(p.first, "a", "one", "")
	p.expect("a", "one", at)
	p.expectNone("b")
}

func checkSave(p *pair) {
	at := p.save(p.first, "a", "one", "")
	at = p.save(p.second, "a", "two", at)
	p.expect("a", "two", at)
	other := p.save(p.first, "b", "other", "")
	at = p.save(p.first, "a", "three", at)
	p.expect("a", "three", at)
	p.expect("b", "other", other)
}

func checkKnown(p *pair) {
	load := func(s storage.Store, known storage.Revision, data string, at storage.Revision) {
		p.Helper()
		r, err := s.Load(p.Context(), "a", known)
		if err != nil {
			p.Fatalf("Load: %v", err)
		}
		if r.Revision != at {
			p.Errorf("Load with known %q: got revision %q, want %q", known, r.Revision, at)
		}
		if string(r.Data) != data {
			p.Errorf("Load with known %q: got %s, want %s", known, brief(string(r.Data)), brief(data))
		}
	}
	_, err := p.first.Load(p.Context(), "a", "some")
	p.expectError("Load of no record with a known revision", err, storage.ErrNotFound)
	first := p.save(p.first, "a", "one", "")
	load(p.second, first, "", first)
	load(p.second, "other", "one", first)
	second := p.save(p.second, "a", "two", first)
	load(p.first, first, "two", second)
	load(p.first, second, "", second)
	if err := p.first.Delete(p.Context(), "a", second); err != nil {
		p.Fatalf("Delete: %v", err)
	}
	_, err = p.second.Load(p.Context(), "a", second)
	p.expectError("Load of a deleted record with its revision", err, storage.ErrNotFound)
}

func checkSaveConflict(p *pair) {
	_, err := p.first.Save(p.Context(), "a", []byte("x"), "of no record")
	p.expectError("Save over a record that is not there", err, storage.ErrConflict)
	p.expectNone("a")

	first := p.save(p.first, "a", "one", "")
	_, err = p.second.Save(p.Context(), "a", []byte("x"), "")
	p.expectError("Save of a new record over another", err, storage.ErrConflict)
	p.expect("a", "one", first)

	second := p.save(p.first, "a", "two", first)
	_, err = p.second.Save(p.Context(), "a", []byte("x"), first)
	p.expectError("Save over an earlier revision", err, storage.ErrConflict)
	p.expect("a", "two", second)
}

func checkRevisions(p *pair) {
	seen := map[storage.Revision]bool{}
	note := func(at storage.Revision) storage.Revision {
		if seen[at] {
			p.Errorf("revision %q was given twice", at)
		}
		seen[at] = true
		return at
	}
	// The same bytes each time: a revision is not their hash.
	for range 3 {
		at := note(p.save(p.first, "a", "same", ""))
		at = note(p.save(p.second, "a", "same", at))
		if err := p.first.Delete(p.Context(), "a", at); err != nil {
			p.Fatalf("Delete: %v", err)
		}
	}
	now := p.save(p.first, "a", "same", "")
	for at := range seen {
		if at == now {
			p.Errorf("revision %q was given twice", at)
		}
		_, err := p.second.Save(p.Context(), "a", []byte("x"), at)
		p.expectError("Save over a revision from before a Delete", err, storage.ErrConflict)
	}
	p.expect("a", "same", now)
}

func checkDelete(p *pair) {
	p.expectError("Delete of no record", p.first.Delete(p.Context(), "a", ""), storage.ErrNotFound)
	p.expectError("Delete of no record", p.first.Delete(p.Context(), "a", "some"), storage.ErrNotFound)
	first := p.save(p.first, "a", "one", "")
	other := p.save(p.first, "a.b", "other", "")
	second := p.save(p.first, "a", "two", first)
	p.expectError("Delete of an earlier revision", p.second.Delete(p.Context(), "a", first), storage.ErrConflict)
	p.expectError("Delete of a new record", p.second.Delete(p.Context(), "a", ""), storage.ErrConflict)
	p.expect("a", "two", second)
	if err := p.second.Delete(p.Context(), "a", second); err != nil {
		p.Fatalf("Delete: %v", err)
	}
	p.expectNone("a")
	p.expect("a.b", "other", other)
	p.expectError("second Delete", p.first.Delete(p.Context(), "a", second), storage.ErrNotFound)
	p.expect("a", "again", p.save(p.second, "a", "again", ""))
}

func checkOwnership(p *pair) {
	data := []byte("mine")
	at, err := p.first.Save(p.Context(), "a", data, "")
	if err != nil {
		p.Fatalf("Save: %v", err)
	}
	if string(data) != "mine" {
		p.Errorf("Save changed its data to %q", data)
	}
	copy(data, "xxxx")
	p.expect("a", "mine", at)
	r, err := p.first.Load(p.Context(), "a", "")
	if err != nil {
		p.Fatalf("Load: %v", err)
	}
	copy(r.Data, "xxxx")
	p.expect("a", "mine", at)
}

func checkSizes(p *pair) {
	at := p.save(p.first, "a", "", "")
	p.expect("a", "", at)
	at, err := p.first.Save(p.Context(), "a", nil, at)
	if err != nil {
		p.Fatalf("Save of nil: %v", err)
	}
	p.expect("a", "", at)
	odd := "\x00\xff\r\n\x1a'\"%\\"
	at = p.save(p.first, "a", odd, at)
	p.expect("a", odd, at)
	large := strings.Repeat("0123456789abcdef", largeData/16)
	at = p.save(p.first, "a", large, at)
	p.expect("a", large, at)
	_, err = p.first.Save(p.Context(), "a", make([]byte, storage.MaxData+1), at)
	p.expectError("Save of more than MaxData bytes", err, storage.ErrTooLarge)
	p.expect("a", large, at)
	p.expect("a", "small", p.save(p.first, "a", "small", at))
}

func checkEnded(p *pair) {
	ctx := p.ended()
	at := p.save(p.first, "a", "one", "")
	_, err := p.first.Load(ctx, "a", "")
	p.expectError("Load after the end of the context", err, ctx.Err())
	_, err = p.first.Save(ctx, "a", []byte("two"), at)
	p.expectError("Save after the end of the context", err, ctx.Err())
	p.expectError("Delete after the end of the context", p.first.Delete(ctx, "a", at), ctx.Err())
	p.expect("a", "one", at)
	p.expectError("Names after the end of the context", lastError(p.first.Names(ctx, "")), ctx.Err())
}

func checkClose(p *pair) {
	at := p.save(p.first, "a", "one", "")
	for range 2 {
		if err := p.first.Close(); err != nil {
			p.Fatalf("Close: %v", err)
		}
	}
	_, err := p.first.Load(p.Context(), "a", "")
	p.expectError("Load after Close", err, storage.ErrClosed)
	_, err = p.first.Save(p.Context(), "a", nil, at)
	p.expectError("Save after Close", err, storage.ErrClosed)
	p.expectError("Delete after Close", p.first.Delete(p.Context(), "a", at), storage.ErrClosed)
	p.expectError("Names after Close", lastError(p.first.Names(p.Context(), "")), storage.ErrClosed)
	if l, ok := p.first.(storage.Locker); ok {
		_, err = l.Lock(p.Context(), "a")
		p.expectError("Lock after Close", err, storage.ErrClosed)
	}
}

func checkReopen(p *pair) {
	if !p.reopened {
		p.Skip("no Options.Reopen")
	}
	at := p.save(p.first, "a", "one", "")
	if err := p.first.Close(); err != nil {
		p.Fatalf("Close: %v", err)
	}
	r, err := p.second.Load(p.Context(), "a", "")
	if err != nil || string(r.Data) != "one" || r.Revision != at {
		p.Errorf("after a Close, another store has %q, %q, %v", r.Data, r.Revision, err)
	}
	_, err = p.second.Save(p.Context(), "a", []byte("x"), "")
	if !errors.Is(err, storage.ErrConflict) {
		p.Errorf("after a Close, another store creates the record again: %v", err)
	}
}
