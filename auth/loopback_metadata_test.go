package auth_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A server on this machine cannot have the program speak to another of its addresses,
// unless the configuration allows that.
func TestMetadataOfAnotherLoopbackAddress(t *testing.T) {
	const elsewhere = "http://127.0.0.2:1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "oauth-protected-resource") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, fmt.Sprintf(`{"resource":"http://%s/mcp","authorization_servers":[%q]}`, r.Host, elsewhere))
	}))
	defer server.Close()
	for _, test := range []struct {
		name    string
		allow   []netip.Prefix
		refused bool
	}{
		{"not allowed", nil, true},
		{"allowed", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			flow, err := auth.New(&auth.Config{Server: "s", URL: server.URL + "/mcp", Network: auth.Network{Allow: test.allow}})
			assert.OK(t, err)
			defer flow.Close()
			err = errOf(flow.Discover(t.Context(), nil))
			assert.Fails(t, err, "nothing listens there")
			var refusal *auth.URLError
			assert.Equal(t, errors.As(err, &refusal) && refusal.Origin == elsewhere, test.refused, "%v: refused", err)
		})
	}
}
