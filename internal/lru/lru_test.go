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
	if _, ok := m.Get("a"); ok {
		t.Error("got a value of an empty map, want none")
	}
	for i, key := range []string{"a", "b", "c"} {
		m.Put(key, i)
	}
	want("a0b1c2")
	if got, ok := m.Peek("a"); got != 0 || !ok {
		t.Errorf("got %d, %v, want 0", got, ok)
	}
	want("a0b1c2")
	if got, ok := m.Get("a"); got != 0 || !ok {
		t.Errorf("got %d, %v, want 0", got, ok)
	}
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
