package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

func addNative(t testing.TB, s *site, name string) {
	t.Helper()
	type input struct{}
	tool, err := registry.Func(name, "Does nothing.", func(context.Context, input) (string, error) { return "", nil })
	if err == nil {
		err = s.host.Registry().Add(tool)
	}
	assert.OK(t, err)
}

// Clients hear of a changed tool if, and only if, it is one of their view.
func TestOnlyViewsThatChanged(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{"part": {Servers: []string{"one"}}}})
	get := map[string]string{"Accept": "text/event-stream"}
	all := s.listen(t, shot{method: http.MethodGet, session: s.begin(t, "/mcp", "a", "2025-11-25"), user: "a", header: get})
	part := s.listen(t, shot{method: http.MethodGet, session: s.begin(t, "/p/part/mcp", "a", "2025-11-25"), path: "/p/part/mcp", user: "a", header: get})
	const changed = "notifications/tools/list_changed"
	addNative(t, s, "native")
	if m := all.message(t); m.Method != changed {
		t.Errorf("all: got %+v, want a notification", m)
	}
	addEmptyTool(s.server, "later")
	if m := all.message(t); m.Method != changed {
		t.Errorf("all: got %+v, want a notification", m)
	}
	if m := part.message(t); m.Method != changed {
		t.Errorf("part: got %+v, want a notification", m)
	}
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	if _, data := part.next("data"); data != "" {
		t.Errorf("part: got %s, want one notification", data)
	}
}

// BenchmarkToolsChanged tells what it costs that a tool is added, where 200 views of servers with 50
// tools each were used.
func BenchmarkToolsChanged(b *testing.B) {
	s := &site{server: newUpstream()}
	for i := range 46 {
		addEmptyTool(s.server, fmt.Sprint("tool", i))
	}
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprint("server", i))
	}
	s.open(b, s.hostOptions(), &gateway.Options{}, names)
	for _, name := range names {
		s.begin(b, "/s/"+name+"/mcp", "", "2025-11-25")
	}
	l := s.listen(b, shot{method: http.MethodGet, session: s.begin(b, "/mcp", "", "2025-11-25"), header: map[string]string{"Accept": "text/event-stream"}})
	n := 0
	for b.Loop() {
		n++
		addNative(b, s, fmt.Sprint("native", n))
		l.message(b)
	}
}
