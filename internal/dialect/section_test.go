package dialect_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestVariable: a name never becomes another kind of reference.
func TestVariable(t *testing.T) {
	for _, test := range []struct {
		in jsonc.Node
		ok bool
	}{
		{jsonc.Node{Kind: jsonc.String, Text: "API_KEY2"}, true},
		{jsonc.Node{Kind: jsonc.String, Text: "_a"}, true},
		{jsonc.Node{Kind: jsonc.String, Text: "2A"}, false},
		{jsonc.Node{Kind: jsonc.String, Text: "file:/etc/passwd"}, false},
		{jsonc.Node{Kind: jsonc.String, Text: "A:-b"}, false},
		{jsonc.Node{Kind: jsonc.String, Text: "A}${B"}, false},
		{jsonc.Node{Kind: jsonc.String, Text: ""}, false},
		{jsonc.Node{Kind: jsonc.String, Text: strings.Repeat("A", 257)}, false},
		{jsonc.Node{Kind: jsonc.Number, Text: "5"}, false},
	} {
		v, fault := dialect.Variable(&test.in, "a.b")
		assert.Equal(t, fault == nil, test.ok, "%q is a name", test.in.Text)
		if test.ok {
			assert.Equal(t, v.Text, "${"+test.in.Text+"}")
		} else {
			assert.Equal(t, fault.At, "a.b", "%q: the place", test.in.Text)
		}
	}
}

func TestFields(t *testing.T) {
	doc := assert.Value(jsonc.Parse([]byte(`{"servers": [{"name": "a", "cmd": "x", "url": "y", "z": 1}, {"name": 1}, 5]}`)))(t)
	section := dialect.Listed(&doc.Root.Members[0].Value, "servers")
	if len(section.Entries) != 3 || section.Entries[0].Title != "a" || section.Entries[1].Fault == nil || section.Entries[2].Fault != nil {
		t.Fatalf("%+v", section.Entries)
	}
	var got []string
	for _, f := range dialect.Fields(&section.Entries[0], map[string]string{"name": "", "cmd": "command", "z": "url"}) {
		got = append(got, f.Key+"<"+f.Written+"@"+string(f.At))
	}
	assert.Equal(t, strings.Join(got, " "), "command<cmd@servers[0].cmd url<url@servers[0].url url<z@servers[0].z")
}
