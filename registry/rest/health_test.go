package rest

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func TestHealth(t *testing.T) {
	var status int
	server := newTestServer(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, testSecret)
	})
	for _, test := range []struct {
		path    string
		healthy string // statuses
	}{
		{"", "200 204 302 400 404 405 429 501"},
		{"/health?deep=1&x", "200 204"},
	} {
		s := newTestService(t, &API{BaseURL: server.URL + "/v1/", HealthPath: test.path, Auth: Auth{Type: Bearer, Value: "${KEY}"}})
		for _, status = range []int{200, 204, 302, 400, 401, 403, 404, 405, 407, 429, 500, 501, 503} {
			err := s.Health(t.Context())
			noSecretIn(t, err)
			assert.Equal(t, err == nil, strings.Contains(test.healthy, strconv.Itoa(status)), "%q, status %d: healthy", test.path, status)
			if err != nil {
				assert.Contains(t, assert.As[*callError](t, err).Error(), strconv.Itoa(status))
				assert.Equal(t, mcp.OutcomeOf(err), mcp.Answered, "the outcome")
			}
		}
	}
	got := server.requests()
	first, last := got[0], got[len(got)-1]
	assert.Equal(t, first.method, "HEAD")
	assert.Equal(t, first.uri, "/v1/")
	assert.Equal(t, first.header.Get("Authorization"), "Bearer "+testSecret)
	assert.Equal(t, last.method, "GET")
	assert.Equal(t, last.uri, "/v1/health?deep=1&x")
}

func TestHealthOfWhatCannotBeReached(t *testing.T) {
	server := newTestServer(t, nil)
	assert.As[*secretError](t, newTestService(t, &API{BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${NOT_SET}"}}).Health(t.Context()))
	s := newTestService(t, &API{BaseURL: server.URL})
	server.Close()
	assert.Equal(t, assert.As[*callError](t, s.Health(t.Context())).endpoint, "")
}
