package toolname

import (
	"regexp"
	"strings"
)

// HashLength is the length in bytes of the hash at the end of a name. It is written in
// lower-case base32 and has a digit, so that no word looks like one: nothing but what ends in
// such a hash has to be told apart from names that were given one.
const HashLength = 10

// HasHash reports whether name ends as one with a hash does.
func HasHash(name string) bool {
	at := len(name) - HashLength
	return at > 0 && name[at-1] == '_' && IsHash(name[at:])
}

// IsHash reports whether text could be a hash of package registry/names.
func IsHash(text string) bool {
	return hashForm.MatchString(text) && strings.ContainsAny(text, "234567")
}

var hashForm = regexp.MustCompile(`^[a-z2-7]{10}$`)
