package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Each entry is one that connects to the address with a key, as this package reads it in the file of its program.
func TestConnections(t *testing.T) {
	formats := []*config.Format{codex.Format(), goose.Format()}
	s := open(t, &host.Options{}, &admin.Options{Config: &config.Options{Formats: formats}})
	const at = "https://belt.example/mcp"
	got := s.do("viewer", "GET", "/api/v1/connect?url="+at, "", nil)
	assert.Equal(t, got.status, 200, "status")
	var list []struct{ Client, File, Entry string }
	assert.OK(t, json.Unmarshal([]byte(got.body), &list))
	assert.Equal(t, len(list), 12, "programs")
	for _, c := range list {
		read := assert.Value(config.Parse(t.Context(), "/home/me"+strings.TrimPrefix(c.File, "~"), []byte(c.Entry), &config.Options{Formats: formats, AsWritten: true}))(t)
		if len(read.Servers) != 1 {
			t.Errorf("%s: got %d servers, want one", c.Client, len(read.Servers))
			continue
		}
		one := read.Servers[0]
		bridge := strings.Join(one.Args, " ")
		assert.True(t, one.URL == at || strings.Contains(bridge, " "+at+" "), "%s: the address is %q %q", c.Client, one.URL, bridge)
		assert.True(t, one.Headers["Authorization"].Reveal() == "Bearer YOUR_KEY" || strings.Contains(bridge, "Authorization: Bearer YOUR_KEY"), "%s: the place of the key is said", c.Client)
	}
	for _, bad := range []string{"", "ftp://belt.example", "/mcp", "https://ada:x@belt.example/mcp", "javascript:alert(1)"} {
		assert.Equal(t, s.do("viewer", "GET", "/api/v1/connect?url="+bad, "", nil).status, 400, "%s: status", bad)
	}
}
