package transport_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// TestAutoTellsAllThatHTTPTells has the client ask a connection for what it may know:
// one that chose by itself knows the same.
func TestAutoTellsAllThatHTTPTells(t *testing.T) {
	for name, handler := range map[string]http.Handler{
		"streamable": http.NotFoundHandler(), // nothing is sent before the handshake
		"sse":        shakingOld(http.StatusNotFound, ""),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			auto := &transport.Auto{URL: server.URL}
			var own mcp.Transport = &transport.HTTP{URL: server.URL}
			if name == "sse" {
				own = &transport.SSE{URL: server.URL}
				// It finds out by a handshake, and remembers.
				client := mcp.NewClient("old", auto, nil)
				if err := client.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := client.Close(); err != nil {
					t.Fatal(err)
				}
			}
			want, err := own.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = want.Close() }()
			got, err := auto.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = got.Close() }()
			has := reflect.TypeOf(got)
			for _, name := range []string{"Err", "PID", "Degraded", "Working", "Stateless", "Announced", "LateProgress", "Origin"} {
				_, wanted := reflect.TypeOf(want).MethodByName(name)
				if _, ok := has.MethodByName(name); wanted && !ok {
					t.Errorf("it has no method %s", name)
				}
			}
			if o, ok := got.(interface{ Origin() string }); ok && o.Origin() != server.URL {
				t.Errorf("the origin is %q, not %q", o.Origin(), server.URL)
			}
		})
	}
}
