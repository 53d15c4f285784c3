package glob

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxLength is how long a pattern may be, in bytes.
const MaxLength = 1024

// A Pattern is a compiled pattern. It is safe for concurrent use. The zero value
// fits nothing.
type Pattern struct {
	plain string         // what each name that it fits begins with
	whole bool           // and there is nothing behind it
	names *regexp.Regexp // the names that it fits, unless whole
}

// Compile compiles a pattern. The error says what is wrong and how to put it
// right.
func Compile(text string) (*Pattern, error) {
	switch {
	case len(text) > MaxLength:
		return nil, errors.New("is longer than 1,024 bytes: make several of it")
	case !utf8.ValidString(text):
		return nil, errors.New("is no valid UTF-8")
	}
	p := &parser{rest: text}
	if err := p.sequence(false); err != nil {
		return nil, err
	}
	names, err := regexp.Compile(`(?s)\A` + p.expression.String() + `\z`)
	if err != nil {
		return nil, errors.New("is too large: make several of it")
	}
	pattern := &Pattern{names: names}
	if !strings.ContainsRune(text, utf8.RuneError) { // for which bytes may stand, too
		pattern.plain, pattern.whole = regexp.MustCompile(p.expression.String()).LiteralPrefix()
	}
	if pattern.whole {
		pattern.names = nil // it is not needed
	}
	return pattern, nil
}

// Match reports whether the pattern fits name. Bytes that are no UTF-8 count as
// characters U+FFFD.
func (p *Pattern) Match(name string) bool {
	if p.whole {
		return name == p.plain
	}
	return strings.HasPrefix(name, p.plain) && p.names != nil && p.names.MatchString(name)
}
