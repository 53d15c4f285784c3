package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Mend returns JSON with U+FFFD in the place of each half of a surrogate pair and of each run of
// bytes that are no UTF-8, for which [Valid] refuses it, and whether there were any. All else
// keeps its bytes. Programs that cut a text by its UTF-16, or print in a code page, write such
// JSON; whoever uses what Mend returns reads it in one way only, after Valid.
func Mend(data []byte) (mended []byte, ok bool) {
	mended = bytes.ToValidUTF8(data, []byte("\uFFFD")) // a copy
	for at := 0; at < len(mended); {
		next := bytes.IndexByte(mended[at:], '\\')
		if next < 0 {
			break
		}
		at += next
		first, isUnit := unitAt(mended, at)
		second, _ := unitAt(mended, at+6)
		switch {
		case !isUnit:
			at += 2
		case !utf16.IsSurrogate(first):
			at += 6
		case utf16.DecodeRune(first, second) != utf8.RuneError:
			at += 12
		default:
			copy(mended[at+2:], "fffd")
			at, ok = at+6, true
		}
	}
	return mended, ok || !utf8.Valid(data)
}

// unitAt returns the code unit whose escape begins at a place of data, if one does.
func unitAt(data []byte, at int) (unit rune, ok bool) {
	if at+6 > len(data) || data[at] != '\\' || data[at+1] != 'u' {
		return 0, false
	}
	for _, c := range data[at+2 : at+6] {
		if !isHex(c) {
			return 0, false
		}
	}
	return hex4(data[at+2:]), true
}
