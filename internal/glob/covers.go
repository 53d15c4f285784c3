package glob

import "slices"

// maxPairs bounds the work of [Covers].
const maxPairs = 1 << 12

// Covers reports whether a fits every name that b fits. It is exact but for
// patterns whose comparison would take very long, which take many stars with
// question marks or classes between them: then it reports false.
func Covers(a, b *Pattern) bool {
	if len(a.program) == 0 || len(b.program) == 0 {
		return len(b.program) == 0
	}
	if a.text == b.text {
		return true
	}
	if !a.Match(b.example) {
		return false
	}
	if b.literal {
		return true
	}
	// A name that b fits and a does not is looked for: b is followed on one path,
	// a on all paths at the same time.
	type pair struct {
		b int
		a states
	}
	seen := map[pair]bool{}
	var todo []pair
	push := func(from int, in *states) {
		var reached states
		b.enter(&reached, from)
		for i := range reached.all() {
			next := pair{i, *in}
			if kind := b.program[i].kind; (kind == one || kind == end) && !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	var start states
	a.enter(&start, 0)
	push(0, &start)
	for len(todo) > 0 {
		if len(seen) > maxPairs {
			return false
		}
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.program[at.b].kind == end {
			if !at.a.has(len(a.program) - 1) {
				return false
			}
			continue
		}
		for _, r := range a.samples(&at.a, b.program[at.b].set) {
			var then states
			if !a.read(&then, &at.a, r) {
				return false // b fits something: every state of it leads to its end
			}
			push(at.b+1, &then)
		}
	}
	return true
}

// samples returns characters of set, one of each kind that the states of p treat
// in the same way.
func (p *Pattern) samples(in *states, set runes) []rune {
	var samples []rune
	take := func(r rune) {
		if set.has(r) {
			samples = append(samples, r)
		}
	}
	for _, s := range set {
		take(s.first)
	}
	for i := range in.all() {
		if p.program[i].kind != one {
			continue
		}
		for _, s := range p.program[i].set {
			take(s.first)
			take(s.last + 1)
		}
	}
	slices.Sort(samples)
	return slices.Compact(samples)
}

// some returns a name that the pattern fits, with characters that seldom stand in
// others where there is a choice, so that it shows what no other pattern covers.
func (p *Pattern) some() string {
	var name []rune
	var been states // forks: a star reads one character
	for i := 0; ; {
		switch s := &p.program[i]; s.kind {
		case one:
			name = append(name, s.set[len(s.set)-1].last)
			i++
		case fork:
			if been.has(i) {
				i = s.also
			} else {
				been.add(i)
				i = s.next
			}
		case jump:
			i = s.next
		case end:
			return string(name)
		}
	}
}
