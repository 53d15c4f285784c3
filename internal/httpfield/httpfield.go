// Package httpfield says what may stand in an HTTP header field (RFC 9110,
// section 5).
package httpfield

import "strings"

// ValidName reports whether name is a token: letters, digits and a few signs,
// at least one.
func ValidName(name string) bool {
	for _, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// ValidValue reports whether value holds no control character but tabs.
func ValidValue(value string) bool {
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
