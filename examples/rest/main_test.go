package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRest runs the program as a reader of the README does.
func TestRest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "run", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"12 endpoints",
		"secrets: [REST_PETSTORE___API_KEY REST_PETSTORE___PETSTORE_AUTH]",
		`ok: {"id":1,"name":"Rex","photoUrls":[],"status":"available","tags":[{"name":"a/b \u0026 c"}]}`,
		`ok: [{"id":2,"name":"Mimi","photoUrls":[],"status":"sold"}]`,
		`ok: {"available":1,"sold":1}`,
		"404 Not Found",
		`"status" must be one of "available", "pending", "sold"`,
		"ok: 2",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %s:\n%s", want, out)
		}
	}
	for _, secret := range []string{storeKey, storeToken} {
		if strings.Contains(string(out), secret) {
			t.Errorf("the output has %q", secret)
		}
	}
}
