package schemagate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/lru"
)

// A Cache remembers schemas that were compiled, and those that were refused, by
// the SHA-256 of their text. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex // guards the following
	schemas shelf
	refused shelf
}

// maxWeight is what the schemas of a cache weigh together, unless one alone is
// heavier. Compiled they take up to a hundred times as many bytes.
const maxWeight = 1 << 20

// A shelf holds entries within bounds, and drops those that were asked for the
// longest time ago.
type shelf struct {
	room    int
	weight  int
	entries lru.Map[Key, *entry]
}

// A Key identifies a schema by its text.
type Key [sha256.Size]byte

// KeyOf returns the key of a schema.
func KeyOf(raw json.RawMessage) Key { return sha256.Sum256(raw) }

type entry struct {
	schema *Schema
	err    *SchemaError
}

// NewCache returns a cache for so many schemas and so many refusals, at least
// one of each; for fewer if they are large.
func NewCache(schemas, refused int) *Cache {
	return &Cache{schemas: shelf{room: max(schemas, 1)}, refused: shelf{room: max(refused, 1)}}
}

// Compile is the function [Compile] with the memory of the cache, for a schema of this key. Two
// callers who ask for the same new schema at one time may both compile it.
func (c *Cache) Compile(key Key, raw json.RawMessage) (*Schema, error) {
	if e := c.find(key); e != nil {
		if e.err != nil {
			return nil, e.err
		}
		return e.schema, nil
	}
	schema, err := Compile(raw)
	e := &entry{schema: schema}
	errors.As(err, &e.err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err != nil {
		c.refused.add(key, e)
	} else {
		c.schemas.add(key, e)
	}
	return schema, err
}

func (c *Cache) find(key Key) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.schemas.entries.Get(key); ok {
		return e
	}
	e, _ := c.refused.entries.Get(key)
	return e
}

func (s *shelf) add(key Key, e *entry) {
	if _, ok := s.entries.Peek(key); ok {
		return
	}
	s.entries.Put(key, e)
	s.weight += e.weight()
	for key, last := range s.entries.Oldest() {
		if s.entries.Len() <= s.room && (s.weight <= maxWeight || s.entries.Len() == 1) {
			break
		}
		s.entries.Delete(key)
		s.weight -= last.weight()
	}
}

func (e *entry) weight() int {
	if e.schema == nil {
		return 0
	}
	return e.schema.weight
}
