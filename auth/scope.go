package auth

import "slices"

// validScope reports whether s is one scope (RFC 6749, section 3.3).
func validScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// beyond returns the scopes that are not in limit, of which nil is none.
func beyond(scopes, limit []string) []string {
	if limit == nil {
		return nil
	}
	var extra []string
	for _, s := range scopes {
		if !slices.Contains(limit, s) {
			extra = append(extra, s)
		}
	}
	return extra
}
