package schemagate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func (c *Cache) sizes() [2]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return [2]int{c.schemas.entries.Len(), c.refused.entries.Len()}
}

func TestCache(t *testing.T) {
	c := NewCache(2, 1)
	compile := func(schema string) *Schema {
		s := assert.Value(c.Compile(json.RawMessage(schema)))(t)
		return s
	}
	a, b := compile(`{"type":"string"}`), compile(`{"type":"null"}`)
	if a == b || compile(`{"type":"string"}`) != a || compile(`{"type":"null"}`) != b {
		t.Error("a schema was compiled twice, or another returned")
	}
	compile(`{"type":"string"}`)
	compile(`{}`) // for which the one that was not asked for has to go
	if compile(`{"type":"string"}`) != a {
		t.Error("the one last asked for was dropped")
	}
	if compile(`{"type":"null"}`) == b {
		t.Error("more than two schemas are kept")
	}
	_, first := c.Compile(json.RawMessage(`{"$ref":"#"}`))
	_, again := c.Compile(json.RawMessage(`{"$ref":"#"}`))
	var refused *SchemaError
	if !errors.As(first, &refused) || refused.Token != SchemaCycle || first != again {
		t.Errorf("refusals %v, %v", first, again)
	}
	if _, err := c.Compile(json.RawMessage(`7`)); !errors.As(err, &refused) || refused.Token != Invalid {
		t.Errorf("error %v", err)
	}
	assert.Equal(t, c.sizes(), [2]int{2, 1}, "sizes")
}

// Large schemas, and those with large patterns, are few.
func TestCacheWeight(t *testing.T) {
	c := NewCache(1000, 1)
	compile := func(schema string) {
		t.Helper()
		assert.Value(c.Compile(json.RawMessage(schema)))(t)
	}
	held := func() (n, weight int) {
		for _, e := range c.schemas.entries.Oldest() {
			weight += e.weight()
		}
		assert.Equal(t, weight, c.schemas.weight)
		return c.schemas.entries.Len(), weight
	}
	text := strings.Repeat("x", 200<<10)
	for i := range 8 {
		compile(fmt.Sprintf(`{"title":"%d%s"}`, i, text))
	}
	if n, weight := held(); n != 5 || weight > maxWeight {
		t.Errorf("%d large schemas are held, of %d", n, weight)
	}
	for i := range 20 {
		compile(fmt.Sprintf(`{"pattern":"^%d(a{1,99}){1,99}$"}`, i))
	}
	if n, weight := held(); n > 60 || n < 5 || weight > maxWeight {
		t.Errorf("%d schemas with large patterns are held, of %d", n, weight)
	}
	for i := range 20 {
		compile(fmt.Sprintf(`{"const":%d}`, i))
	}
	if n, _ := held(); n < 20 {
		t.Errorf("%d small schemas are held", n)
	}
}

func TestCacheConcurrent(t *testing.T) {
	c := NewCache(3, 3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 60 {
				schema := fmt.Sprintf(`{"const":%d}`, i%6)
				s, err := c.Compile(json.RawMessage(schema))
				if err != nil || s.Validate(fmt.Append(nil, i%6)) != nil {
					t.Error(err)
				}
				_, err = c.Compile(fmt.Append(nil, i%6))
				assert.Fails(t, err)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, c.sizes(), [2]int{3, 3}, "sizes")
}
