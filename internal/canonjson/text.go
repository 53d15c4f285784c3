package canonjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
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
		r, size := jsonscan.Unescape(content[at:])
		dst = appendRune(dst, r)
		content = content[at+size:]
	}
	return append(dst, '"')
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
