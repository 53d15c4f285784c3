package glob

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"*", "", true}, {"*", "a", true}, {"*", "[a-z]?*", true}, {"*", "*", true}, {"{*,a}", "*", true},
		{"", "", true}, {"", "*", false}, {"a", "*", false}, {"a", "a", true}, {"a", "b", false},
		{"?*", "*", false}, {"*", "?*", true}, {"?*", "*?", true}, {"*?", "?*", true},
		{"{?*,a}", "*", false},
		{"a*", "ab*", true}, {"ab*", "a*", false}, {"*a*", "*ba*", true}, {"*a*b*", "*b*a*", false},
		{"a*b", "a*c*b", true}, {"a*c*b", "a*b", false},
		{"[a-z]", "[a-c]", true}, {"[a-c]", "[a-z]", false}, {"[a-mn-z]", "[a-z]", true}, {"{[a-m],[n-z]}", "[a-z]", true},
		{"{[a-m],[o-z]}", "[a-z]", false},
		{"?", "[!a]", true}, {"[!a]", "?", false}, {"{[!a],a}", "?", true}, {"[!ab]", "[!a]", false}, {"[!a]", "[!ab]", true},
		{"[\x00-\U0010ffff]", "?", true}, {"[\x00-\ud7ff\ue000-\U0010ffff]", "?", true},
		{"[\x00-\U0010fffe]", "?", false}, {"?", "[\x00-\U0010ffff]", true},
		{"{a,b}", "b", true}, {"{a,b}", "{b,a}", true}, {"{a,b}", "{a,b,c}", false}, {"{a*,b*}", "{ab,ba}*", true},
		{"{a,b}{c,d}", "{ac,ad,bc,bd}", true}, {"{ac,ad,bc}", "{a,b}{c,d}", false},
		{"get_*", "get_issue", true}, {"*_issue", "get_*", false}, {"\\*", "*", false}, {"*", "\\*", true}, {"\\*", "\\*", true},
		{"\ufffd", "[\ufffd]", true},
	} {
		if got := Covers(compile(t, tt.a), compile(t, tt.b)); got != tt.want {
			t.Errorf("%q covers %q: %v", tt.a, tt.b, got)
		}
	}
	if Covers(&Pattern{}, compile(t, "a")) || !Covers(compile(t, "a"), &Pattern{}) || !Covers(&Pattern{}, &Pattern{}) {
		t.Error("the zero pattern is not that of nothing")
	}
}

// Patterns that would take for ever to compare come back.
func TestCoversGivesUp(t *testing.T) {
	hard := "*a" + strings.Repeat("?", 60)
	if Covers(compile(t, hard), compile(t, "*[ab]"+strings.Repeat("?", 61))) {
		t.Error("it covers")
	}
	easy := "*a" + strings.Repeat("?", 6)
	if !Covers(compile(t, easy), compile(t, easy)) {
		t.Error("it does not cover itself")
	}
}

// randomPattern returns a pattern over the characters a and b.
func randomPattern(r *rand.Rand, depth int) string {
	var text strings.Builder
	for range r.IntN(4) {
		switch n := r.IntN(12); {
		case n < 3:
			text.WriteString("a")
		case n < 5:
			text.WriteString("b")
		case n < 7:
			text.WriteString("*")
		case n < 8:
			text.WriteString("?")
		case n < 9:
			text.WriteString("[!a]")
		case n < 10:
			text.WriteString("[ab]")
		case depth > 0:
			text.WriteString("{a" + randomPattern(r, depth-1) + ",?" + randomPattern(r, depth-1) + "}")
		}
	}
	return text.String()
}

// names returns all names of at most so many characters; c stands for all
// characters that the patterns do not name.
func names(length int) []string {
	all := []string{""}
	from := 0
	for range length {
		to := len(all)
		for _, name := range all[from:to] {
			all = append(all, name+"a", name+"b", name+"c")
		}
		from = to
	}
	return all
}

// Covers agrees with what the patterns fit, in both directions: for patterns as
// small as these there is a short name that tells them apart, if there is one.
func TestCoversIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := names(7)
	covered := 0
	for range 1500 {
		a, b := randomPattern(r, 1), randomPattern(r, 1)
		pa, pb := compile(t, a), compile(t, b)
		if !pa.Match(pa.example) || !pb.Match(pb.example) {
			t.Fatalf("the examples %q of %q and %q of %q do not fit", pa.example, a, pb.example, b)
		}
		if len(a)+len(b) > 24 {
			continue
		}
		want, witness := true, ""
		for _, name := range all {
			if pb.Match(name) && !pa.Match(name) {
				want, witness = false, name
				break
			}
		}
		if got := Covers(pa, pb); got != want {
			t.Fatalf("%q covers %q: %v, want %v (%q)", a, b, got, want, witness)
		}
		if want {
			covered++
		}
	}
	if covered < 100 {
		t.Errorf("only %d of the pairs are covered", covered)
	}
}

// No name is fitted by a covered pattern only.
func FuzzCovers(f *testing.F) {
	f.Add("a*", "ab*", "abc")
	f.Add("{a,b}*", "[ab]?", "ab")
	f.Add("[!x]*", "?", "é")
	f.Fuzz(func(t *testing.T, a, b, name string) {
		if len(a)+len(b) > 100 {
			return
		}
		pa, err := Compile(a)
		if err != nil {
			return
		}
		pb, err := Compile(b)
		if err != nil {
			return
		}
		if !pb.Match(pb.example) {
			t.Errorf("the example %q does not fit %q", pb.example, b)
		}
		if Covers(pa, pb) && pb.Match(name) && !pa.Match(name) {
			t.Errorf("%q covers %q and does not fit %q", a, b, name)
		}
	})
}
