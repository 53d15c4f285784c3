package canonjson

import (
	"bytes"
	"strconv"
	"strings"
)

// plainDigits is up to how many digits before the point a number is written
// without an exponent, and plainZeros up to how many zeros follow the point.
const (
	plainDigits = 21
	plainZeros  = 6
)

// appendScalar appends a number in its canonical form, and a word as it is.
func appendScalar(dst, text []byte) []byte {
	if c := text[0]; c != '-' && (c < '0' || c > '9') {
		return append(dst, text...)
	}
	if plainInteger(text) {
		return append(dst, text...)
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	mantissa, exponent := text, []byte(nil)
	if at := bytes.IndexAny(text, "eE"); at >= 0 {
		mantissa, exponent = text[:at], text[at+1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(bytes.Clone(whole), fraction...)
	point := len(whole) // where the point stands in digits, without the exponent
	trimmed := bytes.TrimLeft(digits, "0")
	point -= len(digits) - len(trimmed)
	digits = bytes.TrimRight(trimmed, "0")
	if len(digits) == 0 {
		return append(dst, '0') // minus nought is nought
	}
	if negative {
		dst = append(dst, '-')
	}
	shift, small := shiftOf(exponent)
	if !small {
		return appendScientific(dst, digits, addDecimal(string(exponent), point-1))
	}
	switch point += shift; {
	case point > plainDigits || point < -plainZeros:
		return appendScientific(dst, digits, strconv.Itoa(point-1))
	case point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, "000000"[:-point]...)
		return append(dst, digits...)
	case point >= len(digits):
		dst = append(dst, digits...)
		return append(dst, "000000000000000000000"[:point-len(digits)]...)
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

// plainInteger reports whether a number is an integer that is canonical as it is.
func plainInteger(text []byte) bool {
	return len(text) <= plainDigits && len(bytes.Trim(text, "0123456789")) == 0
}

// shiftOf returns the value of an exponent, or false if it is so large that only
// the exponent form is to be used, however many digits there are.
func shiftOf(exponent []byte) (n int, small bool) {
	if len(exponent) == 0 {
		return 0, true
	}
	const most = 1 << 30
	v, err := strconv.ParseInt(string(exponent), 10, 32)
	if err != nil || v > most || v < -most {
		return 0, false
	}
	return int(v), true
}

func appendScientific(dst, digits []byte, exponent string) []byte {
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	return append(dst, exponent...)
}

// addDecimal returns the sum of a decimal number, which may have any number of
// digits, and a smaller one. It is linear, for the digits are a stranger's.
func addDecimal(number string, n int) string {
	sign := ""
	if number[0] == '-' {
		sign, n = "-", -n
	}
	digits := []byte(strings.TrimLeft(number, "+-0"))
	for i := len(digits) - 1; i >= 0 && n != 0; i-- {
		n += int(digits[i] - '0')
		digit := (n%10 + 10) % 10
		digits[i] = byte('0' + digit)
		n = (n - digit) / 10
	}
	text := strings.TrimLeft(string(digits), "0")
	if n > 0 {
		text = strconv.Itoa(n) + string(digits)
	}
	return sign + text
}
