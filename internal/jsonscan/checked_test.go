package jsonscan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Nothing counts as checked but the very object that was.
func TestIsChecked(t *testing.T) {
	object := []byte(`{"a":"` + strings.Repeat("x", worthKnowing) + `"}`)
	ctx := WithChecked(t.Context(), object)
	assert.True(t, IsChecked(ctx, object), "the object")
	assert.True(t, IsChecked(WithChecked(t.Context(), object), object), "the object in another context")
	for name, other := range map[string][]byte{"a copy": bytes.Clone(object), "its beginning": object[:worthKnowing], "its end": object[1:], "none": nil} {
		assert.False(t, IsChecked(ctx, other), "%s", name)
	}
	assert.False(t, IsChecked(t.Context(), object), "in a context of none")
	assert.False(t, IsChecked(WithChecked(ctx, nil), object), "in a context of none any more")
	assert.False(t, IsChecked(WithChecked(ctx, object[:10]), object), "in a context of another")
}
