package canonjson

import (
	"bytes"
	"cmp"
	"strconv"
)

// plainDigits is up to how many digits before the point a number is written
// without an exponent, and plainZeros up to how many zeros follow the point.
const (
	plainDigits = 21
	plainZeros  = 6
)

// maxExponent is how large an exponent may be. A number with a larger one stays as it is written.
const maxExponent = 1 << 62

// appendScalar appends a number in its canonical form, and a word as it is.
func appendScalar(dst, text []byte) []byte {
	if c := text[0]; c != '-' && (c < '0' || c > '9') {
		return append(dst, text...)
	}
	if plainInteger(text) {
		return append(dst, text...)
	}
	mantissa, exponent := bytes.TrimPrefix(text, []byte("-")), ""
	if at := bytes.IndexAny(mantissa, "eE"); at >= 0 {
		mantissa, exponent = mantissa[:at], string(mantissa[at+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(bytes.Clone(whole), fraction...)
	trimmed := bytes.TrimLeft(digits, "0")
	point := int64(len(whole) - len(digits) + len(trimmed)) // where it stands in digits, without the exponent
	digits = bytes.TrimRight(trimmed, "0")
	if len(digits) == 0 {
		return append(dst, '0') // minus nought is nought
	}
	shift, err := strconv.ParseInt(cmp.Or(exponent, "0"), 10, 64)
	if err != nil || shift > maxExponent || shift < -maxExponent {
		return append(dst, text...)
	}
	if text[0] == '-' {
		dst = append(dst, '-')
	}
	switch point += shift; {
	case point > plainDigits || point < -plainZeros:
		if dst = append(dst, digits[0]); len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		return strconv.AppendInt(append(dst, 'e'), point-1, 10)
	case point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, "000000"[:-point]...)
		return append(dst, digits...)
	case point >= int64(len(digits)):
		dst = append(dst, digits...)
		return append(dst, "000000000000000000000"[:point-int64(len(digits))]...)
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

// plainInteger reports whether a number is an integer that is canonical as it is.
func plainInteger(text []byte) bool {
	return len(text) <= plainDigits && len(bytes.Trim(text, "0123456789")) == 0
}
