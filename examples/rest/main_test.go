package main

import (
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRest runs the program as a reader of the README does.
func TestRest(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
	assert.OK(t, err, "%s", out)
	for _, want := range []string{
		"12 endpoints",
		"secrets: [REST_PETSTORE___API_KEY REST_PETSTORE___PETSTORE_AUTH]",
		`ok: {"id":1,"name":"Rex","photoUrls":[],"status":"available","tags":[{"name":"a/b \u0026 c"}]}`,
		`ok: [{"id":2,"name":"Mimi","photoUrls":[],"status":"sold"}]`,
		"404 Not Found",
		`"status" must be one of "available", "pending", "sold"`,
		"ok: 2",
	} {
		assert.Contains(t, string(out), want)
	}
	for _, secret := range []string{storeKey, storeToken} {
		assert.Lacks(t, string(out), secret)
	}
}
