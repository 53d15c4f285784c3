package redact

import "strings"

// Hidden returns the parts of a text that are not to be seen in shown, which is the
// text with its secrets masked: what a program that was given the text may repeat
// of it. They are the text itself, what stands behind its first "=" and its first
// ": ", and its words, as far as shown does not hold them.
func Hidden(text, shown string) []string {
	if text == shown {
		return nil
	}
	var parts []string
	note := func(part string) {
		if part != "" && !strings.Contains(shown, part) {
			parts = append(parts, part)
		}
	}
	note(text)
	for _, separator := range []string{"=", ": "} {
		if _, value, ok := strings.Cut(text, separator); ok {
			note(value)
		}
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n=:@/?&#,;\"'{}[]()", r) }) {
		note(word)
	}
	return parts
}
