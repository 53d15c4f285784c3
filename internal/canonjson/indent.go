package canonjson

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendIndented appends a value that is in canonical form, one member and one
// element per line. Lines after the first begin with prefix. Invisible characters, and
// those that turn the direction of writing, are escaped: a reviewer reads what there is.
// The canonical form of the result is value.
func AppendIndented(dst, value []byte, prefix string) []byte {
	depth := 0
	line := func() {
		dst = append(dst, '\n')
		dst = append(dst, prefix...)
		for range depth {
			dst = append(dst, "  "...)
		}
	}
	for pos := 0; pos < len(value); {
		switch c := value[pos]; c {
		case '{', '[':
			dst = append(dst, c)
			pos++
			if value[pos] == '}' || value[pos] == ']' {
				dst = append(dst, value[pos])
				pos++
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			dst = append(dst, c)
			pos++
		case ',':
			dst = append(dst, c)
			pos++
			line()
		case ':':
			dst = append(dst, ": "...)
			pos++
		case '"':
			end := pos + 1
			for value[end] != '"' {
				if value[end] == '\\' {
					end++
				}
				end++
			}
			dst = AppendVisible(dst, value[pos:end+1])
			pos = end + 1
		default:
			dst = append(dst, c)
			pos++
		}
	}
	return dst
}

// AppendVisible appends a value that is in canonical form, or a part of one, with
// the escapes of [AppendIndented].
func AppendVisible(dst, value []byte) []byte {
	for len(value) > 0 {
		n := 0
		for n < len(value) && value[n] < 0x7f {
			n++
		}
		dst = append(dst, value[:n]...)
		if value = value[n:]; len(value) == 0 {
			break
		}
		r, size := utf8.DecodeRune(value)
		switch {
		case unicode.IsPrint(r) && !strings.ContainsRune(blanks, r) && !unicode.Is(unicode.Variation_Selector, r):
			dst = append(dst, value[:size]...)
		case r > 0xffff:
			dst = appendUnit(dst, 0xd800+(r-0x10000)>>10)
			dst = appendUnit(dst, 0xdc00+(r-0x10000)&0x3ff)
		default:
			dst = appendUnit(dst, r)
		}
		value = value[size:]
	}
	return dst
}

// blanks count as printable and take no room, or look like nothing.
const blanks = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"
