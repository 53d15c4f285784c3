package auth

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// sendsForm returns a handler that sends an answer in form encoding.
func sendsForm(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestTokenAnswerInFormEncoding(t *testing.T) {
	token, scopes, err := ask(t, sendsForm(200, "access_token=A%2B&token_type=bearer&scope=repo%2Cread%3Aorg&expires_in=60&refresh_token=R+x"), "")
	assert.OK(t, err)
	assert.Equal(t, token.Access.Reveal(), "A+", "the token")
	assert.Equal(t, token.Refresh.Reveal(), "R x", "the refresh token")
	assert.Equal(t, token.Expires.Sub(token.Obtained), time.Minute, "the lifetime")
	assert.Equal(t, len(scopes), 2, "got the scopes")
}

func TestFormAnswersOfNoUse(t *testing.T) {
	for _, test := range []struct {
		name, body string
		status     int
		refused    string // code of the refusal; empty for an unreadable answer
	}{
		{"refused with status 200", "error=bad_verification_code&error_description=x", 200, "bad_verification_code"},
		{"refused", "error=invalid_grant", 400, "invalid_grant"},
		{"twice", "access_token=CANARY&access_token=CANARY2", 200, ""},
		{"broken", "access_token=CANARY%zz", 200, ""},
		{"empty", "", 200, ""},
		{"a page", "<html>CANARY", 200, ""},
		{"no token", "token_type=bearer&CANARY=1", 200, ""},
	} {
		_, _, err := ask(t, sendsForm(test.status, test.body), "")
		var refused *OAuthError
		var useless *RequestError
		switch {
		case test.refused != "" && (!errors.As(err, &refused) || refused.Code != test.refused):
			t.Errorf("%s: got %v, want an *OAuthError with the code %s", test.name, err, test.refused)
		case test.refused == "" && !errors.As(err, &useless):
			t.Errorf("%s: got %v, want a *RequestError", test.name, err)
		default:
			keepsSecrets(t, err, "CANARY")
		}
	}
}
