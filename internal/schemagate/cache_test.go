package schemagate

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestCache(t *testing.T) {
	c := NewCache(2)
	compile := func(schema string) *Schema {
		return assert.Value(compileIn(c, json.RawMessage(schema)))(t)
	}
	a, b := compile(`{"type":"string"}`), compile(`{"type":"null"}`)
	assert.Equal(t, compile(`{"type":"string"}`), a, "the first schema")
	assert.Equal(t, compile(`{"type":"null"}`), b, "the second schema")
	compile(`{"type":"string"}`)
	compile(`{}`) // for which the one that was not asked for has to go
	assert.Equal(t, compile(`{"type":"string"}`), a, "the one last asked for")
	assert.False(t, compile(`{"type":"null"}`) == b, "more than two schemas are kept")
	assert.Equal(t, assert.As[*SchemaError](t, assert.Err(compileIn(c, json.RawMessage(`7`)))).Token, Invalid)
	assert.Equal(t, c.schemas.Len(), 2, "schemas")
}

// Large schemas, and those with large patterns, are few.
func TestCacheWeight(t *testing.T) {
	c := NewCache(1000)
	compile := func(schema string) {
		t.Helper()
		assert.Value(compileIn(c, json.RawMessage(schema)))(t)
	}
	held := func() (n, weight int) {
		for _, e := range c.schemas.Oldest() {
			weight += e.weight
		}
		assert.Equal(t, weight, c.weight)
		return c.schemas.Len(), weight
	}
	text := strings.Repeat("x", 200<<10)
	for i := range 8 {
		compile(fmt.Sprintf(`{"title":"%d%s"}`, i, text))
	}
	n, weight := held()
	assert.Equal(t, n, 5, "large schemas")
	assert.False(t, weight > maxWeight, "the weight %d is too much", weight)
	for i := range 20 {
		compile(fmt.Sprintf(`{"pattern":"^%d(a{1,99}){1,99}$"}`, i))
	}
	n, weight = held()
	assert.True(t, n >= 5 && n <= 60, "%d schemas with large patterns are some", n)
	assert.False(t, weight > maxWeight, "the weight %d is too much", weight)
	for i := range 20 {
		compile(fmt.Sprintf(`{"const":%d}`, i))
	}
	n, _ = held()
	assert.False(t, n < 20, "%d small schemas are few", n)
}

func TestCacheConcurrent(t *testing.T) {
	c := NewCache(3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 60 {
				s, err := compileIn(c, json.RawMessage(fmt.Sprintf(`{"const":%d}`, i%6)))
				if err != nil || s.Validate(fmt.Append(nil, i%6)) != nil {
					t.Error(err)
				}
				assert.Fails(t, assert.Err(compileIn(c, fmt.Append(nil, i%6))))
			}
		})
	}
	wg.Wait()
	assert.Equal(t, c.schemas.Len(), 3, "schemas")
}

func compileIn(c *Cache, raw []byte) (*Schema, error) { return c.Compile(KeyOf(raw), raw) }
