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
		plain, _, found := bytes.Cut(content, []byte{'\\'})
		text.Write(plain)
		if !found {
			return text.String()
		}
		r, size := Unescape(content[len(plain):])
		text.WriteRune(r)
		content = content[len(plain)+size:]
	}
}

// Unescape returns what the escape stands for that content of a checked string begins with,
// and its length. Half a surrogate pair stands for itself.
func Unescape(content []byte) (r rune, size int) {
	if content[1] != 'u' {
		return rune(escaped(content[1])), 2
	}
	r = hex4(content[2:])
	if utf16.IsSurrogate(r) && len(content) >= 12 && content[6] == '\\' && content[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(content[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
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
