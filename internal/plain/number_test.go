package plain_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0 blocks", 1: "1 block", 2: "2 blocks"} {
		assert.Equal(t, plain.Number(n, "block"), want)
	}
}

func TestArticle(t *testing.T) {
	for kind, want := range map[string]string{"array": "an array", "string": "a string", "null": "null"} {
		assert.Equal(t, plain.Article(kind), want)
	}
}
