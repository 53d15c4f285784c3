package glob

import (
	"errors"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MaxLength is how long a pattern may be, in bytes.
const MaxLength = 1024

// A Pattern is a compiled pattern. It is safe for concurrent use. The zero value
// fits nothing.
type Pattern struct {
	text    string
	plain   string // what each name that it fits begins with
	literal bool   // and there is nothing behind it
	program []step
}

// A step is one state of the machine that reads a name.
type step struct {
	kind stepKind
	set  runes // of one
	next int   // of jump and fork; a one is followed by the next step
	also int   // of fork
}

type stepKind uint8

const (
	one  stepKind = iota // reads a character of set
	fork                 // goes on at next and at also
	jump                 // goes on at next
	end                  // the name fits if it ends here
)

// Compile compiles a pattern. The error says what is wrong and how to put it
// right.
func Compile(text string) (*Pattern, error) {
	switch {
	case len(text) > MaxLength:
		return nil, errors.New("is longer than 1,024 bytes: make several of it")
	case !utf8.ValidString(text):
		return nil, errors.New("is no valid UTF-8")
	}
	p := &parser{rest: text, literal: true}
	if err := p.sequence(false); err != nil {
		return nil, err
	}
	p.program = append(p.program, step{kind: end})
	return &Pattern{text: text, plain: string(p.plain), literal: p.literal, program: p.program}, nil
}

// String returns the pattern as it was given to [Compile].
func (p *Pattern) String() string { return p.text }

// Literal returns the one name that the pattern fits, if it is without *, ?,
// classes and alternatives.
func (p *Pattern) Literal() (name string, ok bool) { return p.plain, p.literal }

// Match reports whether the pattern fits name. Bytes that are no UTF-8 count as
// characters U+FFFD.
func (p *Pattern) Match(name string) bool {
	if p.literal {
		return name == p.plain
	}
	if len(p.program) == 0 {
		return false
	}
	if !strings.HasPrefix(name, p.plain) {
		return false
	}
	var room [2]states
	now, then := &room[0], &room[1]
	p.enter(now, 0)
	for _, r := range name {
		if !p.read(then, now, r) {
			return false
		}
		now, then = then, now
	}
	return now.has(len(p.program) - 1)
}

// enter puts into s the states that are reached from state i before the next
// character, with i.
func (p *Pattern) enter(s *states, i int) {
	for !s.has(i) {
		s.add(i)
		switch p.program[i].kind {
		case fork:
			p.enter(s, p.program[i].also)
			i = p.program[i].next
		case jump:
			i = p.program[i].next
		}
	}
}

// read makes then the states after the character r in the states now, and reports
// whether there are any.
func (p *Pattern) read(then, now *states, r rune) bool {
	used := now[:(len(p.program)+63)/64]
	clear(then[:len(used)])
	found := false
	for w, word := range used {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			if p.program[i].kind == one && p.program[i].set.has(r) {
				p.enter(then, i+1)
				found = true
			}
		}
	}
	return found
}

// maxSteps is how many steps a program has at most: a byte of a pattern makes up
// to three of them, and one is its end.
const maxSteps = 3*MaxLength + 1

// states are a set of steps.
type states [(maxSteps + 63) / 64]uint64

func (s *states) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *states) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
