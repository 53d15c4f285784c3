package storagetest

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// goodNames are names that trip file systems and databases.
func goodNames() []string {
	return []string{
		"a", "0", "a.b", "a_b", "a-b", "axb", "a..b", "a.-_b", "ab", "abc",
		"con", "aux.1", "nul", "com1.txt", "a.tmp", "a.lock", "a.1", "null", "select",
		strings.Repeat("n", storage.MaxName), strings.Repeat("n", storage.MaxName-1),
	}
}

func badNames() []string {
	return []string{
		"", ".", "..", "a/b", "../a", "/a", `a\b`, "a:b", "a b", "a\x00", "a\n", "A", "é", "a,b", "a~1", "a%", "a*",
		".a", "a.", "-a", "a-", "_a", "a_", strings.Repeat("n", storage.MaxName+1), "\xff",
	}
}

func checkNames(p *pair) {
	at := map[string]storage.Revision{}
	for _, name := range goodNames() {
		at[name] = p.save(p.first, name, "of "+name, "")
	}
	for _, name := range goodNames() {
		p.expect(name, "of "+name, at[name])
	}
	p.expectList(p.second, "", goodNames())
}

func checkBadNames(p *pair) {
	for _, name := range badNames() {
		assert.Fails(p, storage.CheckName(name), "CheckName(%q)", name)
		p.expectError(fmt.Sprintf("Load(%q)", name), errOf(p.first.Load(p.Context(), name, "")), storage.ErrName)
		p.expectError(fmt.Sprintf("Save(%q)", name), errOf(p.first.Save(p.Context(), name, []byte("x"), "")), storage.ErrName)
		p.expectError(fmt.Sprintf("Delete(%q)", name), p.first.Delete(p.Context(), name, ""), storage.ErrName)
		if l, ok := p.first.(storage.Locker); ok {
			unlock, err := l.Lock(p.Context(), name)
			if err == nil {
				unlock()
			}
			p.expectError(fmt.Sprintf("Lock(%q)", name), err, storage.ErrName)
		}
	}
	p.expectList(p.first, "", nil)
}

func checkList(p *pair) {
	p.expectList(p.first, "", nil)
	for _, name := range goodNames() {
		at := p.save(p.first, name, "x", "")
		p.save(p.first, name, "y", at) // is listed once all the same
	}
	gone := p.save(p.first, "gone", "x", "")
	assert.OK(p, p.first.Delete(p.Context(), "gone", gone), "Delete")
	// An underscore, a percent sign and a star are no wildcards.
	for _, prefix := range append(goodNames(), "", "a.", "a_", "a-", "a%", "*", "z", "../", "A") {
		var want []string
		for _, name := range goodNames() {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		p.expectList(p.second, prefix, want)
	}
}

func (p *pair) expectList(s storage.Store, prefix string, want []string) {
	p.Helper()
	var got []string
	for name, err := range s.Names(p.Context(), prefix) {
		assert.OK(p, err, "Names(%q)", prefix)
		got = append(got, name)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	assert.True(p, slices.Equal(got, want), "Names(%q) yielded %q, want %q: equal", prefix, got, want)
}

func checkListInUse(p *pair) {
	at := map[string]storage.Revision{}
	for _, name := range goodNames() {
		at[name] = p.save(p.first, name, "x", "")
	}
	for range p.first.Names(p.Context(), "") {
		break // the iterator must not go on
	}
	seen := 0
	for name, err := range p.first.Names(p.Context(), "") {
		assert.OK(p, err, "Names")
		assert.OK(p, p.first.Delete(p.Context(), name, at[name]), "Delete(%q) while names are listed", name)
		seen++
	}
	assert.Equal(p, seen, len(at), "names that were listed while they were deleted")
	p.expectList(p.second, "", nil)
}

// lastError returns the error that a list ends with.
func lastError(names iter.Seq2[string, error]) (last error) {
	for _, err := range names {
		last = err
	}
	return last
}
