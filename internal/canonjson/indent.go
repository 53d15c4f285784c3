package canonjson

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// lineWidth is how many bytes an array or an object may have in canonical form to stand on
// one line.
const lineWidth = 120

// AppendIndented appends a value that is in canonical form. Arrays and objects of more than
// 120 bytes have one element or member per line, each below the first one indented by a tab;
// smaller ones stand on one line. Lines after the first begin with prefix. Invisible
// characters, and those that turn the direction of writing, are escaped: a reviewer reads
// what there is. The canonical form of the result is value.
func AppendIndented(dst, value []byte, prefix string) []byte {
	depth := 0
	line := func() {
		dst = append(dst, '\n')
		dst = append(dst, prefix...)
		for range depth {
			dst = append(dst, '\t')
		}
	}
	for pos := 0; pos < len(value); {
		switch c := value[pos]; c {
		case '{', '[':
			if end := shortEnd(value, pos); end > 0 {
				dst = AppendVisible(dst, value[pos:end])
				pos = end
				continue
			}
			dst = append(dst, c)
			pos++
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
			end, _ := jsonscan.EndOfString(value, pos)
			dst = AppendVisible(dst, value[pos:end])
			pos = end
		default:
			dst = append(dst, c)
			pos++
		}
	}
	return dst
}

// shortEnd returns where the array or object at pos ends, if it may stand on one line, and
// otherwise 0.
func shortEnd(value []byte, pos int) int {
	depth, quoted := 0, false
	for most := min(len(value), pos+lineWidth); pos < most; pos++ {
		switch c := value[pos]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			pos++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return pos + 1
			}
		}
	}
	return 0
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
