package glob

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func compile(t testing.TB, text string) *Pattern {
	t.Helper()
	p, err := Compile(text)
	assert.OK(t, err, "%q", text)
	return p
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct{ pattern, fits, not string }{
		{"", "|", "a"}, {"abc", "abc", "|ab|abcd|ABC|xabc"}, {"*", "|a|a/b:c\n|é|\xff", ""},
		{"a*", "a|ab|aa*", "|ba|A"}, {"*a", "a|ba|aaa", "|ab"},
		{"a*b*c", "abc|a_b_c|abbcc|abcbc", "acb|ab|bc"},
		{"***", "|a", ""}, {"?", "a|é|世|\xff", "|ab|\xff\xfe"}, {"a?c", "abc|a?c|a世c", "ac|abbc"},
		{"[abc]x", "ax|bx|cx", "x|dx|[abc]x"}, {"[a-c0-9_]", "a|b|c|5|_", "d|-|A|"},
		{"[!a-c]", "d|-|世", "a|b|c||dd"}, {"[^a]", "b|^", "a"}, {"[a!^]", "a|!|^", "b"}, {"[-a]", "-|a", "b"},
		{"[a-]", "-|a", "b"}, {`[\]a]`, "]|a", `\`}, {`[\--a]`, "-|A|a", ","},
		{"[а-я]", "д", "d"}, // Cyrillic
		{"[c-ea-db]", "a|b|c|d|e", "f"},
		{"{a,b}", "a|b", "|ab|{a,b}"},
		{"x{a,bc*}y", "xay|xbcy|xbc1y", "xy|xby|xabcy"},
		{"{a}", "a", "|b"}, {"{a{b,c},d}", "ab|ac|d", "a|b|abd"}, {"{*,a}", "|a|b", ""}, {"a,b", "a,b", "a|b"},
		{`\*\?\[\]\{\}\\\,`, `*?[]{}\,`, "a"}, {`\a`, "a", `\a`}, {"{a\\,b,c}", "a,b|c", "a|b"},
		{"\ufffd", "\ufffd|\xff", "a"}, {"-", "-", ""}, {".", ".", "a"}, {"a+(b)|$^", "a+(b)|$^", "aab"},
	} {
		p := compile(t, tt.pattern)
		sep := "|"
		if strings.Contains(tt.fits, "|$") {
			sep = "\x00"
		}
		for _, name := range strings.Split(tt.fits, sep) {
			assert.True(t, p.Match(name), "%q fits %q", tt.pattern, name)
		}
		if tt.not == "" {
			continue
		}
		for _, name := range strings.Split(tt.not, "|") {
			assert.False(t, p.Match(name), "%q fits %q", tt.pattern, name)
		}
	}
	assert.False(t, (&Pattern{}).Match(""), "the zero pattern fits something")
}

func TestCompileErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"[": "a [ that is not closed", "a[b": "a [ that is not closed", "[!": "a [ that is not closed",
		"[a-": "a [ that is not closed", `[a-\`: "ends in a backslash", `[a\`: "ends in a backslash", "[]": "a class of no characters",
		"[!]": "a class of no characters", "[]a]": "a class of no characters", "[z-a]": "the wrong way round",
		"[!\x00-\U0010ffff]": "no character is in", "]": "without the bracket", "a}": "without the bracket",
		"{": "a { that is not closed", "{a": "a { that is not closed", "{a,": "a { that is not closed",
		"{a,{b}": "a { that is not closed", "{}": "an alternative that is empty",
		"{a,}": "an alternative that is empty", "{,a}": "an alternative that is empty",
		"{a,,b}": "an alternative that is empty", `\`: "ends in a backslash", `{a\`: "ends in a backslash",
		"a\xff":                   "no valid UTF-8",
		strings.Repeat("a", 1025): "longer than 1,024 bytes",
		strings.Repeat("{", 17):   "deep",
		strings.Repeat("{", 1000): "deep",
	} {
		assert.Contains(t, fmt.Sprint(assert.Err(Compile(pattern))), want, "%.20q", pattern)
	}
	compile(t, strings.Repeat("{", 16)+"a"+strings.Repeat("}", 16))
}

// Each pattern within the limit compiles.
func TestLongestPatterns(t *testing.T) {
	for _, unit := range []string{"a", "?", "*a", "[a]", "{a}", "{a,b}", "*?", "[!a]"} {
		compile(t, strings.Repeat(unit, MaxLength/len(unit))).Match(strings.Repeat("a", 300))
	}
	list := "{" + strings.Repeat("a,", MaxLength/2-1)
	assert.True(t, compile(t, list[:len(list)-1]+"}").Match("a"), "it fits a")
}

// expression translates a pattern without escapes and classes that begin with a
// bracket or minus.
func expression(pattern string) string {
	var text strings.Builder
	text.WriteString(`(?s)\A`)
	inClass, depth := false, 0
	for i, r := range pattern {
		switch {
		case inClass && r == ']':
			inClass = false
			text.WriteRune(r)
		case inClass && r == '!' && pattern[i-1] == '[':
			text.WriteRune('^')
		case inClass:
			text.WriteRune(r)
		case r == '[':
			inClass = true
			text.WriteRune(r)
		case r == '*':
			text.WriteString(".*")
		case r == '?':
			text.WriteString(".")
		case r == '{':
			depth++
			text.WriteString("(?:")
		case r == '}':
			depth--
			text.WriteString(")")
		case r == ',' && depth > 0:
			text.WriteString("|")
		default:
			text.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return text.String() + `\z`
}

func FuzzMatch(f *testing.F) {
	for _, seed := range []string{"a*b?c", "{a,b*{c,d}}e", "[a-c]*[!x]", "**a**"} {
		f.Add(seed, "abxce")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := Compile(pattern)
		if err != nil {
			return
		}
		got := p.Match(name)
		if strings.ContainsAny(pattern, `\^-`+"\ufffd") {
			return
		}
		assert.Equal(t, got, regexp.MustCompile(expression(pattern)).MatchString(name), "%q, %q", pattern, name)
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, pattern := range []string{"create_issue", "create_*", "{create,delete}_*", strings.Repeat("*a", 20)} {
		p := compile(b, pattern)
		b.Run(fmt.Sprintf("%.20s", pattern), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Match("create_issue_of_a_repository")
			}
		})
	}
}
