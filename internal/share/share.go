// Package share accounts for what users and servers hold of a bounded store, so that
// none of them can keep the others out by filling it.
package share

import "iter"

// An Owner owns a part of a store: a user, a server, or a server on behalf of a user.
// The zero Owner owns nothing.
type Owner struct{ User, Server string }

// An Amount is how much of a store is taken, or may be.
type Amount struct {
	Count int // of things
	Bytes int // of all of them together
}

// A Book says how much of a store is taken: in all, and by each owner. It is guarded
// by the lock of its store.
type Book struct {
	Max   Amount // of all owners together; zero: no bound. It does not change.
	total Amount
	held  map[Owner]Amount // of users, of servers, and of servers for users

	users, servers int // how many of them hold more than a quarter of Max
}

// Add notes something new of so many bytes, for its user, its server, and both.
func (b *Book) Add(o Owner, bytes int) { b.change(o, Amount{1, bytes}) }

// Remove takes back an Add.
func (b *Book) Remove(o Owner, bytes int) { b.change(o, Amount{-1, -bytes}) }

func (b *Book) change(o Owner, by Amount) {
	b.total = b.total.plus(by)
	b.changeOf(Owner{User: o.User}, by)
	b.changeOf(Owner{Server: o.Server}, by)
	if o.User != "" && o.Server != "" {
		b.changeOf(o, by)
	}
}

func (b *Book) changeOf(o Owner, by Amount) {
	if o == (Owner{}) {
		return
	}
	if b.held == nil {
		b.held = map[Owner]Amount{}
	}
	before := b.held[o]
	now := before.plus(by)
	if now.Count > 0 {
		b.held[o] = now
	} else {
		delete(b.held, o)
	}
	change := 0
	if most := b.Share(quarter); before.exceeds(most) != now.exceeds(most) {
		if change = 1; before.exceeds(most) {
			change = -1
		}
	}
	switch {
	case o.Server == "":
		b.users += change
	case o.User == "":
		b.servers += change
	}
}

// quarter is the share of an owner that is exceeded first.
const quarter = 4

// Total returns what all hold together.
func (b *Book) Total() Amount { return b.total }

// Full reports whether all together hold more than Max.
func (b *Book) Full() bool { return b.total.exceeds(b.Max) }

// Share returns one n-th of Max, which has room for one thing at least.
func (b *Book) Share(n int) Amount {
	share := Amount{Bytes: b.Max.Bytes / n}
	if b.Max.Count > 0 {
		share.Count = max(1, b.Max.Count/n)
	}
	return share
}

// Exceeds reports whether an owner holds more than one n-th of Max. The zero Owner never does.
func (b *Book) Exceeds(o Owner, n int) bool { return b.held[o].exceeds(b.Share(n)) }

// First returns the element that makes room first in a store that is full: of the
// elements, the oldest first, the first of an owner whose user and server both hold more
// than a quarter of Max, else of one where either does, else the first of all.
func First[E any](b *Book, elements iter.Seq2[E, Owner]) (first E) {
	possible := min(b.users, 1) + min(b.servers, 1)
	most := -1
	for e, o := range elements {
		exceeded := 0
		if b.Exceeds(Owner{User: o.User}, quarter) {
			exceeded++
		}
		if b.Exceeds(Owner{Server: o.Server}, quarter) {
			exceeded++
		}
		if exceeded > most {
			first, most = e, exceeded
		}
		if most == possible {
			break
		}
	}
	return first
}

func (a Amount) plus(b Amount) Amount { return Amount{a.Count + b.Count, a.Bytes + b.Bytes} }

// exceeds reports whether there is more of anything that most bounds.
func (a Amount) exceeds(most Amount) bool {
	return most.Count > 0 && a.Count > most.Count || most.Bytes > 0 && a.Bytes > most.Bytes
}
