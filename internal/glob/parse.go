package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNesting is how deep alternatives may lie in each other.
const maxNesting = 16

// A parser turns a pattern into steps.
type parser struct {
	rest    string
	program []step
	nesting int

	plain   []rune // what the pattern begins with
	literal bool   // nothing else was seen
}

// sequence reads up to the end or, in alternatives, up to a comma or brace.
func (p *parser) sequence(alternative bool) error {
	for p.rest != "" {
		c := p.rest[0]
		if alternative && (c == ',' || c == '}') {
			return nil
		}
		var err error
		switch c {
		case '*':
			p.any()
		case '?':
			p.rest, p.literal = p.rest[1:], false
			p.one(anyRune())
		case '[':
			err = p.class()
		case '{':
			err = p.alternatives()
		case ']', '}':
			err = fmt.Errorf("has a %c without the bracket that opens it: write \\%[1]c for the character itself", c)
		default:
			var r rune
			if r, err = p.char(); err == nil {
				p.literal = p.literal && r != utf8.RuneError // which bytes may stand for too
				if p.literal {
					p.plain = append(p.plain, r)
				}
				p.one(runes{{r, r}})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// char reads a character, or what stands behind a backslash.
func (p *parser) char() (rune, error) {
	if p.rest[0] == '\\' {
		p.rest = p.rest[1:]
		if p.rest == "" {
			return 0, errors.New(`ends in a backslash: write \\ for the character itself`)
		}
	}
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	return r, nil
}

func (p *parser) add(s step) (at int) {
	p.program = append(p.program, s)
	return len(p.program) - 1
}

func (p *parser) one(set runes) { p.add(step{kind: one, set: set}) }

// any reads stars: several are as good as one.
func (p *parser) any() {
	p.rest, p.literal = strings.TrimLeft(p.rest, "*"), false
	loop := p.add(step{kind: fork})
	p.one(anyRune())
	p.add(step{kind: jump, next: loop})
	p.program[loop].next, p.program[loop].also = loop+1, len(p.program)
}

// class reads [...].
func (p *parser) class() error {
	p.rest, p.literal = p.rest[1:], false
	negated := strings.HasPrefix(p.rest, "!") || strings.HasPrefix(p.rest, "^")
	if negated {
		p.rest = p.rest[1:]
	}
	var spans []span
	for {
		switch {
		case p.rest == "":
			return errors.New(`has a [ that is not closed: write \[ for the character itself`)
		case p.rest[0] == ']' && len(spans) == 0:
			return errors.New(`has a class of no characters: write \] for a bracket in it`)
		}
		if p.rest[0] == ']' {
			break
		}
		first, err := p.char()
		if err != nil {
			return err
		}
		last := first
		if len(p.rest) > 1 && p.rest[0] == '-' && p.rest[1] != ']' {
			p.rest = p.rest[1:]
			if last, err = p.char(); err != nil {
				return err
			}
		}
		if first > last {
			return fmt.Errorf("has the range %c-%c, which is the wrong way round", first, last)
		}
		spans = append(spans, span{first, last})
	}
	p.rest = p.rest[1:]
	set := union(spans)
	if negated {
		set = anyRune().without(set)
	}
	if len(set) == 0 {
		return errors.New("has a class that no character is in")
	}
	p.one(set)
	return nil
}

// alternatives reads {...}.
func (p *parser) alternatives() error {
	if p.nesting == maxNesting {
		return fmt.Errorf("has alternatives in each other more than %d deep", maxNesting)
	}
	p.nesting++
	defer func() { p.nesting-- }()
	p.literal = false
	var ends []int
	for more := true; more; {
		p.rest = p.rest[1:] // the brace or comma
		at := p.add(step{kind: fork})
		before := len(p.rest)
		if err := p.sequence(true); err != nil {
			return err
		}
		switch {
		case p.rest == "":
			return errors.New(`has a { that is not closed: write \{ for the character itself`)
		case len(p.rest) == before:
			return errors.New("has an alternative that is empty: leave it out, or write two patterns")
		}
		more = p.rest[0] == ','
		p.program[at].next, p.program[at].also = at+1, at+1
		if more {
			ends = append(ends, p.add(step{kind: jump}))
			p.program[at].also = len(p.program)
		}
	}
	p.rest = p.rest[1:]
	for _, at := range ends {
		p.program[at].next = len(p.program)
	}
	return nil
}
