package glob

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxNesting is how deep alternatives may lie in each other.
const maxNesting = 16

// A parser turns a pattern into a regular expression.
type parser struct {
	rest       string
	expression strings.Builder
	nesting    int
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
			p.rest = strings.TrimLeft(p.rest, "*") // several are as good as one
			p.expression.WriteString(".*")
		case '?':
			p.rest = p.rest[1:]
			p.expression.WriteString(".")
		case '[':
			err = p.class()
		case '{':
			err = p.alternatives()
		case ']', '}':
			err = fmt.Errorf("has a %c without the bracket that opens it: write \\%[1]c for the character itself", c)
		default:
			var r rune
			if r, err = p.char(); err == nil {
				p.expression.WriteString(regexp.QuoteMeta(string(r)))
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

// class reads [...].
func (p *parser) class() error {
	p.rest = p.rest[1:]
	set := "["
	if strings.HasPrefix(p.rest, "!") || strings.HasPrefix(p.rest, "^") {
		p.rest, set = p.rest[1:], "[^"
	}
	for empty := true; ; empty = false {
		switch {
		case p.rest == "":
			return errors.New(`has a [ that is not closed: write \[ for the character itself`)
		case p.rest[0] == ']' && empty:
			return errors.New(`has a class of no characters: write \] for a bracket in it`)
		case p.rest[0] == ']':
			p.rest, set = p.rest[1:], set+"]"
			if re, err := syntax.Parse(set, syntax.Perl); err != nil || re.Op == syntax.OpCharClass && len(re.Rune) == 0 {
				return errors.New("has a class that no character is in")
			}
			p.expression.WriteString(set)
			return nil
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
		set += fmt.Sprintf(`\x{%x}-\x{%x}`, first, last)
	}
}

// alternatives reads {...}.
func (p *parser) alternatives() error {
	if p.nesting == maxNesting {
		return fmt.Errorf("has alternatives in each other more than %d deep", maxNesting)
	}
	p.nesting++
	defer func() { p.nesting-- }()
	p.expression.WriteString("(?:")
	for {
		p.rest = p.rest[1:] // the brace or comma
		before := len(p.rest)
		if err := p.sequence(true); err != nil {
			return err
		}
		switch {
		case p.rest == "":
			return errors.New(`has a { that is not closed: write \{ for the character itself`)
		case len(p.rest) == before:
			return errors.New("has an alternative that is empty: leave it out, or write two patterns")
		case p.rest[0] == '}':
			p.rest = p.rest[1:]
			p.expression.WriteString(")")
			return nil
		}
		p.expression.WriteString("|")
	}
}
