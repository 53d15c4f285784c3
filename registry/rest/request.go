package rest

import (
	"net/http"
	"strings"
	"time"
)

// A request is what a call of an endpoint becomes, all but the login.
type request struct {
	endpoint string        // name of the tool, for errors
	method   string        // as it is sent
	path     string        // escaped; begins with "/" or is empty; follows the path of the base URL
	query    []pair        // in order, escaped
	header   http.Header   // checked
	cookies  []pair        // in order, escaped
	body     payload       // see payload.encode
	timeout  time.Duration // of the whole call, a second attempt included
	maxBytes int           // of the answer's body, decoded
	// safe says that the request changes nothing and that no value in its path
	// could be read as more than one segment: it may follow a redirect within the
	// origin.
	safe bool
}

// A pair is a name with a value.
type pair struct{ name, value string }

// An answer is what came back. Its body is cut off behind maxBytes of the request
// if truncated is set.
type answer struct {
	status    int
	header    http.Header
	body      []byte
	truncated bool
}

// rawQuery returns the query of the URL without its question mark.
func (r *request) rawQuery() string { return join(r.query, "&") }

// cookieHeader returns the value of the header Cookie; empty if there are none.
func (r *request) cookieHeader() string { return join(r.cookies, "; ") }

func join(pairs []pair, separator string) string {
	var text strings.Builder
	for i, p := range pairs {
		if i > 0 {
			text.WriteString(separator)
		}
		text.WriteString(p.name)
		text.WriteByte('=')
		text.WriteString(p.value)
	}
	return text.String()
}

// escape escapes all but the unreserved characters (RFC 3986, section 2.3), so that
// text means nothing but itself wherever in a URL, a cookie or a form it stands.
func escape(text string) string {
	const digits = "0123456789ABCDEF"
	plain := 0
	for plain < len(text) && unreserved(text[plain]) {
		plain++
	}
	if plain == len(text) {
		return text
	}
	escaped := make([]byte, plain, len(text)+16)
	copy(escaped, text)
	for _, c := range []byte(text[plain:]) {
		if unreserved(c) {
			escaped = append(escaped, c)
		} else {
			escaped = append(escaped, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(escaped)
}

func unreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
