package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What an authorization server says is made visible in the texts of errors.
func TestErrorTextsShowWhatIsHidden(t *testing.T) {
	const spell = "no\x1b[2J safe\revil \u202egnp.exe ze\u200bro \u3164fill"
	for _, err := range []error{
		&URLError{Server: "s", Field: "token_endpoint", Origin: spell, Problem: spell},
		&discoveryError{server: "s", stage: "x", err: errors.New(spell)},
		&metadataError{server: "s", issuer: spell, problem: spell},
		&IssuerMismatchError{server: "s", what: "metadata", want: "x", got: spell},
		&ScopeError{Server: "s", Scopes: []string{spell}, Problem: spell},
		&RegistrationError{server: "s", issuer: spell, err: errors.New(spell)},
		&OAuthError{Server: "s", Request: "token", Code: spell},
		&RequestError{server: "s", request: "token", host: spell, err: errors.New(spell)},
		&LoginRequiredError{Server: "s", Scopes: []string{spell}, Reason: spell},
	} {
		hidden := func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == 0x3164) }
		assert.False(t, strings.ContainsFunc(err.Error(), hidden), "%T: %q hides something", err, err)
	}
}

func TestAwaitLogin(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	done := make(chan struct{})
	close(done)
	waits := &LoginRequiredError{Server: "s", URL: "https://login.example", Done: done}
	forever := &LoginRequiredError{Server: "s", URL: "https://login.example", Done: make(chan struct{})}
	declined := &LoginRequiredError{Server: "s", Reason: "the login was declined"}
	other := errors.New("other")
	for name, test := range map[string]struct {
		ctx  context.Context
		errs []error
		want error
	}{
		"no login needed": {t.Context(), []error{nil}, nil},
		"logged in":       {t.Context(), []error{waits, waits, nil}, nil},
		"declined":        {t.Context(), []error{waits, declined}, declined},
		"another error":   {t.Context(), []error{waits, other}, other},
		"given up":        {ended, []error{forever}, context.Canceled},
	} {
		calls := 0
		err := AwaitLogin(test.ctx, func(context.Context) error {
			calls++
			return test.errs[calls-1]
		})
		assert.Is(t, err, test.want, "%s", name)
		assert.Equal(t, calls, len(test.errs), "%s: calls", name)
	}
}

// TestScopeErrorIsShort: scopes that a server asks for make no long error, and none with
// what looks like a secret.
func TestScopeErrorIsShort(t *testing.T) {
	github := "ghp_" + strings.Repeat("a1", 18)
	scopes := []string{"read", github, strings.Repeat("x", 10_000), "\x1b[31m"}
	for i := range 10_000 {
		scopes = append(scopes, fmt.Sprint("scope", i))
	}
	got := (&ScopeError{Server: "docs", Scopes: scopes, Problem: "are too much"}).Error()
	assert.True(t, len(got) <= 1000, "the error is short")
	assert.Lacks(t, got, github)
	assert.Lacks(t, got, "\x1b")
	assert.Equal(t, (&ScopeError{"docs", []string{"read", "write"}, "no"}).Error(), `auth: server "docs": scopes ["read" "write"]: no`)
}
