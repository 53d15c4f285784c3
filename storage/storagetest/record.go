package storagetest

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// largeData is what a record holds that is large, in bytes: MaxData would take too much
// memory where many tests run at once.
const largeData = 4 << 20

func checkSave(p *pair) {
	p.expectNone("a")
	at := p.save(p.first, "a", "one", "")
	p.expect("a", "one", at)
	p.expectNone("b")
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
		assert.OK(p, err, "Load")
		assert.Equal(p, r.Revision, at, "Load with known %q: revision", known)
		assert.True(p, string(r.Data) == data, "Load with known %q: got %s, want %s: equal", known, brief(string(r.Data)), brief(data))
	}
	p.expectError("Load of no record with a known revision", errOf(p.first.Load(p.Context(), "a", "some")), storage.ErrNotFound)
	first := p.save(p.first, "a", "one", "")
	load(p.second, first, "", first)
	load(p.second, "other", "one", first)
	second := p.save(p.second, "a", "two", first)
	load(p.first, first, "two", second)
	load(p.first, second, "", second)
	assert.OK(p, p.first.Delete(p.Context(), "a", second), "Delete")
	p.expectError("Load of a deleted record with its revision", errOf(p.second.Load(p.Context(), "a", second)), storage.ErrNotFound)
}

func checkSaveConflict(p *pair) {
	p.expectError("Save over a record that is not there", errOf(p.first.Save(p.Context(), "a", []byte("x"), "of no record")), storage.ErrConflict)
	p.expectNone("a")

	first := p.save(p.first, "a", "one", "")
	p.expectError("Save of a new record over another", errOf(p.second.Save(p.Context(), "a", []byte("x"), "")), storage.ErrConflict)
	p.expect("a", "one", first)

	second := p.save(p.first, "a", "two", first)
	p.expectError("Save over an earlier revision", errOf(p.second.Save(p.Context(), "a", []byte("x"), first)), storage.ErrConflict)
	p.expect("a", "two", second)
}

func checkRevisions(p *pair) {
	seen := map[storage.Revision]bool{}
	note := func(at storage.Revision) storage.Revision {
		assert.False(p, seen[at], "revision %q was given before", at)
		seen[at] = true
		return at
	}
	// The same bytes each time: a revision is not their hash.
	for range 3 {
		at := note(p.save(p.first, "a", "same", ""))
		at = note(p.save(p.second, "a", "same", at))
		assert.OK(p, p.first.Delete(p.Context(), "a", at), "Delete")
	}
	now := p.save(p.first, "a", "same", "")
	for at := range seen {
		assert.True(p, at != now, "revision %q is a new one", at)
		p.expectError("Save over a revision from before a Delete", errOf(p.second.Save(p.Context(), "a", []byte("x"), at)), storage.ErrConflict)
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
	assert.OK(p, p.second.Delete(p.Context(), "a", second), "Delete")
	p.expectNone("a")
	p.expect("a.b", "other", other)
	p.expectError("second Delete", p.first.Delete(p.Context(), "a", second), storage.ErrNotFound)
	p.expect("a", "again", p.save(p.second, "a", "again", ""))
}

func checkOwnership(p *pair) {
	data := []byte("mine")
	at, err := p.first.Save(p.Context(), "a", data, "")
	assert.OK(p, err, "Save")
	assert.Equal(p, string(data), "mine", "data after Save")
	copy(data, "xxxx")
	p.expect("a", "mine", at)
	r, err := p.first.Load(p.Context(), "a", "")
	assert.OK(p, err, "Load")
	copy(r.Data, "xxxx")
	p.expect("a", "mine", at)
}

func checkSizes(p *pair) {
	at := p.save(p.first, "a", "", "")
	p.expect("a", "", at)
	at, err := p.first.Save(p.Context(), "a", nil, at)
	assert.OK(p, err, "Save of nil")
	p.expect("a", "", at)
	odd := "\x00\xff\r\n\x1a'\"%\\"
	at = p.save(p.first, "a", odd, at)
	p.expect("a", odd, at)
	large := strings.Repeat("0123456789abcdef", largeData/16)
	at = p.save(p.first, "a", large, at)
	p.expect("a", large, at)
	p.expectError("Save of more than MaxData bytes", errOf(p.first.Save(p.Context(), "a", make([]byte, storage.MaxData+1), at)), storage.ErrTooLarge)
	p.expect("a", large, at)
	p.expect("a", "small", p.save(p.first, "a", "small", at))
}

func checkEnded(p *pair) {
	ctx := p.ended()
	at := p.save(p.first, "a", "one", "")
	p.expectError("Load after the end of the context", errOf(p.first.Load(ctx, "a", "")), ctx.Err())
	p.expectError("Save after the end of the context", errOf(p.first.Save(ctx, "a", []byte("two"), at)), ctx.Err())
	p.expectError("Delete after the end of the context", p.first.Delete(ctx, "a", at), ctx.Err())
	p.expect("a", "one", at)
	p.expectError("Names after the end of the context", lastError(p.first.Names(ctx, "")), ctx.Err())
}

func checkClose(p *pair) {
	at := p.save(p.first, "a", "one", "")
	for range 2 {
		assert.OK(p, p.first.Close(), "Close")
	}
	p.expectError("Load after Close", errOf(p.first.Load(p.Context(), "a", "")), storage.ErrClosed)
	p.expectError("Save after Close", errOf(p.first.Save(p.Context(), "a", nil, at)), storage.ErrClosed)
	p.expectError("Delete after Close", p.first.Delete(p.Context(), "a", at), storage.ErrClosed)
	p.expectError("Names after Close", lastError(p.first.Names(p.Context(), "")), storage.ErrClosed)
	if l, ok := p.first.(storage.Locker); ok {
		p.expectError("Lock after Close", errOf(l.Lock(p.Context(), "a")), storage.ErrClosed)
	}
}

func checkReopen(p *pair) {
	if !p.reopened {
		p.Skip("no Options.Reopen")
	}
	at := p.save(p.first, "a", "one", "")
	assert.OK(p, p.first.Close(), "Close")
	r, err := p.second.Load(p.Context(), "a", "")
	assert.OK(p, err, "Load after a Close")
	assert.Equal(p, string(r.Data)+" "+string(r.Revision), "one "+string(at), "after a Close, another store has")
	p.expectError("Save of a new record after a Close", errOf(p.second.Save(p.Context(), "a", []byte("x"), "")), storage.ErrConflict)
}
