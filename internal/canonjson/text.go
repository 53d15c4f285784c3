package canonjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends text as a canonical JSON string. Bytes that are not UTF-8 stay
// apart: each becomes half a surrogate pair, DC80 to DCFF.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			dst = appendUnit(dst, 0xdc00|rune(text[i]))
		} else {
			dst = appendRune(dst, r)
		}
		i += size
	}
	return append(dst, '"')
}

// appendQuoted appends the string whose source, without quotes, is content.
func appendQuoted(dst, content []byte) []byte {
	dst = append(dst, '"')
	for len(content) > 0 {
		at := bytes.IndexByte(content, '\\')
		if at < 0 {
			dst = append(dst, content...) // only what must be escaped is not canonical as it is
			break
		}
		dst = append(dst, content[:at]...)
		r, size := unescape(content[at:])
		dst = appendRune(dst, r)
		content = content[at+size:]
	}
	return append(dst, '"')
}

// unescape returns what the escape stands for that content begins with, and its
// length. Half a surrogate pair stands for itself.
func unescape(content []byte) (r rune, size int) {
	switch c := content[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(c), 2
	}
	r = unit(content)
	if utf16.IsSurrogate(r) && len(content) >= 12 && content[6] == '\\' && content[7] == 'u' {
		if pair := utf16.DecodeRune(r, unit(content[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

// unit returns the number of a \uXXXX that content begins with.
func unit(content []byte) rune {
	n, _ := strconv.ParseUint(string(content[2:6]), 16, 16) // the scan has checked it
	return rune(n)
}

func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\b':
		return append(dst, `\b`...)
	case r == '\f':
		return append(dst, `\f`...)
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < ' ' || utf16.IsSurrogate(r):
		return appendUnit(dst, r)
	}
	return utf8.AppendRune(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
