package jsonscan

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote returns the content of a valid JSON string.
func unquote(quoted []byte) []byte {
	content := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(content, '\\') < 0 {
		return content
	}
	return []byte(unescaped(content))
}

// unescaped returns what the content of a valid JSON string stands for. As with
// encoding/json half a surrogate pair becomes U+FFFD.
func unescaped(content []byte) string {
	var text strings.Builder
	text.Grow(len(content)) // an escape is never shorter than what it stands for
	for {
		plain, rest, found := bytes.Cut(content, []byte{'\\'})
		text.Write(plain)
		switch {
		case !found:
			return text.String()
		case rest[0] != 'u':
			text.WriteByte(escaped(rest[0]))
			content = rest[1:]
		default:
			escape := content[len(plain):]
			r, size := codePoint(escape)
			text.WriteRune(r)
			content = escape[size:]
		}
	}
}

// codePoint returns what the \u, or the pair of them, that text begins with stands for,
// and its size.
func codePoint(text []byte) (r rune, size int) {
	r = hex4(text[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	second := rune(0)
	if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		second = hex4(text[8:])
	}
	if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
		return r, 6
	}
	return r, 12
}

// escaped returns what a backslash and c stand for, and 0 where that is nothing or needs
// more bytes.
func escaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// hex4 reads the four hexadecimal digits that text begins with.
func hex4(text []byte) (r rune) {
	for _, c := range text[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
