package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// The token of the user is in the header of every request, of both revisions and
// of all kinds, and in no URL.
func TestHTTPBearer(t *testing.T) {
	const token = "s3cret"
	l := &login{token: token}
	s := &script{
		call: func(p *post) { p.json(200, answer) },
		get:  func(w http.ResponseWriter, r *http.Request) { openStream(w); <-r.Context().Done() },
	}
	c := shake(t, &transport.HTTP{URL: listen(t, s), OAuth: l})
	if _, err := ask(t, c); err != nil {
		t.Error(err)
	}
	if _, err := c.Call(bounded(t), "tools/call", []byte(modernMeta), nil); err != nil {
		t.Error(err)
	}
	closeWithin(t, c)
	kinds := map[string]int{}
	for _, r := range s.requests("") {
		kinds[r.Method]++
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+token {
			t.Errorf("%s: Authorization %q", r.Method, got)
		}
		if strings.Contains(r.URL.String(), token) {
			t.Errorf("%s: the token is in %s", r.Method, r.URL)
		}
	}
	if kinds["POST"] != 4 || kinds["GET"] != 1 || kinds["DELETE"] != 1 {
		t.Errorf("requests: %v", kinds)
	}

	// Where a redirect leads to another origin, or the older transport's server
	// names an address there, it does not go.
	var elsewhere []*http.Request
	other := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere = append(elsewhere, r) }))
	away := dial(t, &transport.HTTP{OAuth: l, URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	}))})
	_, err := ask(t, away)
	wantOutcome(t, err, mcp.NotSent)
	old := newOldServer(accept)
	old.address = other + "/messages"
	if _, err := (&transport.SSE{URL: listen(t, old), OAuth: l}).Connect(bounded(t)); err == nil {
		t.Error("the address of another origin is used")
	}
	if len(elsewhere) > 0 {
		t.Errorf("%d requests reached the other origin", len(elsewhere))
	}
}
