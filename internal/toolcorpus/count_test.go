package toolcorpus_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func TestCountTerms(t *testing.T) {
	search := toolcorpus.CountTerms([]toolcorpus.Document{
		{Key: "s/z", Server: "s", Name: "delete_file", Description: "delete delete delete"},
		{Key: "s/b", Title: "Delete a File"},
		{Key: "s/a", Parameters: "path\nThe file to DELETE."},
		{Key: "s/c", Description: "Creates files.", Name: "createFile"},
	})
	tests := map[string][]string{
		"delete":             {"s/a", "s/b", "s/z"}, // often counts as once, ties go by key
		"Delete A file, NOW": {"s/b", "s/a", "s/z"},
		"path delete delete": {"s/a", "s/b", "s/z"},
		"createfile":         {"s/c"}, // it knows nothing of capitals inside a word
		"s":                  {"s/z"},
		"remove":             {},
		"":                   {},
		"?!":                 {},
	}
	for query, want := range tests {
		assert.Equal(t, fmt.Sprintf("%q", search(query)), fmt.Sprintf("%q", want), "%q", query)
	}
}
