package schemagate

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns reads the regular expressions of one schema, each once, and all within
// one allowance.
type patterns struct {
	left int // instructions that may still come
	read map[string]*pattern
}

type pattern struct {
	text     string         // as RE2 reads it
	size     int            // in instructions
	compiled *regexp.Regexp // nil until the validator asks for it
}

func newPatterns() *patterns { return &patterns{maxPrograms, map[string]*pattern{}} }

// parse returns an expression as RE2 understands it.
func (p *patterns) parse(text string) (*pattern, error) {
	if done, ok := p.read[text]; ok {
		return done, nil
	}
	if len(text) > MaxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", MaxPattern)
	}
	translated := codePoints(text)
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := instructions(tree)
	if p.left -= size; p.left < 0 {
		return nil, fmt.Errorf("the patterns compile to more than %d instructions", maxPrograms)
	}
	done := &pattern{text: translated, size: size}
	p.read[text] = done
	return done, nil
}

// engine gives the validator the same expressions.
func (p *patterns) engine(text string) (jsonschema.Regexp, error) {
	done, err := p.parse(text)
	if err != nil {
		return nil, err
	}
	if done.compiled == nil {
		if done.compiled, err = regexp.Compile(done.text); err != nil {
			return nil, err // not a typed nil
		}
	}
	return done.compiled, nil
}

// PatternSize returns how many instructions a regular expression, as package
// regexp reads it, compiles to at most, repetitions written out. Of very large
// ones it says only that they are.
func PatternSize(text string) (int, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(tree), nil
}

// instructions returns what an expression compiles to at most, repetitions
// written out. It never gets beyond maxPrograms by much.
func instructions(re *syntax.Regexp) int {
	size := 2 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+instructions(sub), maxPrograms+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1) + 1
	}
	return min(size, maxPrograms+1)
}

// codeUnit matches an escape, with the digits of one of ECMA 262.
var codeUnit = regexp.MustCompile(`(?s)\\u([0-9a-fA-F]{4})|\\.`)

// codePoints writes the \u escapes of ECMA 262 as RE2 does.
func codePoints(text string) string {
	return codeUnit.ReplaceAllStringFunc(text, func(escape string) string {
		if len(escape) == len(`\uFFFF`) {
			return `\x{` + escape[2:] + `}`
		}
		return escape
	})
}
