package jsonc

import "encoding/json"

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
	for p.pos < len(p.data) && (wordByte(p.data[p.pos]) || p.data[p.pos] == '+' || p.data[p.pos] == '-') {
		p.pos++
	}
	if !json.Valid(p.data[start:p.pos]) {
		return p.fail(start, "malformed number")
	}
	n.Kind, n.Text = Number, string(p.data[start:p.pos])
	return nil
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '.'
}

// string reads the string whose opening quote is at the parser's position and
// returns it decoded. Like encoding/json it turns a lone surrogate escape into
// U+FFFD.
func (p *parser) string() (text string, err error) {
	start, escape := p.pos, -1
	for p.pos++; p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			if escape < 0 {
				return string(p.data[start+1 : p.pos-1]), nil
			}
			if json.Unmarshal(p.data[start:p.pos], &text) != nil {
				return "", p.fail(escape, "unknown escape in the string: write a backslash as \\\\, and \\u with four hexadecimal digits")
			}
			return text, nil
		case c == '\n':
			return "", p.fail(start, "the string is not closed on its line: add \" or write a line break as \\n")
		case c < ' ':
			return "", p.fail(p.pos, "control character %#02x in a string: write it as \\u%04x", c, c)
		case c == '\\':
			if escape < 0 {
				escape = p.pos
			}
			p.pos++
		}
	}
	return "", p.fail(start, "the string is not closed: add \"")
}
