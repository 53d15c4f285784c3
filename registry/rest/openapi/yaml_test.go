package openapi_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

func TestYAMLBombs(t *testing.T) {
	bomb := "openapi: 3.0.0\nx-a: &a {k: v}\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += "x-" + string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 9), ", ") + "]\n"
	}
	_, _, err := openapi.Parse([]byte(bomb), nil)
	assert.Fails(t, err)
	assert.Contains(t, err.Error(), "aliases")
}

// As JSON a document may hold more, since what is not asked for is not kept.
func TestLargeDocuments(t *testing.T) {
	large := `{"openapi": "3.0.0", "x-a": [` + strings.Repeat("1,", 1<<20) + `1]}`
	parse(t, large, nil)
	for want, text := range map[string]string{
		"longer": large + strings.Repeat(" ", 16<<20),
		"deep":   `{"openapi": "3.0.0", "x-a": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	} {
		_, _, err := openapi.Parse([]byte(text), nil)
		assert.Fails(t, err)
		assert.Contains(t, err.Error(), want)
	}
}
