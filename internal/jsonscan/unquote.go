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
		at := special(content, 0) // a quote cannot stand there by itself
		text.Write(content[:at])
		if at == len(content) {
			return text.String()
		}
		content = content[at+1:]
		if content[0] != 'u' {
			text.WriteByte(plainEscape(content[0]))
			content = content[1:]
			continue
		}
		r := hex4(content[1:])
		content = content[5:]
		if utf16.IsSurrogate(r) {
			second := rune(0)
			if len(content) >= 6 && content[0] == '\\' && content[1] == 'u' {
				second = hex4(content[2:])
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				content = content[6:]
			}
		}
		text.WriteRune(r)
	}
}

// plainEscape returns what a backslash and c stand for.
func plainEscape(c byte) byte {
	switch c {
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
	return c // a quote, a backslash or a slash
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
