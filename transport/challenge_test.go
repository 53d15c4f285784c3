package transport_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// TestChallengeIsShown: what a server says of a login is short, has no control characters,
// and nothing that was sent to it, or that looks like a secret.
func TestChallengeIsShown(t *testing.T) {
	const key = "hunter2!"
	github := "ghp_" + strings.Repeat("a1", 18)
	for _, code := range []int{401, 403} {
		url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="docs", error_description="`+r.Header.Get("Authorization")+" "+r.Header.Get("X-Key")+" "+
				r.URL.Query().Get("key")+" "+github+"\u202e\u200b\t"+strings.Repeat("long ", 1000)+`"`)
			w.WriteHeader(code)
		}))
		c := dial(t, &transport.HTTP{URL: url + "/mcp?key=" + key + "q", Header: http.Header{"Authorization": {"Bearer " + key + "a"}, "X-Key": {key + "x"}}})
		_, err := ask(t, c)
		var status *transport.StatusError
		if !errors.As(err, &status) {
			t.Fatalf("%d: got the error %v, want a *StatusError", code, err)
		}
		got := status.Challenge
		if !strings.HasPrefix(got, `Bearer realm="docs"`) {
			t.Errorf("%d: got the challenge %s, want what the server says", code, got)
		}
		for _, secret := range []string{key, github} {
			assert.Lacks(t, got, secret, "%d: the challenge", code)
		}
		if len(got) > 600 {
			t.Errorf("%d: got %d bytes, want few", code, len(got))
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%d: got the challenge %q, want nothing that cannot be seen", code, got)
		}
	}
}
