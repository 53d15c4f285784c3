package names

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
)

// hostileNames makes servers and tools out of few letters, so that separators,
// prefixes and hashes often fall where they could be confused.
type hostileNames struct{ *rand.Rand }

func (h hostileNames) part() string {
	pieces := []string{"a", "b", "_", "__", "-", ".", ":", "/", " ", "é", "日本", "\xff", "0", "2", "7", "mcp", "mcp__", "tool", "server", "A"}
	switch h.IntN(20) {
	case 0: // like a hash
		const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
		name := []byte{'_'}
		for range toolname.HashLength {
			name = append(name, alphabet[h.IntN(len(alphabet))])
		}
		return string(name[h.IntN(2):])
	case 1: // the same beginning as others, and too long
		return strings.Repeat("long_", 8+h.IntN(8)) + h.few(pieces, 1+h.IntN(4))
	case 2: // no separator to cut at
		return strings.Repeat("x", h.IntN(130)) + h.few(pieces, 1+h.IntN(4))
	case 3:
		return fmt.Sprint("t", h.IntN(1e9))
	}
	return h.few(pieces, h.IntN(7))
}

func (h hostileNames) few(pieces []string, n int) string {
	var s strings.Builder
	for range n {
		s.WriteString(pieces[h.IntN(len(pieces))])
	}
	return s.String()
}

// pair returns a tool; one in ten is called like a name that another was given.
func (h hostileNames) pair(n Scheme, names []string) (server, tool string) {
	server, tool = h.part(), h.part()
	if len(names) > 0 && h.IntN(10) == 0 {
		taken := names[h.IntN(len(names))]
		at := h.IntN(len(taken))
		switch h.IntN(3) {
		case 0:
			tool = taken
		case 1:
			server, tool = taken[:at], strings.TrimLeft(taken[at:], "_:")
		case 2:
			server = taken
		}
	}
	return server, tool
}

func namePattern(scheme Scheme) *regexp.Regexp {
	colon := ""
	if scheme == ColonTool {
		colon = ":"
	}
	return regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z_][a-zA-Z0-9_%s-]{0,%d}$`, colon, maxLength-1))
}

// Of a million tools no two that differ have the same name.
func TestNamesOfAMillionTools(t *testing.T) {
	pairs := 1_000_000
	if raceEnabled || testing.Short() {
		pairs = assert.Cases(3_000, 15_000)
	}
	for _, n := range []Scheme{ServerTool, MCPServerTool, ColonTool} {
		t.Run(string(n), func(t *testing.T) {
			t.Parallel()
			h := hostileNames{rand.New(rand.NewPCG(1, 2))}
			type origin struct{ server, tool string }
			owners := make(map[string]origin, pairs)
			some := make([]string, 0, 1000)
			hashed := 0
			pattern := namePattern(n)
			for i := range pairs {
				server, tool := h.pair(n, some)
				name := n.Name(server, tool)
				if toolname.HasHash(name) {
					hashed++
				}
				o := origin{server, tool}
				if owner, taken := owners[name]; taken && owner != o {
					t.Fatalf("%q is the name of %q and of %q", name, owner, o)
				}
				owners[name] = o
				if len(some) < cap(some) {
					some = append(some, name)
				} else {
					some[i%cap(some)] = name
				}
				if !wellFormed(name, n) {
					t.Fatalf("the name of %q is %q", o, name)
				}
				if i%1000 == 0 && !pattern.MatchString(name) {
					t.Fatalf("the name of %q is %q, which %s does not match", o, name, pattern)
				}
				if plain := n.spell(server, tool).join(); toolname.HasHash(name) == (plain == name) {
					t.Fatalf("the name of %q is %q", o, name)
				}
			}
			if plain := pairs - hashed; min(plain, hashed) < pairs/1000 {
				t.Errorf("%d names are plain and %d have a hash: the test does not try enough", plain, hashed)
			}
		})
	}
}

// wellFormed is what the pattern says, at less cost.
func wellFormed(name string, n Scheme) bool {
	if name == "" || len(name) > maxLength || strings.ContainsRune("-0123456789:", rune(name[0])) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == ':' && n == ColonTool) {
			return false
		}
	}
	return true
}

// Each name leads back to the tool that has it, and to no other.
func TestNamesLeadBack(t *testing.T) {
	type origin struct{ server, tool string }
	for _, n := range []Scheme{ServerTool, MCPServerTool, ColonTool} {
		h := hostileNames{rand.New(rand.NewPCG(5, 6))}
		tools := map[origin]bool{}
		holders := map[string]origin{}
		var taken []string
		for len(tools) < assert.Cases(500, 2000) {
			server, tool := h.pair(n, taken)
			o := origin{server, tool}
			if tools[o] {
				continue
			}
			tools[o] = true
			name := n.Name(server, tool)
			if other, ok := holders[name]; ok {
				t.Fatalf("%s: %q is the name of %q and of %q", n, name, other, o)
			}
			holders[name] = o
			taken = append(taken, name)
			if !wellFormed(name, n) {
				t.Fatalf("%s: %q is no name", n, name)
			}
		}
	}
}

func TestMaxLength(t *testing.T) {
	tool := strings.Repeat("x", 1000)
	assert.Equal(t, len(ServerTool.Name("a", tool)), maxLength, "bytes")
	assert.Equal(t, ServerTool.Name("a", tool[:61]), "a__"+tool[:61], "what just fits is plain")
	assert.True(t, toolname.HasHash(ServerTool.Name("a", tool[:62])), "what does not has a hash")
	assert.Equal(t, Scheme("none").Name("a", "b"), "a__b", "a scheme that does not exist")
}

func TestHash(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][3]string{
		{"a", "b", "c"}, {"ab", "", "c"}, {"", "ab", "c"}, {"a", "bc", ""}, {"a", "", "bc"}, {"", "", ""}, {"a", "b", "c\x01"},
	} {
		h := hash(Scheme(parts[0]), parts[1], parts[2])
		assert.False(t, !toolname.IsHash(h) || seen[h], "hash of %q: %q", parts, h)
		seen[h] = true
	}
	for text, want := range map[string]bool{
		"repository": false, "statistics": false, "abcdefghi2": true, "2345672345": true, "abcdefgh12": false,
		"abcdefgh2": false, "abcdefghij2": false, "Abcdefghi2": false, "abcdefgh_2": false, "": false,
	} {
		assert.Equal(t, toolname.IsHash(text), want)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("github", "create_issue", "git", "hub__create_issue")
	f.Add("a_", "b", "a", "_b")
	f.Add("", "", "日本", "é\n")
	f.Add("1password", "get.item", "_1password", "get_item")
	f.Add("s", strings.Repeat("long_name_", 30), "s", "abcdefghi2")
	f.Fuzz(func(t *testing.T, server, tool, server2, tool2 string) {
		for _, scheme := range []Scheme{ServerTool, MCPServerTool, ColonTool, BareTool, "none"} {
			name := scheme.Name(server, tool)
			assert.True(t, wellFormed(name, scheme), "%s", scheme)
			if again := scheme.Name(server2, tool2); scheme != BareTool && again == name && (server != server2 || tool != tool2) {
				t.Fatalf("%s: %q twice", scheme, name)
			}
		}
	})
}

func BenchmarkName(b *testing.B) {
	for _, test := range []struct{ label, server, tool string }{
		{"plain", "github", "create_issue"},
		{"cleaned", "notion", "admin.users.list"},
		{"cut", "github", strings.Repeat("create_issue_", 9)},
	} {
		b.Run(test.label, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = ServerTool.Name(test.server, test.tool)
			}
		})
	}
}
