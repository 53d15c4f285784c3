// Package httpfield says what may stand in an HTTP header field (RFC 9110,
// section 5).
package httpfield

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// token is letters, digits and a few signs.
var token = regexp.MustCompile("^[0-9A-Za-z!#$%&'*+.^_`|~-]+$")

// ValidName reports whether name is a token.
func ValidName(name string) bool { return token.MatchString(name) }

// ValidValue reports whether value holds no control character but tabs.
func ValidValue(value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// RetryAfter returns the wait that the field Retry-After asks for (RFC 9110, section 10.2.3), or 0.
func RetryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
