package gate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// only returns the one element of a list. It ends the test if there are others, or none.
func only[T any](t testing.TB, list []T) T {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("got %d elements, want one: %v", len(list), list)
	}
	return list[0]
}

// wantList reports an error if two lists differ.
func wantList[T comparable](t testing.TB, got, want []T, what ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		assert.Equal(t, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want), what...)
	}
}
