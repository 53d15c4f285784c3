package auth_test

import (
	"errors"
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/auth"
)

// What an authorization server says is made visible in the texts of errors.
func TestErrorTextsShowWhatIsHidden(t *testing.T) {
	const spell = "no\x1b[2J safe\revil \u202egnp.exe ze\u200bro \u3164fill"
	for _, err := range []error{
		&auth.URLError{Server: "s", Field: "token_endpoint", Origin: spell, Problem: spell},
		&auth.DiscoveryError{Server: "s", Stage: "x", Err: errors.New(spell)},
		&auth.MetadataError{Server: "s", Issuer: spell, Problem: spell},
		&auth.IssuerMismatchError{Server: "s", What: "metadata", Want: "x", Got: spell},
		&auth.ResourceMismatchError{Server: "s", URL: "x", Got: spell},
		&auth.ScopeError{Server: "s", Scopes: []string{spell}, Problem: spell},
		&auth.RegistrationError{Server: "s", Issuer: spell, Err: errors.New(spell)},
		&auth.OAuthError{Server: "s", Request: "token", Code: spell},
		&auth.RequestError{Server: "s", Request: "token", Host: spell, Err: errors.New(spell)},
		&auth.LoginRequiredError{Server: "s", Scopes: []string{spell}, Reason: spell},
	} {
		for _, r := range err.Error() {
			if r != '\n' && (!unicode.IsPrint(r) || r == 0x3164) {
				t.Errorf("%T: got %q with %U in it, want visible characters", err, err, r)
				break
			}
		}
	}
}
