package toolrank

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

func TestPhrases(t *testing.T) {
	for text, want := range map[string]string{
		"how many": "count", "How far": "distance", "sign in": "login", "roll back": "rollback",
		"get it": "", "many how": "", "many": "",
	} {
		words := append(bm25.Words(text), "")
		assert.Equal(t, phrase(words[0], words[1]), want, "%q means", text)
	}
}
