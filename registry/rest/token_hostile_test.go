package rest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What looks like a code of OAuth may be a secret that comes back.
func TestCodesThatAreSecrets(t *testing.T) {
	server := newWebAPI(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"not_hunter_two"}`)
	})
	s, err := New(&API{Name: "shop", BaseURL: server.URL, Auth: Auth{Type: FetchToken, Token: &TokenRequest{
		URL: server.URL, User: "alice", Password: "hunter_two", Extract: "t",
	}}, Endpoints: []Endpoint{{Name: "a", Path: "/"}}}, &Options{Network: network(server)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var failed *TokenError
	if _, err := s.send(t.Context(), get()); !errors.As(err, &failed) || failed.Code != "" || strings.Contains(err.Error(), "hunter") {
		t.Errorf("%v", err)
	}
}

// A token is visible ASCII (RFC 6749, appendix A.12), and nothing else is sent as one.
func TestTextsThatAreNoTokens(t *testing.T) {
	s := &source{}
	for _, text := range []string{"", "a b", "a\x7fb", "a\u00e9", "a\r\nb", "\x00", strings.Repeat("a", maxToken+1)} {
		if got, err := s.token(text, time.Hour, time.Now()); err == nil {
			t.Errorf("%.20q is the token %.20q", text, got.text)
		}
	}
	if _, err := s.token("a~!", time.Hour, time.Now()); err != nil {
		t.Error(err)
	}
}
