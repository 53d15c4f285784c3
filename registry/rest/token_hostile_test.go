package rest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What looks like a code of OAuth may be a secret that comes back.
func TestCodesThatAreSecrets(t *testing.T) {
	server := newWebAPI(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"not_hunter_two"}`)
	})
	s, err := New(&API{Name: "shop", BaseURL: server.URL, Auth: Auth{Type: FetchToken, Token: &TokenSource{
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
