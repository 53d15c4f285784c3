package toolset

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// wantBetween reports an error unless least <= got <= most.
func wantBetween[T cmp.Ordered](t testing.TB, got, least, most T, what ...any) {
	t.Helper()
	if got < least || got > most {
		assert.Equal(t, fmt.Sprint(got), fmt.Sprintf("between %v and %v", least, most), what...)
	}
}
