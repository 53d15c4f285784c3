package jsonc

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// word reads true, false or null.
func (p *parser) word(n *Node) error {
	start := p.pos
	end := start
	for end < len(p.data) && 'a' <= p.data[end] && p.data[end] <= 'z' {
		end++
	}
	switch text := string(p.data[start:min(end, start+6)]); text {
	case "true", "false":
		n.Kind, n.Text = Bool, text
	case "null":
		n.Kind = Null
	default:
		return p.fail(start, "expected a value, found %s: strings need double quotes", p.found())
	}
	p.pos = end
	return nil
}

// number reads a number as RFC 8259 defines it.
func (p *parser) number(n *Node) error {
	start := p.pos
	if p.data[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.data) && p.data[p.pos] == '0' {
		p.pos++
	} else if p.digits() == 0 {
		return p.fail(start, "malformed number")
	}
	if p.pos < len(p.data) && p.data[p.pos] == '.' {
		p.pos++
		if p.digits() == 0 {
			return p.fail(start, "malformed number: a digit must follow the point")
		}
	}
	if p.pos < len(p.data) && (p.data[p.pos] == 'e' || p.data[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.data) && (p.data[p.pos] == '+' || p.data[p.pos] == '-') {
			p.pos++
		}
		if p.digits() == 0 {
			return p.fail(start, "malformed number: the exponent has no digit")
		}
	}
	if p.pos < len(p.data) && wordByte(p.data[p.pos]) {
		return p.fail(start, "malformed number")
	}
	n.Kind, n.Text = Number, string(p.data[start:p.pos])
	return nil
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '.'
}

func (p *parser) digits() (n int) {
	for p.pos < len(p.data) && '0' <= p.data[p.pos] && p.data[p.pos] <= '9' {
		p.pos++
		n++
	}
	return n
}

// string reads the string whose opening quote is at the parser's position and
// returns it decoded. Like encoding/json it turns a lone surrogate escape into
// U+FFFD.
func (p *parser) string() (string, error) {
	start := p.pos
	p.pos++
	var out []byte // nil until the first escape
	from := p.pos  // start of the part not yet in out
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			text := p.data[from:p.pos]
			p.pos++
			if out == nil {
				return string(text), nil
			}
			return string(append(out, text...)), nil
		case c == '\n':
			return "", p.fail(start, "the string is not closed on its line: add \" or write a line break as \\n")
		case c < ' ':
			return "", p.fail(p.pos, "control character %#02x in a string: write it as \\u%04x", c, c)
		case c == '\\':
			out = append(out, p.data[from:p.pos]...)
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
			from = p.pos
		default:
			p.pos++
		}
	}
	return "", p.fail(start, "the string is not closed: add \"")
}

// escape reads the escape sequence at the parser's position and appends what
// it stands for.
func (p *parser) escape(out []byte) ([]byte, error) {
	at := p.pos
	p.pos++
	if p.pos >= len(p.data) {
		return nil, p.fail(at, "the string is not closed: add \"")
	}
	c := p.data[p.pos]
	if c == 'u' {
		p.pos = at
		r, ok := p.unicode()
		if !ok {
			return nil, p.fail(at, "\\u needs four hexadecimal digits")
		}
		if utf16.IsSurrogate(r) {
			second := p.pos
			if low, ok := p.unicode(); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return utf8.AppendRune(out, pair), nil
				}
			}
			p.pos = second
			r = utf8.RuneError
		}
		return utf8.AppendRune(out, r), nil
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := bytes.IndexByte([]byte(from), c)
	if i < 0 {
		return nil, p.fail(at, "unknown escape: write a backslash as \\\\")
	}
	p.pos++
	return append(out, to[i]), nil
}

// unicode reads \uXXXX and reports whether it stands at the parser's position;
// if not, the position does not change.
func (p *parser) unicode() (rune, bool) {
	if p.pos+6 > len(p.data) || p.data[p.pos] != '\\' || p.data[p.pos+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.data[p.pos+2:p.pos+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.pos += 6
	return rune(v), true
}
