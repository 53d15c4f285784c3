package names

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// hostileNames makes servers and tools out of few letters, so that separators,
// prefixes and hashes often fall where they could be confused.
type hostileNames struct{ *rand.Rand }

func (h hostileNames) part() string {
	pieces := []string{"a", "b", "_", "__", "-", ".", ":", "/", " ", "é", "日本", "\xff", "0", "2", "7", "mcp", "mcp__", "tool", "server", "A"}
	switch h.IntN(20) {
	case 0: // like a hash
		name := []byte{'_'}
		for range hashLength {
			name = append(name, hashAlphabet[h.IntN(len(hashAlphabet))])
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
func (h hostileNames) pair(n Names, names []string) (server, tool string) {
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

func namePattern(scheme Scheme, limit int) *regexp.Regexp {
	colon := ""
	if scheme == ColonTool {
		colon = ":"
	}
	return regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z_][a-zA-Z0-9_%s-]{0,%d}$`, colon, limit-1))
}

// Of a million tools no two that differ have the same name.
func TestNamesOfAMillionTools(t *testing.T) {
	pairs := 1_000_000
	if raceEnabled || testing.Short() {
		pairs = assert.Cases(3_000, 15_000)
	}
	for _, n := range []Names{
		{}, {Scheme: MCPServerTool}, {Scheme: ColonTool}, {Scheme: UnderscoreTool}, {MaxLength: 32},
		{Scheme: MCPServerTool, MaxLength: 32},
	} {
		t.Run(fmt.Sprint(string(n.Scheme), n.MaxLength), func(t *testing.T) {
			t.Parallel()
			h := hostileNames{rand.New(rand.NewPCG(1, 2))}
			pairs := pairs
			if n.MaxLength != 0 {
				pairs /= 10
			}
			type origin struct{ server, tool string }
			owners := make(map[string]origin, pairs)
			some := make([]string, 0, 1000)
			why := map[Reason]int{}
			pattern := namePattern(n.Scheme, n.limit())
			for i := range pairs {
				server, tool := h.pair(n, some)
				name, reason := n.Name(server, tool)
				why[reason]++
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
				if plain := n.spell(server, tool).join(); (reason == "") != (plain == name) {
					t.Fatalf("the name of %q is %q, because %q", o, name, reason)
				}
			}
			for _, reason := range []Reason{"", Cut, Cleaned, Ambiguous} {
				if why[reason] < pairs/1000 {
					t.Errorf("only %d names with reason %q: the test does not try enough", why[reason], reason)
				}
			}
		})
	}
}

// wellFormed is what the pattern says, at less cost.
func wellFormed(name string, n Names) bool {
	if name == "" || len(name) > n.limit() || strings.ContainsRune("-0123456789:", rune(name[0])) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == ':' && n.Scheme == ColonTool) {
			return false
		}
	}
	return true
}

// Each name leads back to the tool that has it, and to no other.
func TestNamesLeadBack(t *testing.T) {
	type origin struct{ server, tool string }
	for _, n := range []Names{{}, {Scheme: MCPServerTool}, {Scheme: ColonTool}, {Scheme: UnderscoreTool}, {MaxLength: 32}, {MaxLength: 1000}} {
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
			name := first(n.Name(server, tool))
			if other, ok := holders[name]; ok {
				t.Fatalf("%s: %q is the name of %q and of %q", n.Scheme, name, other, o)
			}
			holders[name] = o
			taken = append(taken, name)
			if !wellFormed(name, n) {
				t.Fatalf("%s: %q is no name", n.Scheme, name)
			}
		}
	}
}

func first(name string, _ Reason) string { return name }

// What a custom function returns may be anything.
func TestCustomNames(t *testing.T) {
	for _, test := range []struct {
		returned, want string
		why            Reason
	}{
		{"find", "find", ""},
		{"", "a__b", ""},
		{"find it", "find_it_" + hash(schemeCustom, "a", "b"), Cleaned},
		{"find:it", "find_it_" + hash(schemeCustom, "a", "b"), Cleaned},
		{"\n\x00", "tool_" + hash(schemeCustom, "a", "b"), Cleaned},
		{"find_abcdefghi2", "find_abcdefghi2_" + hash(schemeCustom, "a", "b"), Ambiguous},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", 53) + "_" + hash(schemeCustom, "a", "b"), Cut},
		{strings.Repeat("é!", 1<<19), "tool_" + hash(schemeCustom, "a", "b"), Cleaned},
		{strings.Repeat("x.", 1<<19), strings.Repeat("x_", 27) + hash(schemeCustom, "a", "b"), Cut},
	} {
		n := Names{Custom: func(server, tool string) string { return test.returned }}
		if name, why := n.Name("a", "b"); name != test.want || why != test.why {
			t.Errorf("%.20q became %q, %q, want %q, %q", test.returned, name, why, test.want, test.why)
		}
	}
}

func TestMaxLength(t *testing.T) {
	tool := strings.Repeat("x", 1000)
	for length, want := range map[int]int{0: 64, 1: 32, -5: 32, 32: 32, 33: 33, 64: 64, 128: 128, 256: 256, 257: 256, 1 << 40: 256} {
		if name, why := (Names{MaxLength: length}).Name("a", tool); len(name) != want || why != Cut {
			t.Errorf("with %d: %d bytes, %q", length, len(name), why)
		}
	}
	// What just fits is plain.
	if name, why := (Names{}).Name("a", tool[:61]); name != "a__"+tool[:61] || why != "" {
		t.Errorf("%q, %q", name, why)
	}
	_, why := (Names{}).Name("a", tool[:62])
	assert.Equal(t, why, Cut, "reason")
	// Cut comes before cleaned, and cleaned before ambiguous.
	for tool, want := range map[string]Reason{"é" + tool: Cut, "é_abcdefghi2": Cleaned, "_abcdefghi2": Ambiguous} {
		if _, why := (Names{}).Name("a__b", tool); why != want {
			t.Errorf("%.20q: %q, want %q", tool, why, want)
		}
	}
}

func TestHash(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][3]string{
		{"a", "b", "c"}, {"ab", "", "c"}, {"", "ab", "c"}, {"a", "bc", ""}, {"a", "", "bc"}, {"", "", ""}, {"a", "b", "c\x01"},
	} {
		h := hash(Scheme(parts[0]), parts[1], parts[2])
		if !isHash(h) || seen[h] {
			t.Errorf("hash of %q: %q", parts, h)
		}
		seen[h] = true
	}
	for text, want := range map[string]bool{
		"repository": false, "statistics": false, "abcdefghi2": true, "2345672345": true, "abcdefgh12": false,
		"abcdefgh2": false, "abcdefghij2": false, "Abcdefghi2": false, "abcdefgh_2": false, "": false,
	} {
		assert.Equal(t, isHash(text), want)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("github", "create_issue", "git", "hub__create_issue", 0)
	f.Add("a_", "b", "a", "_b", 64)
	f.Add("", "", "日本", "é\n", 32)
	f.Add("1password", "get.item", "_1password", "get_item", -1)
	f.Add("s", strings.Repeat("long_name_", 30), "s", "abcdefghi2", 1000)
	f.Fuzz(func(t *testing.T, server, tool, server2, tool2 string, limit int) {
		for _, scheme := range []Scheme{ServerTool, MCPServerTool, ColonTool, UnderscoreTool, BareTool, "none"} {
			n := Names{Scheme: scheme, MaxLength: limit}
			name, why := n.Name(server, tool)
			assert.True(t, wellFormed(name, n), "%s", scheme)
			if why != "" && !isHash(name[len(name)-hashLength:]) {
				t.Fatalf("%s: %q has no hash", scheme, name)
			}
			if again, _ := n.Name(server2, tool2); scheme != BareTool && again == name && (server != server2 || tool != tool2) {
				t.Fatalf("%s: %q twice", scheme, name)
			}
			n.Custom = func(server, tool string) string { return tool }
			if name, _ := n.Name(server, tool); !wellFormed(name, n) {
				t.Fatalf("custom: %q", name)
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
				_, _ = Names{}.Name(test.server, test.tool)
			}
		})
	}
}
