package schemagate

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

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

// codePoints writes the \u escapes of ECMA 262 as RE2 does.
func codePoints(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		if hex := text[min(i+2, len(text)):min(i+6, len(text))]; text[i+1] == 'u' && isHex4(hex) {
			out.WriteString(`\x{` + hex + `}`)
			i += 5
			continue
		}
		out.WriteString(text[i : i+2])
		i++
	}
	return out.String()
}

func isHex4(text string) bool {
	return len(text) == 4 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
