package schemagate

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/lru"
)

// A Cache remembers schemas that were compiled, by the SHA-256 of their text. It is safe
// for concurrent use.
type Cache struct {
	most int

	mu      sync.Mutex // guards the following
	weight  int
	schemas lru.Map[Key, *Schema]
}

// maxWeight is what the schemas of a cache weigh together, unless one alone is
// heavier. Compiled they take up to a hundred times as many bytes.
const maxWeight = 1 << 20

// A Key identifies a schema by its text.
type Key [sha256.Size]byte

// KeyOf returns the key of a schema.
func KeyOf(raw json.RawMessage) Key { return sha256.Sum256(raw) }

// NewCache returns a cache for so many schemas, at least one; for fewer if they are large.
func NewCache(schemas int) *Cache { return &Cache{most: max(schemas, 1)} }

// Compile is the function [Compile] with the memory of the cache, for a schema of this key. Two
// callers who ask for the same new schema at one time may both compile it.
func (c *Cache) Compile(key Key, raw json.RawMessage) (*Schema, error) {
	c.mu.Lock()
	schema, ok := c.schemas.Get(key)
	c.mu.Unlock()
	if ok {
		return schema, nil
	}
	schema, err := Compile(raw)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.schemas.Peek(key); !ok {
		c.schemas.Put(key, schema)
		c.weight += schema.weight
	}
	for key, last := range c.schemas.Oldest() {
		if c.schemas.Len() <= c.most && (c.weight <= maxWeight || c.schemas.Len() == 1) {
			break
		}
		c.schemas.Delete(key)
		c.weight -= last.weight
	}
	return schema, nil
}
