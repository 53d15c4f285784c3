// Package lru keeps values in the order in which they were used.
package lru

import (
	"container/list"
	"iter"
)

// A Map holds values by key and knows which of them was not used for the longest
// time. It has no bound of its own: the owner deletes what [Map.Oldest] yields. The
// zero Map is empty. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	byKey map[K]*list.Element // of *pair[K, V]
	used  list.List           // the one that was used last in front
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int { return len(m.byKey) }

// Get returns the value of a key, which is used by that.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	at, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	m.used.MoveToFront(at)
	return at.Value.(*pair[K, V]).value, true
}

// Peek returns the value of a key without using it.
func (m *Map[K, V]) Peek(key K) (value V, ok bool) {
	at, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	return at.Value.(*pair[K, V]).value, true
}

// Put sets the value of a key, which is used by that.
func (m *Map[K, V]) Put(key K, value V) {
	if at, ok := m.byKey[key]; ok {
		at.Value.(*pair[K, V]).value = value
		m.used.MoveToFront(at)
		return
	}
	if m.byKey == nil {
		m.byKey = map[K]*list.Element{}
	}
	m.byKey[key] = m.used.PushFront(&pair[K, V]{key, value})
}

// Delete removes a key, if it is there.
func (m *Map[K, V]) Delete(key K) {
	if at, ok := m.byKey[key]; ok {
		m.used.Remove(at)
		delete(m.byKey, key)
	}
}

// Oldest yields all values, the one that was not used for the longest time first. The
// one that was yielded last may be deleted meanwhile.
func (m *Map[K, V]) Oldest() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for at := m.used.Back(); at != nil; {
			p, newer := at.Value.(*pair[K, V]), at.Prev()
			if !yield(p.key, p.value) {
				return
			}
			at = newer
		}
	}
}
