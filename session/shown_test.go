package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A shownText is everything that a test has made us show: logs at debug level,
// and errors and values in every form. Each world checks at its end that no
// secret is in it.
type shownText struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *shownText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// add shows a value.
func (s *shownText) add(value any) {
	if value == nil {
		return
	}
	text := fmt.Sprintf("%v %+v %s %q %#v\n", value, value, value, value, value)
	if encoded, err := json.Marshal(value); err == nil {
		text += string(encoded) + "\n"
	}
	_, _ = s.Write([]byte(text))
}

func (s *shownText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// forms are those in which a secret can be shown.
func forms(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		fmt.Sprintf("%x", secret), fmt.Sprint([]byte(secret)),
	}
}

// loginState finds the states of logins in their URLs, which users have to see.
var loginState = regexp.MustCompile(`state=([\w-]+)`)

func (s *shownText) check(t *testing.T, secrets []string) {
	t.Helper()
	text := s.String()
	visible := map[string]bool{}
	for _, m := range loginState.FindAllStringSubmatch(text, -1) {
		visible[m[1]] = true
	}
	for _, secret := range secrets {
		if visible[secret] {
			continue
		}
		for _, form := range forms(secret) {
			if len(form) > 8 && strings.Contains(text, form) {
				i := strings.Index(text, form)
				t.Errorf("a secret was shown, as %q: %s", form, text[max(0, i-200):min(len(text), i+len(form)+100)])
			}
		}
	}
}

func TestShownSecretsAreFound(t *testing.T) {
	for _, form := range forms("canary in a mine") {
		s := &shownText{}
		s.add(errors.New("before " + form + " after"))
		found := &testing.T{}
		s.check(found, []string{"canary in a mine"})
		assert.Equal(t, found.Failed(), true, "%q is not found", form)
	}
}

func TestValuesShowNoSecrets(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	required := w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	r, _, err := m.load(w.ctx, alice, recordName(alice))
	assert.OK(t, err)
	status := assert.Value(m.Status(w.ctx, alice))(t)
	e := m.entry(alice)
	e.mu.Lock()
	known := *e.known
	e.mu.Unlock()
	for _, value := range []any{r, *r, r.Grant, *r.Grant, r.Client, status, required, known, m.Handler(alice), w.config} {
		w.shown.add(value)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("all", "record", r, "grant", r.Grant, "token", r.Grant.Token, "status", status)
	_, _ = w.shown.Write(log.Bytes())
	assert.OK(t, m.SetToken(w.ctx, Key{User: "bob", Server: "s"}, auth.Secret("0123456789 of bob")))
	bob, _, err := m.load(w.ctx, Key{User: "bob", Server: "s"}, recordName(Key{User: "bob", Server: "s"}))
	assert.OK(t, err)
	w.shown.add(bob)
	w.shown.check(t, []string{"0123456789 of bob"})
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 400, Body: `{"error":"` + r.Grant.Token.Refresh.Reveal() + `"}`})
	w.as.ExpireAll()
	assert.Fails(t, errOf(w.call(w.ctx, m, alice)), "a token came from a refusal")
}
