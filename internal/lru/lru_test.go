package lru_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/lru"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMap(t *testing.T) {
	var m lru.Map[string, int]
	want := func(order string) {
		t.Helper()
		got := ""
		for key, value := range m.Oldest() {
			got += fmt.Sprint(key, value)
		}
		assert.Equal(t, got, order)
		assert.Equal(t, m.Len(), len(order)/2, "the length")
	}
	want("")
	m.Delete("a")
	_, ok := m.Get("a")
	assert.False(t, ok, "a value of an empty map")
	for i, key := range []string{"a", "b", "c"} {
		m.Put(key, i)
	}
	want("a0b1c2")
	got, ok := m.Peek("a")
	assert.True(t, got == 0 && ok, "%d, %v", got, ok)
	want("a0b1c2")
	got, ok = m.Get("a")
	assert.True(t, got == 0 && ok, "%d, %v", got, ok)
	want("b1c2a0")
	m.Put("b", 7)
	want("c2a0b7")
	for key, value := range m.Oldest() {
		if value == 0 {
			break
		}
		m.Delete(key)
	}
	want("a0b7")
	m.Delete("a")
	m.Delete("b")
	want("")
}
