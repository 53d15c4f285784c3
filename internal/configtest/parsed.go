package configtest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// CheckParsed fails the test unless all that must hold for what config.Parse returned,
// whatever it was given, does: each error says where it is, and each server can be
// started or says why not.
func CheckParsed(t testing.TB, c *config.Config, err error) {
	t.Helper()
	if err != nil {
		checkPlace(t, err)
		return
	}
	names := map[string]bool{}
	for _, s := range c.Servers {
		if s.Name == "" || names[s.Name] || s.Source.Line < 1 || s.Source.Format != c.Format {
			t.Fatalf("bad or repeated name %q, or no place: %s", s.Name, s.Source)
		}
		names[s.Name] = true
		_, _ = s.Hash(), s.Fingerprint()
		for key, value := range s.Extra {
			if !json.Valid(value) {
				t.Fatalf("%q is not JSON: %q", key, value)
			}
		}
		if s.Err != nil {
			var joined interface{ Unwrap() []error }
			if !errors.As(s.Err, &joined) {
				t.Fatalf("Err is a %T", s.Err)
			}
			for _, err := range joined.Unwrap() {
				checkPlace(t, err)
			}
			continue
		}
		if (s.Command == "") == (s.URL == "") || s.Transport == "" {
			t.Fatalf("a server that cannot be started has no Err: %s", s)
		}
	}
	for _, w := range c.Warnings {
		checkPlace(t, w)
	}
}

// checkPlace fails the test unless err says where it is.
func checkPlace(t testing.TB, err error) {
	t.Helper()
	var typed *config.Error
	if !errors.As(err, &typed) || typed.Line < 1 || typed.Column < 1 || typed.Err == nil {
		t.Fatalf("error without a place: %#v", err)
	}
	if strings.ContainsAny(err.Error(), "\r\n\x00\x1b") {
		t.Fatalf("control character in %q", err)
	}
}
