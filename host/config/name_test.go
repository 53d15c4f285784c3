package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestNames(t *testing.T) {
	x := strings.Repeat("x", 70)
	for _, test := range []struct {
		titles []string
		want   []string // name, or name and fault
	}{
		{[]string{"a", "A", "a-b_c9", "9"}, []string{"a", "A", "a-b_c9", "9"}},
		{[]string{"my server", "io.github/x", "@scope/pkg", "_a_", "a__b", "-x-", "Café 1"},
			[]string{"my_server", "io_github_x", "scope_pkg", "a", "a_b", "x-", "Caf_1"}},
		{[]string{"", "日本", "__"}, []string{
			"server_2: the server's name has no ASCII letter or digit: rename it",
			"server_3: the server's name has no ASCII letter or digit: rename it",
			"server_4: the server's name has no ASCII letter or digit: rename it"}},
		// Long titles are cut, and told apart by a hash of them.
		{[]string{x[:64], x[:65], x[:66]}, []string{x[:64], x[:55] + "_9537c5fd", x[:55] + "_6eb879f1"}},
		{[]string{strings.Repeat("x", 128), strings.Repeat("x", 129)}, []string{
			x[:55] + "_24da1b81", x[:54] + "_2: the server's name is longer than 128 characters: shorten it"}},
		// The one that is written as the name wins, then the first.
		{[]string{"a b", "a_b"}, []string{
			"a_b_2: the server's name becomes a_b, as that of a_b does: rename one of them", "a_b"}},
		{[]string{"a b", "a.b", "a/b"}, []string{"a_b",
			`a_b_2: the server's name becomes a_b, as that of "a b" does: rename one of them`,
			`a_b_3: the server's name becomes a_b, as that of "a b" does: rename one of them`}},
		// A bad entry takes no name from a good one.
		{[]string{"a b", "a.b", "a b 2", "a_b_3"}, []string{"a_b",
			`a_b_4: the server's name becomes a_b, as that of "a b" does: rename one of them`,
			"a_b_2", "a_b_3"}},
	} {
		var entries []string
		for _, title := range test.titles {
			entries = append(entries, fmt.Sprintf("%q: {\"command\": \"x\"}", title))
		}
		c, err := Parse(t.Context(), "f", []byte(`{"mcpServers": {`+strings.Join(entries, ",")+`}}`), nil)
		assert.OK(t, err, "%q", test.titles)
		for i, s := range c.Servers {
			got := s.Name
			if s.Err != nil {
				text := s.Err.Error()
				got += text[strings.Index(text, ": the server's"):]
			}
			assert.Equal(t, [...]string{got, s.Title}, [...]string{test.want[i], test.titles[i]})
		}
	}
}

func TestGate(t *testing.T) {
	for _, test := range []struct{ section, want string }{
		{`{}`, "abc"},
		{`{"allowed": ["b d", "c"]}`, "bc"},
		{`{"allowed": []}`, ""},
		{`{"excluded": ["c", "b d"]}`, "a"},
		{`{"allowed": ["a", "c"], "excluded": ["c"]}`, "a"},
		{`{"allowed": "a", "excluded": {"c": 1}}`, "abc"}, // not Gemini's
		{`[1]`, "abc"},
	} {
		c := assert.Value(Parse(t.Context(), "f", []byte(`{"mcp": `+test.section+`, "mcpServers": {
			"a": {"command": "x"}, "b d": {"command": "x"}, "c": {"command": "x"}, "off": {"command": "x", "disabled": true}}}`), nil))(t)
		on := ""
		for _, s := range c.Servers {
			if !s.Disabled {
				on += s.Name[:1]
			}
		}
		assert.Equal(t, on, test.want, "%s: are on", test.section)
	}
}
